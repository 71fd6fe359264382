//! The store as the engine uses it: groups in, outcomes out, on temporary files.

mod access;
mod audit;
mod backup;
mod beside;
mod calls;
mod effect;
mod file;
mod life;
mod plan;
mod purge;
mod schema;
mod task;

use super::{SqliteStore, open};
use crate::clock::{Clock, Manual};
use crate::store::traits::*;
use crate::store::{Group, Hint, LeaseGroup, Outcomes, StoreError};
use std::path::PathBuf;
use std::sync::Arc;
use turno_core::id::{Fence, Instance, Resource, UserId};
use turno_core::lease::{Action, Command, Decision, Holder, Policy, State};
use turno_core::time::{Span, Time};

/// The time at which the tests begin.
const START: Time = Time(1_700_000_000_000);

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("turno-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> String {
        self.0.join("turno.db").display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn store(folder: &Folder) -> (SqliteStore, Arc<Manual>) {
    let manual = Manual::starting_at(START);
    let store = open(&folder.file(), Arc::new(Clock::manual(manual.clone())), true).await.unwrap();
    (store, manual)
}

async fn commit_one(store: &SqliteStore, group: Group) -> Outcomes {
    let outcomes = store.commit(0, Arc::new([group]), None).await.unwrap();
    outcomes.into_iter().next().unwrap()
}

fn resource(text: &str) -> Resource {
    Resource::new(text).unwrap()
}

fn holder(user: &str) -> Holder {
    Holder {
        user: UserId::new(user).unwrap(),
        name: format!("{user} by name"),
        instance: Some(Instance::new(format!("{user}-1")).unwrap()),
    }
}

fn command(name: &str, user: &str, action: Action) -> Command {
    Command { resource: resource(name), who: holder(user), via: None, policy: Policy::default(), action }
}

fn claim(name: &str, user: &str) -> Command {
    command(name, user, Action::Claim { ttl: None, wait: false })
}

async fn lease(store: &SqliteStore, commands: Vec<Command>) -> Vec<(Decision, State)> {
    match commit_one(store, Group::Lease(LeaseGroup { commands })).await {
        Outcomes::Lease { answers, .. } => answers,
        other => panic!("{other:?}"),
    }
}

fn fence(state: &State) -> Fence {
    state.grant.as_ref().unwrap().fence
}

/// Otherwise the first wait would be computed from when the file was last used, and end far too early or too late.
#[tokio::test]
async fn opening_a_file_estimates_today_and_not_its_last_use() {
    let folder = Folder::new();
    // A decision was made long ago, and its time recorded.
    let (store, _) = store(&folder).await;
    lease(&store, vec![claim("a", "ana")]).await;
    drop(store);
    let clock = Arc::new(Clock::system());
    let _store = open(&folder.file(), clock.clone(), true).await.unwrap();
    let today = clock.machine();
    assert!(clock.estimate().until(today) < Span(60_000), "{:?} at {today:?}", clock.estimate());
}

#[tokio::test]
async fn reopening_keeps_all_data_and_the_clock_does_not_move_back() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let (_, state) = lease(&store, vec![claim("a", "ana")]).await.pop().unwrap();
    manual.advance(Span(20_000));
    lease(&store, vec![claim("c", "eva")]).await;
    drop(store);
    assert!(
        !PathBuf::from(format!("{}-wal", folder.file())).exists(),
        "the last connection moves the log into the file"
    );

    let (store, _) = self::store(&folder).await;
    let peeked = store.peek(vec![resource("a")]).await.unwrap();
    assert_eq!((peeked.now, peeked.states), (START + Span(20_000), vec![state.clone()]));
    let (_, next) = lease(&store, vec![claim("b", "luis")]).await.pop().unwrap();
    assert!(fence(&next) > fence(&state), "no number is given twice");
    assert!(store.describe().starts_with("SQLite 3."), "{}", store.describe());
}

#[tokio::test]
async fn a_panicking_job_is_rolled_back_and_the_next_job_runs() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let broken = store.writer.run::<()>(|db| {
        let tx = db.transaction()?;
        tx.execute("update mark set high = 1", [])?;
        panic!("as a bug would");
    });
    assert!(matches!(broken.await, Err(StoreError::Bug(_))));
    let high: i64 =
        store.writer.run(|db| Ok(db.query_row("select high from mark", [], |row| row.get(0))?)).await.unwrap();
    assert_eq!(high, START.0, "the panicked job was rolled back");
}

#[tokio::test]
async fn the_error_names_a_missing_folder() {
    let folder = Folder::new();
    let path = folder.0.join("missing/turno.db").display().to_string();
    let error = open(&path, Arc::new(Clock::system()), true).await.err().unwrap();
    assert!(
        matches!(&error, StoreError::Unavailable(cause) if cause.text.contains("missing does not exist; create it")),
        "{error}"
    );
    let error = open(&folder.0.display().to_string(), Arc::new(Clock::system()), true).await.err().unwrap();
    assert!(error.to_string().contains("is a folder"), "{error}");
}

#[tokio::test]
async fn only_writes_of_other_connections_cause_hints() {
    let folder = Folder::new();
    let (ours, _) = store(&folder).await;
    let (theirs, _) = store(&folder).await;
    lease(&ours, vec![claim("a", "ana")]).await;
    assert_eq!(theirs.hint().await, Ok(Hint::All));
    let nothing = tokio::time::timeout(std::time::Duration::from_millis(250), ours.hint()).await;
    assert!(nothing.is_err(), "own writes cause no hint");
    lease(&theirs, vec![claim("b", "luis")]).await;
    assert_eq!(ours.hint().await, Ok(Hint::All));
}
