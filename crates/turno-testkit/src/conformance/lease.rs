//! Leases on a real database.

use super::world::{World, claim, command, holder, resource};
use std::collections::HashSet;
use std::time::Duration;
use turno::core::id::{Fence, Instance, Resource};
use turno::core::lease::{Action, Beat, Cause, Command, Holder, Outcome, Reason, Refused, State};
use turno::core::time::Span;
use turno::lease::LeaseAnswer;

super::cases![
    a_resource_never_seen_is_free,
    a_grant_is_stored_as_decided,
    exactly_one_of_many_claims_of_a_never_seen_resource_wins,
    fences_grow_over_release_expiry_override_and_reopening,
    a_dead_holders_resource_is_claimable_at_expiry_with_no_sweeper,
    a_heartbeat_renews_and_a_late_one_is_refused,
    a_stale_fence_changes_nothing_in_the_database,
    repeating_a_release_gets_the_same_answer_after_later_holders,
    a_kept_lease_survives_reopening_and_is_refused_to_its_former_holder,
    the_history_is_a_sequence_of_intervals_each_with_one_end,
    an_expired_ownership_is_in_the_history_before_the_next_command,
    line_offer_and_requests_survive_reopening,
    a_waiting_claim_is_granted_when_the_holder_releases,
    a_waiting_claim_is_granted_when_the_lease_expires,
    a_waiting_claim_gives_up_in_time_and_leaves_the_line,
    many_leases_in_one_group_do_not_disturb_each_other,
];

async fn a_resource_never_seen_is_free(world: World) {
    let (now, state) = world.turno.lease_state(resource()).await.unwrap();
    assert_eq!((now, state), (super::world::START, State::unseen(resource())));
}

async fn a_grant_is_stored_as_decided(mut world: World) {
    let ttl = Some(Span(45_000));
    let who = Holder { instance: Some(Instance::new("i-7").unwrap()), ..holder("ana") };
    let own = |action| Command { who: who.clone(), ..command("ana", action) };
    let answer = world.turno.lease_command(own(Action::Claim { ttl, wait: false })).await.unwrap();
    world.advance(5_000);
    let fence = answer.state.grant.as_ref().unwrap().fence;
    let beat = Action::Heartbeat { fence, idle: None, worked: true };
    let beat = world.turno.lease_command(own(beat)).await.unwrap();
    assert_eq!(beat.answer, Ok(Outcome::Beat(Beat::Renewed)));
    world.reopen().await;
    let (_, stored) = world.turno.lease_state(resource()).await.unwrap();
    assert_eq!(stored, beat.state);
    let grant = stored.grant.unwrap();
    assert_eq!((grant.locked_at, grant.worked_at), (super::world::START, beat.now), "columns are not swapped");
    assert_eq!((grant.holder, grant.ttl), (who, Span(45_000)));
    let force = Action::ForceClaim { reason: "urge, \"ñ\"".to_owned(), fence: None };
    let forced = world.lease("eva", force).await.state;
    world.reopen().await;
    assert_eq!(world.turno.lease_state(resource()).await.unwrap().1, forced, "the ended ownership is stored, too");
}

async fn exactly_one_of_many_claims_of_a_never_seen_resource_wins(world: World) {
    let other = world.instance().await;
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..20 {
        let turno = if n % 2 == 0 { world.turno.clone() } else { other.clone() };
        calls.spawn(async move { claim(&turno, &format!("u{n}")).await.is_ok() });
    }
    let won = calls.join_all().await.into_iter().filter(|won| *won).count();
    assert_eq!(won, 1);
}

async fn fences_grow_over_release_expiry_override_and_reopening(mut world: World) {
    let mut fences = vec![world.claim("ana").await.unwrap()];
    world.lease("ana", Action::Release { fence: fences[0], claim: None }).await.answer.unwrap();
    fences.push(world.claim("luis").await.unwrap());
    world.advance(30_000);
    fences.push(world.claim("eva").await.unwrap());
    let forced = world.lease("admin", Action::ForceClaim { reason: "urgente".to_owned(), fence: None }).await;
    fences.push(forced.state.grant.unwrap().fence);
    world.reopen().await;
    world.advance(30_000);
    fences.push(world.claim("ana").await.unwrap());
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
}

async fn a_dead_holders_resource_is_claimable_at_expiry_with_no_sweeper(world: World) {
    world.claim("ana").await.unwrap();
    world.advance(29_999);
    assert!(matches!(world.claim("luis").await, Err(Refused::HeldBy { .. })));
    world.advance(1);
    world.claim("luis").await.unwrap();
}

async fn a_heartbeat_renews_and_a_late_one_is_refused(world: World) {
    let fence = world.claim("ana").await.unwrap();
    let beat = || Action::Heartbeat { fence, idle: None, worked: false };
    for _ in 0..10 {
        world.advance(20_000);
        assert_eq!(world.lease("ana", beat()).await.answer, Ok(Outcome::Beat(Beat::Renewed)));
    }
    world.advance(30_000);
    match world.lease("ana", beat()).await.answer {
        Err(Refused::Lost { ending: Some(end) }) => {
            assert_eq!((end.reason, end.cause), (Reason::Expired, Cause::NoHeartbeat));
        }
        other => panic!("a late heartbeat must be refused: {other:?}"),
    }
}

async fn a_stale_fence_changes_nothing_in_the_database(world: World) {
    let old = world.claim("ana").await.unwrap();
    world.advance(30_000);
    let live = world.claim("luis").await.unwrap();
    let before = world.turno.lease_state(resource()).await.unwrap();
    for fence in [old, Fence(live.0 + 1), Fence(0)] {
        for action in [Action::Heartbeat { fence, idle: None, worked: true }, Action::Release { fence, claim: None }] {
            let answer = world.lease("ana", action).await.answer;
            assert!(matches!(answer, Err(Refused::Lost { .. })), "{answer:?}");
        }
    }
    assert_eq!(world.turno.lease_state(resource()).await.unwrap(), before);
}

async fn repeating_a_release_gets_the_same_answer_after_later_holders(world: World) {
    let fence = world.claim("ana").await.unwrap();
    let release = || Action::Release { fence, claim: None };
    assert_eq!(world.lease("ana", release()).await.answer, Ok(Outcome::Released { released: true, repeated: false }));
    for who in ["luis", "eva"] {
        let fence = world.claim(who).await.unwrap();
        world.lease(who, Action::Release { fence, claim: None }).await.answer.unwrap();
        let again = world.lease("ana", release()).await.answer;
        assert_eq!(again, Ok(Outcome::Released { released: true, repeated: true }), "after {who}");
    }
    let foreign = world.lease("luis", release()).await.answer;
    assert!(matches!(foreign, Err(Refused::Lost { ending: Some(_) })), "another holder's release: {foreign:?}");
}

async fn a_kept_lease_survives_reopening_and_is_refused_to_its_former_holder(mut world: World) {
    let fence = world.claim("ana").await.unwrap();
    let keep = Action::Keep { fence, claim: Some(1), keep: Span::from_secs(600) };
    let kept = world.lease("ana", keep.clone()).await;
    assert_eq!(kept.answer, Ok(Outcome::Released { released: true, repeated: false }));
    world.advance(599_999);
    world.reopen().await;
    let (_, stored) = world.turno.lease_state(resource()).await.unwrap();
    assert_eq!((stored.kept, &stored), (true, &kept.state));
    for user in ["ana", "luis"] {
        assert!(matches!(world.claim(user).await, Err(Refused::HeldBy { .. })), "{user}");
    }
    let beat = world.lease("ana", Action::Heartbeat { fence, idle: None, worked: true }).await.answer;
    assert!(matches!(beat, Err(Refused::Lost { ending: Some(end) }) if end.reason == Reason::Released));
    world.advance(1);
    assert!(world.claim("ana").await.unwrap() > fence, "a new ownership");
    let again = world.lease("ana", keep).await.answer;
    assert_eq!(again, Ok(Outcome::Released { released: true, repeated: true }), "found in the history");
    let history = world.turno.lease_history(resource(), None, 10).await.unwrap();
    assert_eq!(
        (history[0].reason, history[0].cause, history[0].at.0),
        (Reason::Released, Cause::Released, super::world::START.0 + 600_000)
    );
}

async fn the_history_is_a_sequence_of_intervals_each_with_one_end(world: World) {
    let first = world.claim("ana").await.unwrap();
    world.advance(7_000);
    world.lease("ana", Action::Release { fence: first, claim: None }).await.answer.unwrap();
    world.claim("luis").await.unwrap();
    world.advance(50_000);
    world.claim("eva").await.unwrap();
    world.advance(1_000);
    let reason = "se fue a casa".to_owned();
    world.lease("admin", Action::ForceRelease { reason: reason.clone(), fence: None }).await.answer.unwrap();

    let history = world.turno.lease_history(resource(), None, 10).await.unwrap();
    let endings: Vec<_> = history.iter().map(|end| (end.grant.holder.user.as_str(), end.reason)).collect();
    assert_eq!(endings, [("eva", Reason::Forced), ("luis", Reason::Expired), ("ana", Reason::Released)]);
    assert_eq!((history[0].note.as_ref(), history[0].by.as_ref()), (Some(&reason), Some(&holder("admin").user)));
    assert_eq!(
        history[1].at, history[1].grant.expires_at,
        "the end has the time of the expiry, not of the next command"
    );
    for pair in history.windows(2) {
        assert!(pair[1].at <= pair[0].grant.locked_at, "ownerships do not overlap");
    }
}

async fn an_expired_ownership_is_in_the_history_before_the_next_command(world: World) {
    let first = world.claim("ana").await.unwrap();
    world.lease("ana", Action::Release { fence: first, claim: None }).await.answer.unwrap();
    let second = world.claim("luis").await.unwrap();
    assert_eq!(world.turno.lease_history(resource(), None, 10).await.unwrap().len(), 1, "luis still holds the lease");
    world.advance(50_000);
    let before = world.turno.lease_history(resource(), None, 10).await.unwrap();
    let endings: Vec<_> = before.iter().map(|end| (end.grant.fence, end.reason)).collect();
    assert_eq!(endings, [(second, Reason::Expired), (first, Reason::Released)]);
    let page = async |before| world.turno.lease_history(resource(), before, 1).await.unwrap();
    assert_eq!(page(None).await, before[..1]);
    assert_eq!(page(Some(second)).await, before[1..]);
    world.claim("eva").await.unwrap();
    assert_eq!(
        world.turno.lease_history(resource(), None, 10).await.unwrap(),
        before,
        "the stored history equals the computed one"
    );
}

async fn line_offer_and_requests_survive_reopening(mut world: World) {
    let fence = world.claim("ana").await.unwrap();
    let message = Some("¿te falta mucho?".to_owned());
    world.lease("luis", Action::RequestRelease { message }).await.answer.unwrap();
    world.lease("luis", Action::JoinLine).await.answer.unwrap();
    let before = world.lease("eva", Action::JoinLine).await.state;
    world.reopen().await;
    assert_eq!(world.turno.lease_state(resource()).await.unwrap().1, before);
    let released = world.lease("ana", Action::Release { fence, claim: None }).await.state;
    world.reopen().await;
    assert_eq!(world.turno.lease_state(resource()).await.unwrap().1, released);
    assert!(matches!(world.claim("eva").await, Err(Refused::OfferedTo { .. })));
    world.claim("luis").await.unwrap();
}

async fn a_waiting_claim_is_granted_when_the_holder_releases(world: World) {
    let fence = world.claim("ana").await.unwrap();
    let waiting = waiting_claim(&world, Duration::from_secs(60)).await;
    world.lease("ana", Action::Release { fence, claim: None }).await.answer.unwrap();
    assert_eq!(waiting.await.unwrap().answer, Ok(Outcome::Claimed { renewed: false }));
}

async fn a_waiting_claim_is_granted_when_the_lease_expires(world: World) {
    world.claim("ana").await.unwrap();
    let waiting = waiting_claim(&world, Duration::from_secs(60)).await;
    world.advance(29_999);
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "the holder's lease is live");
    world.advance(1);
    let answer = waiting.await.unwrap();
    assert_eq!(answer.answer, Ok(Outcome::Claimed { renewed: false }));
    assert!(answer.now - super::world::START >= Span(30_000), "granted only after the expiry");
}

async fn a_waiting_claim_gives_up_in_time_and_leaves_the_line(world: World) {
    let fence = world.claim("ana").await.unwrap();
    let waiting = waiting_claim(&world, Duration::from_secs(3)).await;
    while !waiting.is_finished() {
        world.advance(500);
        world.lease("ana", Action::Heartbeat { fence, idle: None, worked: false }).await.answer.unwrap();
    }
    assert!(matches!(waiting.await.unwrap().answer, Err(Refused::HeldBy { .. })));
    assert!(world.turno.lease_state(resource()).await.unwrap().1.line.is_empty());
}

async fn many_leases_in_one_group_do_not_disturb_each_other(world: World) {
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..200 {
        let turno = world.turno.clone();
        calls.spawn(async move {
            let mut command = command(&format!("u{n}"), Action::Claim { ttl: None, wait: false });
            command.resource = Resource::new(format!("r{}", n % 100)).unwrap();
            let answer = turno.lease_command(command).await.unwrap();
            answer.answer.is_ok().then(|| (n % 100, answer.state.grant.unwrap().fence))
        });
    }
    let won: Vec<_> = calls.join_all().await.into_iter().flatten().collect();
    let resources: HashSet<_> = won.iter().map(|(resource, _)| resource).collect();
    let fences: HashSet<_> = won.iter().map(|(_, fence)| fence).collect();
    assert_eq!(
        (won.len(), resources.len(), fences.len()),
        (100, 100, 100),
        "one winner per resource, every fence unique"
    );
}

/// Starts a claim of Luis that waits, and returns once he stands in line. The clock does not move.
async fn waiting_claim(world: &World, wait: Duration) -> tokio::task::JoinHandle<LeaseAnswer> {
    let turno = world.turno.clone();
    let claim = command("luis", Action::Claim { ttl: None, wait: true });
    let waiting = tokio::spawn(async move { turno.lease_wait(claim, wait).await.unwrap() });
    while world.turno.lease_state(resource()).await.unwrap().1.line.is_empty() {
        tokio::task::yield_now().await;
    }
    waiting
}
