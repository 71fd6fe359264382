//! The file under an open store: deleted, replaced, cut short, not writable.

use super::{Folder, store};
use crate::store::traits::*;
use crate::store::{FileFault, PutQueue, StoreError};
use std::fs;
use turno_core::audit::Actor;
use turno_core::id::QueueName;
use turno_core::queue::{Kind, Policy};
use turno_core::time::Span;

/// Damages the file of an open store with `harm`. Returns the results of readiness and of a commit.
async fn harmed(harm: impl FnOnce(&str)) -> (Result<(), StoreError>, Result<(), StoreError>) {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    assert_eq!(store.ready().await, Ok(()));
    harm(&folder.file());
    let put = PutQueue::new(QueueName::new("jobs").unwrap(), Policy::for_kind(Kind::Inbox));
    let committed = store.put_queue(put, Actor::system()).await.map(drop);
    (store.ready().await, committed)
}

fn lost(fault: FileFault) -> (Result<(), StoreError>, Result<(), StoreError>) {
    (Err(fault.clone().into()), Err(fault.into()))
}

#[tokio::test]
async fn a_deleted_file_is_noticed_and_commits_are_refused() {
    assert_eq!(harmed(|file| fs::remove_file(file).unwrap()).await, lost(FileFault::Gone));
}

#[tokio::test]
async fn a_replaced_file_is_noticed() {
    let replace = |file: &str| {
        let other = format!("{file}.other");
        fs::copy(file, &other).unwrap();
        fs::rename(other, file).unwrap();
    };
    assert_eq!(harmed(replace).await, lost(FileFault::Replaced));
}

#[tokio::test]
async fn a_truncated_file_is_noticed_even_after_it_regains_its_length() {
    let cut = |file: &str| {
        let open = fs::OpenOptions::new().write(true).open(file).unwrap();
        open.set_len(0).unwrap();
    };
    assert_eq!(harmed(cut).await, lost(FileFault::CutShort));
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let long = fs::metadata(folder.file()).unwrap().len();
    cut(&folder.file());
    assert_eq!(store.ready().await, Err(FileFault::CutShort.into()));
    fs::OpenOptions::new().write(true).open(folder.file()).unwrap().set_len(long).unwrap();
    assert_eq!(store.ready().await, Err(FileFault::CutShort.into()));
}

#[tokio::test]
async fn a_deleted_log_is_noticed() {
    assert_eq!(harmed(|file| fs::remove_file(format!("{file}-wal")).unwrap()).await, lost(FileFault::LogGone));
}

#[tokio::test]
async fn a_truncated_log_is_noticed() {
    let cut = |file: &str| {
        let open = fs::OpenOptions::new().write(true).open(format!("{file}-wal")).unwrap();
        open.set_len(0).unwrap();
    };
    assert_eq!(harmed(cut).await, lost(FileFault::LogGone));
}

#[tokio::test]
async fn an_overwritten_header_ends_readiness() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let whole = fs::read(folder.file()).unwrap();
    let written = |begin: &[u8]| fs::write(folder.file(), [begin, &whole[16..]].concat()).unwrap();
    written(b"not a database!!");
    assert_eq!(store.ready().await, Err(FileFault::Replaced.into()));
}

#[tokio::test]
async fn a_file_moved_away_and_back_is_accepted() {
    let there_and_back = |file: &str| {
        fs::rename(file, format!("{file}.away")).unwrap();
        fs::rename(format!("{file}.away"), file).unwrap();
    };
    assert_eq!(harmed(there_and_back).await, (Ok(()), Ok(())));
}

#[tokio::test]
async fn an_unwritable_file_is_not_ready_and_is_probed_once_a_second() {
    let folder = Folder::new();
    let (store, time) = store(&folder).await;
    let read_only = |on: bool| store.writer.run(move |db| Ok(db.pragma_update(None, "query_only", on)?));
    read_only(true).await.unwrap();
    let refused = store.ready().await;
    assert!(matches!(refused, Err(StoreError::File(FileFault::Unwritable(_)))), "{refused:?}");
    read_only(false).await.unwrap();
    assert_eq!(store.ready().await, refused, "the result is kept for a second");
    time.advance(Span(1_000));
    assert_eq!(store.ready().await, Ok(()));
}
