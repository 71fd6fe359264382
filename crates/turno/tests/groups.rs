//! The committer when the database fails: on the model, which fails on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use turno::clock::{Clock, Manual};
use turno::core::id::{Resource, UserId};
use turno::core::lease::{Action, Command, Holder, Outcome, Policy};
use turno::core::time::Time;
use turno::lease::LeaseAnswer;
use turno::store::{Group, StoreError};
use turno::{Error, Options, Turno};
use turno_testkit::model::{Model, Trouble};

fn engine(trouble: impl Fn(&Group) -> Option<Trouble> + Send + Sync + 'static) -> Turno {
    let clock = Arc::new(Clock::manual(Manual::starting_at(Time(1_000_000))));
    Turno::on(
        Arc::new(Model::new(clock.clone()).with_trouble(trouble)),
        Options { clock, sweep: false, ..Options::default() },
    )
}

fn command(resource: &str, action: Action) -> Command {
    let who = Holder { user: UserId::new("ana").expect("valid"), name: "Ana".to_owned(), instance: None };
    Command { resource: Resource::new(resource).expect("valid"), who, via: None, policy: Policy::default(), action }
}

async fn claim(turno: &Turno, resource: &str) -> Result<LeaseAnswer, Error> {
    turno.lease_command(command(resource, Action::Claim { ttl: None, wait: false })).await
}

fn claims(group: &Group, resource: &str) -> bool {
    let is =
        |command: &Command| command.resource.as_str() == resource && matches!(command.action, Action::Claim { .. });
    matches!(group, Group::Lease(group) if group.commands.iter().any(is))
}

#[tokio::test]
async fn one_bad_command_fails_alone_and_the_rest_of_its_group_is_committed() {
    let turno = engine(|group| claims(group, "bad").then(|| Trouble::Error(StoreError::Rejected("no".into()))));
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..60 {
        let (turno, resource) = (turno.clone(), if n == 30 { "bad".to_owned() } else { format!("r{n}") });
        calls.spawn(async move { (n, claim(&turno, &resource).await) });
    }
    for (n, answer) in calls.join_all().await {
        match answer {
            Ok(answer) => assert_eq!(answer.answer, Ok(Outcome::Claimed { renewed: false }), "{n}"),
            Err(error) => assert_eq!((n, error), (30, Error::Store(StoreError::Rejected("no".into())))),
        }
    }
    let (_, state) = turno.lease_state(Resource::new("bad").unwrap()).await.unwrap();
    assert_eq!(state.grant, None);
}

#[tokio::test]
async fn a_conflict_with_another_transaction_is_redone() {
    let times = AtomicUsize::new(0);
    let turno = engine(move |_| {
        let first = times.fetch_add(1, Ordering::SeqCst) < 3;
        first.then(|| Trouble::Error(StoreError::Conflict("deadlock".to_owned())))
    });
    assert!(claim(&turno, "r").await.unwrap().answer.is_ok());
}

#[tokio::test]
async fn a_conflict_that_persists_is_returned_as_an_error() {
    let turno = engine(|_| Some(Trouble::Error(StoreError::Conflict("again".to_owned()))));
    assert!(matches!(claim(&turno, "r").await, Err(Error::Store(StoreError::Rejected(_)))));
}

#[tokio::test]
async fn an_unreachable_database_is_an_error_and_nothing_is_stored() {
    let down = StoreError::Unavailable("down".into());
    let trouble = down.clone();
    let turno = engine(move |_| Some(Trouble::Error(trouble.clone())));
    assert_eq!(claim(&turno, "r").await.unwrap_err(), Error::Store(down));
    let (_, state) = turno.lease_state(Resource::new("r").unwrap()).await.unwrap();
    assert_eq!(state.grant, None);
}

#[tokio::test]
async fn overload_refuses_new_claims_but_not_heartbeats_and_releases() {
    let turno = engine(|group| claims(group, "stuck").then_some(Trouble::Stall));
    let held = claim(&turno, "mine").await.unwrap();
    let fence = held.state.grant.unwrap().fence;
    let mut waiting = tokio::task::JoinSet::new();
    let refused = Arc::new(AtomicUsize::new(0));
    for n in 0..20_000 {
        let (turno, refused) = (turno.clone(), refused.clone());
        let resource = if n == 0 { "stuck".to_owned() } else { format!("r{n}") };
        waiting.spawn(async move {
            if claim(&turno, &resource).await == Err(Error::Overloaded) {
                refused.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    while refused.load(Ordering::SeqCst) < 10_000 {
        tokio::task::yield_now().await;
    }
    let beat =
        turno.lease_command(command("mine", Action::Heartbeat { fence, idle: None, worked: false })).await.unwrap();
    assert!(matches!(beat.answer, Ok(Outcome::Beat(_))), "a heartbeat is answered while new claims are refused");
    // A release still fits on a route that is full of new commands.
    let release = command("mine", Action::Release { fence, claim: None });
    let answer = tokio::select! {
        answer = turno.lease_command(release) => Some(answer),
        () = tokio::task::yield_now() => None,
    };
    assert_eq!(answer, None, "the release waits instead of being refused");
}
