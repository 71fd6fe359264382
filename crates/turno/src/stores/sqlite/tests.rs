//! The store from the engine's side: groups in, outcomes out, on files that are thrown away.

mod beside;
mod plans;
mod queues;
mod schema;

use super::{SqliteStore, open};
use crate::clock::{Clock, Manual};
use crate::store::{Group, Hint, LeaseGroup, Outcomes, Store, StoreError};
use std::path::PathBuf;
use std::sync::Arc;
use turno_core::id::{Fence, Instance, Resource, UserId};
use turno_core::lease::{
    Action, Cause, Command, Decision, Holder, Outcome, Policy, Reason, Refused, State,
};
use turno_core::time::{Span, Time};

/// When the tests begin.
const START: Time = Time(1_700_000_000_000);

/// A folder of its own, gone at the end.
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
    let store = open(&folder.file(), Arc::new(Clock::manual(manual.clone())))
        .await
        .unwrap();
    (store, manual)
}

async fn one(store: &SqliteStore, group: Group) -> Outcomes {
    let outcomes = store.commit(0, Arc::new([group])).await.unwrap();
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
    Command {
        resource: resource(name),
        who: holder(user),
        policy: Policy::default(),
        action,
    }
}

fn claim(name: &str, user: &str) -> Command {
    command(
        name,
        user,
        Action::Claim {
            ttl: None,
            wait: false,
        },
    )
}

async fn lease(store: &SqliteStore, commands: Vec<Command>) -> Vec<(Decision, State)> {
    match one(store, Group::Lease(LeaseGroup { commands })).await {
        Outcomes::Lease { answers, .. } => answers,
        other => panic!("{other:?}"),
    }
}

fn fence(state: &State) -> Fence {
    state.grant.as_ref().unwrap().fence
}

#[tokio::test]
async fn a_claim_is_stored_and_a_release_is_remembered() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let (decision, claimed) = lease(&store, vec![claim("a", "ana")]).await.pop().unwrap();
    assert_eq!(decision.answer, Ok(Outcome::Claimed { renewed: false }));
    let (now, states) = store
        .peek(vec![resource("b"), resource("a")])
        .await
        .unwrap();
    assert_eq!((now, &states[1]), (START, &claimed));
    assert_eq!(states[0], State::unseen(resource("b")));

    manual.advance(Span(1_234));
    let release = Action::Release {
        fence: fence(&claimed),
        claim: None,
    };
    let (decision, released) = lease(&store, vec![command("a", "ana", release)])
        .await
        .pop()
        .unwrap();
    assert_eq!(
        decision.answer,
        Ok(Outcome::Released {
            released: true,
            repeated: false
        })
    );
    let (_, states) = store.peek(vec![resource("a")]).await.unwrap();
    assert_eq!(states, [released.clone()]);
    let ended = released.ended.unwrap();
    assert_eq!(
        (ended.at, ended.reason, ended.cause),
        (START + Span(1_234), Reason::Released, Cause::Released)
    );
    assert_eq!(
        store.ending(resource("a"), fence(&claimed)).await.unwrap(),
        Some(ended.clone())
    );
    assert_eq!(store.ending(resource("a"), Fence(99)).await.unwrap(), None);

    let (_, second) = lease(&store, vec![claim("a", "luis")]).await.pop().unwrap();
    let force = Action::ForceRelease {
        reason: "shift is over".into(),
    };
    let (_, forced) = lease(&store, vec![command("a", "eva", force)])
        .await
        .pop()
        .unwrap();
    assert!(fence(&second) > fence(&claimed));
    let newest_first = vec![forced.ended.unwrap(), ended];
    assert_eq!(newest_first[0].note.as_deref(), Some("shift is over"));
    assert_eq!(
        store.history(resource("a"), 10).await.unwrap(),
        newest_first
    );
    assert_eq!(
        store.history(resource("a"), 1).await.unwrap(),
        newest_first[..1]
    );
}

#[tokio::test]
async fn a_never_seen_resource_has_one_winner_in_a_group_and_over_groups() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let group = |users: [&str; 2]| {
        Group::Lease(LeaseGroup {
            commands: users.iter().map(|user| claim("a", user)).collect(),
        })
    };
    let groups = [group(["ana", "luis"]), group(["eva", "ana"])];
    let outcomes = store.commit(0, Arc::new(groups)).await.unwrap();
    let answers: Vec<_> = outcomes
        .into_iter()
        .flat_map(|outcome| match outcome {
            Outcomes::Lease { answers, .. } => answers,
            other => panic!("{other:?}"),
        })
        .map(|(decision, _)| decision.answer)
        .collect();
    assert_eq!(answers[0], Ok(Outcome::Claimed { renewed: false }));
    assert!(
        matches!(&answers[1], Err(Refused::HeldBy { grant, .. }) if grant.holder.is(&holder("ana")))
    );
    assert!(
        matches!(&answers[2], Err(Refused::HeldBy { grant, .. }) if grant.holder.is(&holder("ana")))
    );
    assert_eq!(answers[3], Ok(Outcome::Claimed { renewed: true }));
}

#[tokio::test]
async fn those_who_wait_are_stored_and_read_back() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let ask = Action::RequestRelease {
        message: Some("un momento, \u{1F600}".into()),
    };
    let commands = vec![
        claim("a", "ana"),
        command(
            "a",
            "luis",
            Action::Claim {
                ttl: Some(Span(900)),
                wait: true,
            },
        ),
        command("a", "eva", Action::JoinLine),
        command("a", "eva", ask),
    ];
    let (_, state) = lease(&store, commands).await.pop().unwrap();
    assert_eq!((state.line.len(), state.requests.len()), (2, 1));
    let release = Action::Release {
        fence: fence(&state),
        claim: Some(1),
    };
    assert_eq!(store.peek(vec![resource("a")]).await.unwrap().1, [state]);
    let (_, state) = lease(&store, vec![command("a", "ana", release)])
        .await
        .pop()
        .unwrap();
    assert!(
        state
            .offer
            .as_ref()
            .is_some_and(|offer| offer.to.is(&holder("luis")))
    );
    assert_eq!(store.peek(vec![resource("a")]).await.unwrap().1, [state]);
}

#[tokio::test]
async fn reopening_keeps_everything_and_time_does_not_go_back() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let (_, state) = lease(&store, vec![claim("a", "ana")]).await.pop().unwrap();
    manual.advance(Span(20_000));
    store.mark(START + Span(20_000)).await.unwrap();
    store.mark(START).await.unwrap();
    drop(store);
    assert!(
        !PathBuf::from(format!("{}-wal", folder.file())).exists(),
        "the last to close takes the log in"
    );

    let (store, _) = self::store(&folder).await;
    let (now, states) = store.peek(vec![resource("a")]).await.unwrap();
    assert_eq!((now, states), (START + Span(20_000), vec![state.clone()]));
    let (_, next) = lease(&store, vec![claim("b", "luis")]).await.pop().unwrap();
    assert!(fence(&next) > fence(&state), "numbers are not given twice");
    assert!(
        store.describe().starts_with("SQLite 3."),
        "{}",
        store.describe()
    );
}

#[tokio::test]
async fn a_panicking_job_is_rolled_back_and_the_next_one_works() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let broken = store.writer.run::<()>(|db| {
        let tx = db.transaction()?;
        tx.execute("update mark set high = 1", [])?;
        panic!("as a bug would");
    });
    assert!(matches!(broken.await, Err(StoreError::Rejected(_))));
    let high: i64 = store
        .writer
        .run(|db| Ok(db.query_row("select high from mark", [], |row| row.get(0))?))
        .await
        .unwrap();
    assert_eq!(high, 0);
}

#[tokio::test]
async fn a_folder_that_is_missing_is_named() {
    let folder = Folder::new();
    let path = folder.0.join("missing/turno.db").display().to_string();
    let error = open(&path, Arc::new(Clock::system())).await.err().unwrap();
    assert!(
        matches!(&error, StoreError::Unavailable(text) if text.contains("missing does not exist; create it")),
        "{error}"
    );
    let error = open(&folder.0.display().to_string(), Arc::new(Clock::system()))
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("is a folder"), "{error}");
}

#[tokio::test]
async fn only_what_others_write_is_hinted() {
    let folder = Folder::new();
    let (ours, _) = store(&folder).await;
    let (theirs, _) = store(&folder).await;
    lease(&ours, vec![claim("a", "ana")]).await;
    assert_eq!(theirs.hint().await, Ok(Hint::All));
    let nothing = tokio::time::timeout(std::time::Duration::from_millis(250), ours.hint()).await;
    assert!(nothing.is_err(), "our own writes are no news");
    lease(&theirs, vec![claim("b", "luis")]).await;
    assert_eq!(ours.hint().await, Ok(Hint::All));
}
