//! Another process on the same file, played by a connection of its own, and the log beside a busy writer.

use super::{Folder, claim, store};
use crate::store::{Group, LeaseGroup, Store};
use crate::stores::sqlite::connection;
use rusqlite::TransactionBehavior;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What one other writer may have to wait for, in commits of the busy one: far more than it takes, far less than for ever.
const PATIENCE: usize = 2_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_writer_gets_its_turn_beside_a_busy_one() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let (stop, commits) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let path = folder.file();
    let other = tokio::task::spawn_blocking({
        let (stop, commits) = (stop.clone(), commits.clone());
        move || {
            let mut longest = 0;
            let mut other = connection::writer(&path).unwrap();
            for _ in 0..30 {
                let before = commits.load(Ordering::SeqCst);
                let tx = other
                    .transaction_with_behavior(TransactionBehavior::Immediate)
                    .unwrap();
                tx.execute("update mark set high = high + 1", []).unwrap();
                tx.commit().unwrap();
                longest = longest.max(commits.load(Ordering::SeqCst) - before);
            }
            stop.store(true, Ordering::SeqCst);
            longest
        }
    });
    // Always two groups under way, so that the writer never rests between them.
    let busy = |user: &'static str| {
        let (store, stop, commits) = (&store, stop.clone(), commits.clone());
        async move {
            while !stop.load(Ordering::SeqCst) {
                let commands = (0..64)
                    .map(|n| claim(&format!("{user}-{n}"), user))
                    .collect();
                store
                    .commit(0, Arc::new([Group::Lease(LeaseGroup { commands })]))
                    .await
                    .unwrap();
                commits.fetch_add(1, Ordering::SeqCst);
            }
        }
    };
    tokio::join!(busy("ana"), busy("luis"), busy("eva"));
    let longest = other.await.unwrap();
    assert!(
        longest < PATIENCE,
        "{longest} commits passed before the other had its turn"
    );
    assert!(commits.load(Ordering::SeqCst) > 0);
    let high: i64 = store
        .looks
        .run(|db| Ok(db.query_row("select high from mark", [], |row| row.get(0))?))
        .await
        .unwrap();
    assert_eq!(high, 30);
}

#[tokio::test]
async fn the_log_stays_bounded_while_the_writer_does_not_rest() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let mut longest = 0;
    for round in 0..400 {
        let commands = (0..256)
            .map(|n| {
                claim(
                    &format!("resource {n}"),
                    if round % 2 == 0 { "ana" } else { "luis" },
                )
            })
            .collect();
        store
            .commit(0, Arc::new([Group::Lease(LeaseGroup { commands })]))
            .await
            .unwrap();
        let log = std::fs::metadata(format!("{}-wal", folder.file()))
            .unwrap()
            .len();
        longest = longest.max(log);
    }
    assert!(
        longest < 64 * 1024 * 1024,
        "the log grew to {longest} bytes"
    );
}
