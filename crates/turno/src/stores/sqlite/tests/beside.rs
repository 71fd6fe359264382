//! Another process on the same file, simulated by a separate connection, and the log beside a busy writer.

use super::calls::{enqueue, item, queue};
use super::{Folder, claim, store};
use crate::store::traits::*;
use crate::store::{Group, LeaseGroup};
use crate::stores::sqlite::connection;
use rusqlite::TransactionBehavior;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use turno_core::queue::{Kind, Policy};

/// How many commits of the busy writer another writer may have to wait for. It took 2 to 29 in trials, and 256 to 706
/// with SQLite's own busy timeout in place of our handler.
const PATIENCE: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_writer_is_not_starved_by_a_busy_one() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let stop = Arc::new(AtomicBool::new(false));
    let commits = Arc::new(AtomicUsize::new(0));
    let (tick, ticks) = std::sync::mpsc::channel();
    let path = folder.file();
    let other = tokio::task::spawn_blocking({
        let (stop, commits) = (stop.clone(), commits.clone());
        move || {
            let mut other = connection::writer(&path).unwrap();
            other.execute_batch("create table beside (n integer); insert into beside values (0)").unwrap();
            let mut longest = 0;
            for _ in 0..30 {
                // Waits for some more commits of the busy writer, so that each attempt runs beside it.
                ticks.try_iter().for_each(drop);
                ticks.iter().take(3).for_each(drop);
                let before = commits.load(Ordering::SeqCst);
                let tx = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
                tx.execute("update beside set n = n + 1", []).unwrap();
                tx.commit().unwrap();
                longest = longest.max(commits.load(Ordering::SeqCst) - before);
            }
            stop.store(true, Ordering::SeqCst);
            longest
        }
    });
    // Several groups are always under way, so that the writer never pauses between them.
    let busy = |user: &'static str| {
        let (store, stop, commits, tick) = (&store, stop.clone(), commits.clone(), tick.clone());
        async move {
            while !stop.load(Ordering::SeqCst) {
                let commands = (0..64).map(|n| claim(&format!("{user}-{n}"), user)).collect();
                let group = Group::Lease(LeaseGroup { commands });
                store.commit(0, Arc::new([group]), None).await.unwrap();
                commits.fetch_add(1, Ordering::SeqCst);
                // The other thread drops its receiver when it is done.
                let _ = tick.send(());
            }
        }
    };
    tokio::join!(busy("ana"), busy("luis"), busy("eva"));
    let longest = other.await.unwrap();
    assert!(longest < PATIENCE, "{longest} commits passed before the other had its turn");
    let written = store.looks.run(|db| Ok(db.query_row("select n from beside", [], |row| row.get::<_, i64>(0))?));
    assert_eq!(written.await, Ok(30));
}

/// Without checkpoints the log would be as long as everything written: 96 MiB.
#[tokio::test]
async fn the_log_stays_bounded_under_continuous_writes() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let inbox = queue(&store, "inbox", Policy::for_kind(Kind::Inbox)).await;
    let payload: Arc<str> = format!("\"{}\"", "x".repeat(1024 * 1024)).into();
    let mut longest = 0;
    for n in 0..96 {
        let mut large = item(&format!("item {n}"), None);
        large.payload = payload.clone();
        enqueue(&store, &inbox, vec![large]).await;
        let log = std::fs::metadata(format!("{}-wal", folder.file())).unwrap();
        longest = longest.max(log.len());
    }
    assert!(longest < 64 * 1024 * 1024, "the log grew to {longest} bytes");
}
