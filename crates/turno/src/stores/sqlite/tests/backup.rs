//! A copy of the database while work continues.

use super::calls::{enqueue, item, queue};
use super::{Folder, START, store};
use crate::clock::{Clock, Manual};
use crate::store::traits::*;
use crate::store::{AuditQuery, ItemQuery, StoreError};
use crate::stores::sqlite::open;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use turno_core::queue::{Kind, Policy};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_taken_during_writes_opens_and_is_of_one_instant() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let inbox = queue(&store, "inbox", Policy::for_kind(Kind::Inbox)).await;
    enqueue(&store, &inbox, (0..500).map(|n| item(&format!("before {n}"), None)).collect()).await;
    let to = folder.0.join("copy.db");
    let done = AtomicBool::new(false);
    // Two items per commit: a copy as of one instant has both or none.
    let busy = async {
        let mut n = 0;
        while !done.load(Ordering::SeqCst) || n < 20 {
            enqueue(&store, &inbox, vec![item(&format!("x {n}"), None), item(&format!("y {n}"), None)]).await;
            n += 1;
        }
        n
    };
    let copied = async {
        let copied = store.backup(to.clone()).await;
        done.store(true, Ordering::SeqCst);
        copied
    };
    let (copied, written) = tokio::join!(copied, busy);
    assert_eq!(copied, Ok(()));
    let again = store.backup(to.clone()).await;
    assert!(
        matches!(&again, Err(StoreError::Rejected(why)) if why.text.contains("exists already; name a new file")),
        "{again:?}"
    );
    let nowhere = store.backup(folder.0.join("missing/copy.db")).await;
    assert!(matches!(&nowhere, Err(StoreError::Rejected(why)) if why.text.contains("create it first")), "{nowhere:?}");

    let clock = Arc::new(Clock::manual(Manual::starting_at(START)));
    let copy = open(&to.display().to_string(), clock, true).await.unwrap();
    let items = copy.items(inbox.id, ItemQuery { limit: 100_000, ..ItemQuery::default() }).await.unwrap().items;
    assert!(items.len() >= 500 && items.len() <= 500 + 2 * written && items.len() % 2 == 0, "{}", items.len());
    let all =
        store.items(inbox.id, ItemQuery { limit: items.len() as u32, ..ItemQuery::default() }).await.unwrap().items;
    assert_eq!(items, all);
    assert_eq!(copy.audit(AuditQuery::default()).await, store.audit(AuditQuery::default()).await);
    let sound: String =
        copy.looks.run(|db| Ok(db.query_row("pragma integrity_check", [], |row| row.get(0))?)).await.unwrap();
    assert_eq!(sound, "ok");
    enqueue(&copy, &inbox, vec![item("after", None)]).await;
}
