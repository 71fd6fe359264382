//! Copies and restored backups: no number is given twice.

use super::{Folder, open};
use crate::clock::Clock;
use crate::event::Live;
use crate::queue::{Draft, Kind, Policy};
use crate::task::NewTask;
use crate::{Options, Turno};
use std::sync::Arc;
use std::time::Duration;
use turno_core::event::Topics;
use turno_core::id::{Fence, Position, Sku, UserId};
use turno_core::lease::{Action, Holder};
use turno_core::task::{Goods, Movement, NewLine};

/// The last numbers that a database gave out.
#[derive(Debug)]
struct Given {
    fence: Fence,
    task: i64,
    position: Position,
}

async fn give(file: &str) -> Given {
    let store = Arc::new(open(file, Arc::new(Clock::system()), true).await.unwrap());
    let turno = Turno::on(store.clone(), Options { clock: store.clock.clone(), ..Options::default() });
    let mut listener = turno.subscribe(Topics::ALL, None).await.unwrap();
    let force = Action::ForceClaim { reason: "a test".into(), fence: None };
    let lease =
        turno.lease_command(turno.command("caja:3", &uuid::Uuid::now_v7().to_string(), force).unwrap()).await.unwrap();
    let line = NewLine { movement: Movement::In, sku: Sku::new("clavos").unwrap(), goods: Goods::Quantity(3) };
    let ana = Holder { user: UserId::new("ana").unwrap(), name: "Ana".to_owned(), instance: None };
    let task = turno
        .task_command(None, ana, NewTask::titled("t").lines(vec![line]).ready().into())
        .await
        .unwrap()
        .task
        .unwrap();
    let queue = turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await.unwrap();
    queue.enqueue(vec![Draft::json("hola").unwrap()]).await.unwrap();
    let position = loop {
        if let Live::Event { position, .. } = listener.next().await.unwrap() {
            break position;
        }
    };
    drop((turno, queue, listener));
    // The engine's background tasks release the file; then the last one closes it.
    let closed = async {
        while Arc::strong_count(&store) > 1 {
            tokio::task::yield_now().await
        }
    };
    tokio::time::timeout(Duration::from_secs(20), closed).await.expect("the engine stops");
    Given { fence: lease.state.grant.unwrap().fence, task: task.id.0, position }
}

async fn assert_resumed_with_reset(file: &str, seen: Position) {
    let turno = Turno::open(&format!("sqlite:{file}")).await.unwrap();
    let mut listener = turno.subscribe(Topics::ALL, Some(seen)).await.unwrap();
    assert!(matches!(listener.next().await.unwrap(), Live::Reset { position } if position > seen));
}

#[tokio::test]
async fn a_copied_or_restored_file_gives_no_number_twice() {
    let folder = Folder::new();
    let (file, copy) = (folder.file(), folder.0.join("copy.db").display().to_string());
    let first = give(&file).await;
    std::fs::copy(&file, &copy).unwrap();
    let lost = give(&file).await;
    assert_eq!((lost.task, lost.position > first.position), (first.task + 1, true), "the same file continues");

    let copied = give(&copy).await;
    assert!(copied.fence > lost.fence && copied.task > lost.task && copied.position > lost.position, "{copied:?}");
    assert_resumed_with_reset(&copy, lost.position).await;
}

#[tokio::test]
async fn an_overwritten_file_is_recognised_by_its_modification_time() {
    let folder = Folder::new();
    let (file, copy) = (folder.file(), folder.0.join("copy.db").display().to_string());
    give(&file).await;
    std::fs::copy(&file, &copy).unwrap();
    let lost = give(&file).await;
    // `cp` over the file keeps its inode; here it happens an hour later.
    std::fs::copy(&copy, &file).unwrap();
    let written = std::fs::File::options().write(true).open(&file).unwrap();
    let later = written.metadata().unwrap().modified().unwrap() + Duration::from_secs(3_600);
    written.set_modified(later).unwrap();
    drop(written);
    let restored = give(&file).await;
    assert!(restored.fence > lost.fence && restored.task > lost.task && restored.position > lost.position);
}
