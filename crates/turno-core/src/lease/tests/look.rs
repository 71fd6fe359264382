//! Tests of the look: when the engine looks at a lease next, and the events of that.

use super::*;

fn bench() -> Bench {
    Bench::held_by_ana(Policy::default())
}

impl Bench {
    /// Sends `Look`, as the engine does. Returns the names and details of its events.
    fn look(&mut self) -> Vec<(EventName, Option<String>)> {
        let decision = self.run("turno", Action::Look);
        let news = !decision.events.is_empty();
        assert_eq!(decision.answer, Ok(Outcome::Looked { news }));
        decision.events.into_iter().map(|event| (event.name, event.detail)).collect()
    }
}

fn lost() -> (EventName, Option<String>) {
    (EventName::LeaseLost, Some("expired".to_owned()))
}

fn offered() -> (EventName, Option<String>) {
    (EventName::LeaseOffered, None)
}

#[test]
fn a_due_look_ends_the_ownership_and_announces_it_once() {
    let mut bench = bench();
    assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "the claim sets the look");
    bench.pass(30_000);
    assert_eq!(bench.look(), [lost()]);
    assert_eq!((bench.state.grant.is_none(), bench.state.look_at), (true, None));
    assert_eq!(bench.look(), []);
}

#[test]
fn look_at_a_renewed_lease_is_set_to_the_new_expiry() {
    let mut bench = bench();
    bench.pass(20_000);
    let beat = Action::Heartbeat { fence: bench.grant().fence, idle: None, worked: false };
    bench.run("ana", beat).answer.expect("alive");
    assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "the heartbeat does not change the look");
    bench.pass(10_000);
    assert_eq!(bench.look(), []);
    assert_eq!(bench.state.look_at, Some(START + Span(50_000)));
}

#[test]
fn release_keeps_the_look_and_the_next_claim_only_moves_it_earlier() {
    let mut bench = bench();
    let release = Action::Release { fence: bench.grant().fence, claim: None };
    bench.run("ana", release).answer.expect("Ana holds it");
    assert_eq!(bench.state.look_at, Some(START + Span(30_000)));
    bench.run("luis", Action::Claim { ttl: Some(Span::from_secs(60)), wait: false }).answer.expect("free");
    assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "a look before the expiry is harmless");
    let release = Action::Release { fence: bench.grant().fence, claim: None };
    bench.run("luis", release).answer.expect("Luis holds it");
    bench.run("eva", Action::Claim { ttl: Some(Span::from_secs(10)), wait: false }).answer.expect("free");
    assert_eq!(bench.state.look_at, Some(START + Span(10_000)), "a look after the expiry is not");
    let release = Action::Release { fence: bench.grant().fence, claim: None };
    bench.run("eva", release).answer.expect("Eva holds it");
    bench.pass(10_000);
    assert_eq!((bench.look(), bench.state.look_at), (vec![], None));
}

#[test]
fn a_lapsed_offer_is_passed_on_and_announced_to_the_next() {
    let mut bench = bench();
    for user in ["luis", "eva"] {
        bench.run(user, Action::JoinLine).answer.expect("waits");
    }
    bench.pass(20_000);
    for user in ["luis", "eva"] {
        bench.run(user, Action::JoinLine).answer.expect("waits");
    }
    bench.pass(10_000);
    assert_eq!(bench.look(), [lost(), offered()]);
    assert_eq!(bench.state.look_at, Some(START + Span(50_000)), "the end of Luis's ticket");
    bench.pass(10_000);
    for user in ["luis", "eva"] {
        bench.run(user, Action::JoinLine).answer.expect("waits");
    }
    bench.pass(10_000);
    assert_eq!(bench.look(), []);
    assert_eq!(bench.state.look_at, Some(START + Span(60_000)), "the end of the offer");
    bench.pass(10_000);
    assert_eq!(bench.look(), [offered()]);
    assert_eq!(bench.state.offer.as_ref().map(|offer| offer.to.user.as_str()), Some("eva"));
    bench.pass(10_000);
    assert_eq!((bench.look(), bench.state.look_at), (vec![], None), "her ticket is dead, and the line is empty");
}

#[test]
fn leave_moves_the_look_to_the_end_of_the_grace_period() {
    let mut bench = bench();
    let grace = Span::from_secs(5);
    let leave = Action::Leave { fence: bench.grant().fence, claim: None, grace };
    bench.run("ana", leave).answer.expect("Ana holds it");
    assert_eq!(bench.state.look_at, Some(START + grace));
    bench.pass(5_000);
    assert_eq!(bench.look(), [(EventName::LeaseReleased, None)]);
}

#[test]
fn lease_without_a_look_gets_one_from_the_next_command() {
    let mut bench = bench();
    bench.state.look_at = None;
    let beat = Action::Heartbeat { fence: bench.grant().fence, idle: None, worked: false };
    assert!(bench.run("ana", beat).changed, "an older program wrote this row without a look");
    assert_eq!(bench.state.look_at, bench.state.due_at());
}
