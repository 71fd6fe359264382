//! Leases: what a group decided is what is read.

use super::{Folder, START, claim, command, fence, holder, lease, resource, store};
use crate::store::{Group, LeaseGroup, LeaseQuery, Outcomes, Past, Store};
use std::sync::Arc;
use turno_core::id::Fence;
use turno_core::lease::{Action, Cause, Outcome, Reason, Refused, State};
use turno_core::time::Span;

#[tokio::test]
async fn a_claim_is_stored_and_a_release_is_in_the_history() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let (decision, claimed) = lease(&store, vec![claim("a", "ana")]).await.pop().unwrap();
    assert_eq!(decision.answer, Ok(Outcome::Claimed { renewed: false }));
    let peeked = store.peek(vec![resource("b"), resource("a")]).await.unwrap();
    assert_eq!((peeked.now, &peeked.states[1]), (START, &claimed));
    assert_eq!(peeked.states[0], State::unseen(resource("b")));

    manual.advance(Span(1_234));
    let release = Action::Release { fence: fence(&claimed), claim: None };
    let (decision, released) = lease(&store, vec![command("a", "ana", release)]).await.pop().unwrap();
    assert_eq!(decision.answer, Ok(Outcome::Released { released: true, repeated: false }));
    let peeked = store.peek(vec![resource("a")]).await.unwrap();
    assert_eq!(peeked.states, std::slice::from_ref(&released));
    let ended = released.ended.unwrap();
    assert_eq!((ended.at, ended.reason, ended.cause), (START + Span(1_234), Reason::Released, Cause::Released));
    assert_eq!(store.ending(resource("a"), fence(&claimed)).await.unwrap(), Some(ended.clone()));
    assert_eq!(store.ending(resource("a"), Fence(99)).await.unwrap(), None);

    let (_, second) = lease(&store, vec![claim("a", "luis")]).await.pop().unwrap();
    let force = Action::ForceRelease { reason: "shift is over".into(), fence: None };
    let (_, forced) = lease(&store, vec![command("a", "eva", force)]).await.pop().unwrap();
    assert!(fence(&second) > fence(&claimed));
    let newest_first = vec![forced.ended.unwrap(), ended];
    assert_eq!(newest_first[0].note.as_deref(), Some("shift is over"));
    assert_eq!(store.history(resource("a"), Past::Newest { before: None }, 10).await.unwrap(), newest_first);
    assert_eq!(store.history(resource("a"), Past::Newest { before: None }, 1).await.unwrap(), newest_first[..1]);
}

#[tokio::test]
async fn claims_of_a_resource_never_seen_grant_it_once_within_and_across_groups() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let group =
        |users: [&str; 2]| Group::Lease(LeaseGroup { commands: users.iter().map(|user| claim("a", user)).collect() });
    let groups = [group(["ana", "luis"]), group(["eva", "ana"])];
    let outcomes = store.commit(0, Arc::new(groups), None).await.unwrap();
    let answers: Vec<_> = outcomes
        .into_iter()
        .flat_map(|outcome| match outcome {
            Outcomes::Lease { answers, .. } => answers,
            other => panic!("{other:?}"),
        })
        .map(|(decision, _)| decision)
        .collect();
    assert_eq!(answers[0].answer, Ok(Outcome::Claimed { renewed: false }));
    assert!(matches!(&answers[1].answer, Err(Refused::HeldBy { grant, .. }) if grant.holder.is(&holder("ana"))));
    assert!(matches!(&answers[2].answer, Err(Refused::HeldBy { grant, .. }) if grant.holder.is(&holder("ana"))));
    assert_eq!(answers[3].answer, Ok(Outcome::Claimed { renewed: true }));
}

#[tokio::test]
async fn the_waiting_line_the_offer_and_requests_are_read_back() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let ask = Action::RequestRelease { message: Some("un momento, \u{1F600}".into()) };
    let commands = vec![
        claim("a", "ana"),
        command("a", "luis", Action::Claim { ttl: Some(Span(900)), wait: true }),
        command("a", "eva", Action::JoinLine),
        command("a", "eva", ask),
    ];
    let (_, state) = lease(&store, commands).await.pop().unwrap();
    assert_eq!((state.line.len(), state.requests.len()), (2, 1));
    let release = Action::Release { fence: fence(&state), claim: Some(1) };
    assert_eq!(store.peek(vec![resource("a")]).await.unwrap().states, [state]);
    let (_, state) = lease(&store, vec![command("a", "ana", release)]).await.pop().unwrap();
    assert!(state.offer.as_ref().is_some_and(|offer| offer.to.is(&holder("luis"))));
    assert_eq!(store.peek(vec![resource("a")]).await.unwrap().states, [state]);
}

#[tokio::test]
async fn owned_leases_are_listed_by_name_prefix_and_holder() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let names = ["a", "job:", "job:1", "job:\u{10ffff}z", "job;", "k_%"];
    let holders = ["ana", "luis", "ana", "ana", "luis", "ana"];
    let commands = names.iter().zip(holders).map(|(name, user)| claim(name, user)).collect();
    let answers = lease(&store, commands).await;
    let release = Action::Release { fence: fence(&answers[0].1), claim: None };
    lease(&store, vec![command("a", "ana", release)]).await;
    let list = async |query: LeaseQuery| {
        let found = store.leases(LeaseQuery { limit: 9, ..query }).await.unwrap();
        found.states.iter().map(|state| state.resource.to_string()).collect::<Vec<_>>()
    };
    let prefix = |text: &str| LeaseQuery { prefix: Some(text.into()), ..LeaseQuery::default() };
    assert_eq!(list(LeaseQuery::default()).await, names[1..], "a was released");
    assert_eq!(list(prefix("job:")).await, names[1..4]);
    assert_eq!(list(prefix("job:\u{10ffff}")).await, names[3..4]);
    assert_eq!(list(prefix("k_")).await, names[5..]);
    assert_eq!(list(prefix("k_%a")).await, names[..0]);
    assert_eq!(list(prefix("\u{10ffff}")).await, names[..0], "no name lies behind the prefix");
    let after = LeaseQuery { after: Some(resource("job:")), ..prefix("job:") };
    assert_eq!(list(after.clone()).await, names[2..4]);
    assert_eq!(list(LeaseQuery { prefix: None, ..after.clone() }).await, names[2..]);
    assert_eq!(list(LeaseQuery { after: Some(resource("a")), ..after.clone() }).await, names[1..4]);
    let of = LeaseQuery { holder: Some(holder("luis").user), ..LeaseQuery::default() };
    assert_eq!(list(of).await, ["job:", "job;"]);
    let found = store.leases(LeaseQuery { limit: 1, ..after }).await.unwrap();
    assert_eq!((found.now, found.states), (START, vec![answers[2].1.clone()]));
}
