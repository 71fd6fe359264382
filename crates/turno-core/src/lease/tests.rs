//! One test per rule of [`decide`].

mod keeping;
mod leaving;
mod line;
mod look;
mod lost;
mod overrides;

use super::*;
use crate::event::EventName;
use crate::id::Numbers;
use crate::limits::{LINE_MAX, TICKET_TTL};

const START: Time = Time(1_700_000_000_000);

/// One resource under a policy, with a clock that the test moves.
struct Bench {
    state: State,
    policy: Policy,
    now: Time,
    next: i64,
    /// The fence of the newest claim that [`Bench::claimed`] made.
    fence: Fence,
}

fn holder(user: &str) -> Holder {
    Holder { user: UserId::new(user).expect("valid"), name: format!("Name of {user}"), instance: None }
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Policy::default())
    }

    fn task() -> Bench {
        Bench::with(Policy {
            ttl: Span::from_secs(180),
            idle_guard: Some(Span::from_secs(120)),
            rolling_timeout: Some(Span::from_secs(900)),
            ..Policy::default()
        })
    }

    fn with(policy: Policy) -> Bench {
        let resource = Resource::new("task:7").expect("valid");
        Bench { state: State::unseen(resource), policy, now: START, next: 100, fence: Fence(0) }
    }

    /// A bench whose resource Ana holds.
    fn held_by_ana(policy: Policy) -> Bench {
        let mut bench = Bench::with(policy);
        bench.claimed("ana");
        bench
    }

    fn pass(&mut self, ms: i64) -> &mut Bench {
        self.now = self.now + Span(ms);
        self
    }

    fn run(&mut self, who: &str, action: Action) -> Decision {
        self.run_as(&holder(who), action)
    }

    fn run_as(&mut self, who: &Holder, action: Action) -> Decision {
        self.next += 1;
        let (resource, policy) = (self.state.resource.clone(), self.policy.clone());
        let command = Command { resource, who: who.clone(), via: None, policy, action };
        decide(&mut self.state, &command, self.now, &mut Numbers::new(vec![self.next]))
    }

    fn claim(&mut self, who: &str) -> Result<Outcome, Refused> {
        self.run(who, Action::Claim { ttl: None, wait: false }).answer
    }

    fn claimed(&mut self, who: &str) -> Fence {
        self.claim(who).expect("granted");
        self.fence = self.grant().fence;
        self.fence
    }

    fn beat(&mut self, who: &str, fence: Fence) -> Result<Outcome, Refused> {
        self.run(who, Action::Heartbeat { fence, idle: Some(Span::ZERO), worked: false }).answer
    }

    /// Sends a heartbeat of Ana, who has been idle for `idle`.
    fn beat_idle(&mut self, idle: Span) -> Result<Outcome, Refused> {
        self.run("ana", Action::Heartbeat { fence: self.fence, idle: Some(idle), worked: false }).answer
    }

    fn release(&mut self, who: &str, fence: Fence) -> Result<Outcome, Refused> {
        self.run(who, Action::Release { fence, claim: None }).answer
    }

    fn grant(&self) -> &Grant {
        self.state.grant.as_ref().expect("held")
    }

    fn expires_at(&self) -> Option<Time> {
        self.state.grant.as_ref().map(|grant| grant.expires_at)
    }
}

fn ending(refused: Result<Outcome, Refused>) -> (Reason, Cause) {
    match refused {
        Err(Refused::Lost { ending: Some(ending) }) => (ending.reason, ending.cause),
        other => panic!("expected a refusal with the ending, got {other:?}"),
    }
}

#[test]
fn claim_is_refused_while_another_holds() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    let since = bench.now;
    bench.pass(29_999);
    match bench.claim("luis") {
        Err(Refused::HeldBy { grant, position: None }) => {
            assert_eq!((grant.holder, grant.locked_at), (holder("ana"), since));
        }
        other => panic!("two holders: {other:?}"),
    }
}

#[test]
fn claim_succeeds_at_the_instant_of_expiry_and_not_before() {
    let mut bench = Bench::new();
    let first = bench.claimed("ana");
    bench.pass(29_999);
    assert!(bench.claim("luis").is_err());
    bench.pass(1);
    assert!(bench.claimed("luis") > first);
}

#[test]
fn reclaim_by_the_holder_keeps_fence_locked_at_and_rolling_timeout() {
    let mut bench = Bench::task();
    let fence = bench.claimed("ana");
    let (since, worked) = (bench.grant().locked_at, bench.grant().worked_at);
    bench.pass(60_000);
    assert_eq!(bench.claim("ana"), Ok(Outcome::Claimed { renewed: true }));
    let grant = bench.grant();
    assert_eq!((grant.fence, grant.locked_at, grant.worked_at, grant.claim), (fence, since, worked, 2));
    assert_eq!(grant.expires_at, bench.now + Span::from_secs(180));
}

#[test]
fn reclaim_is_announced_for_a_person_and_not_for_an_instance() {
    for (instance, announced) in [(None, vec![EventName::LeaseClaimedAgain]), (Some("worker-1"), vec![])] {
        let mut bench = Bench::new();
        let instance = instance.map(|name| Instance::new(name).expect("valid"));
        let who = Holder { instance, ..holder("ana") };
        let mut claim = || {
            let decision = bench.run_as(&who, Action::Claim { ttl: None, wait: false });
            decision.events.into_iter().map(|event| event.name).collect::<Vec<_>>()
        };
        assert_eq!((claim(), claim()), (vec![EventName::LeaseClaimed], announced));
    }
}

#[test]
fn two_instances_of_one_account_are_two_holders() {
    let mut bench = Bench::new();
    bench.claimed("robot");
    let other = Holder { instance: Some(Instance::new("b").expect("valid")), ..holder("robot") };
    let command = Command {
        resource: bench.state.resource.clone(),
        who: other,
        via: None,
        policy: bench.policy.clone(),
        action: Action::Claim { ttl: None, wait: false },
    };
    let decision = decide(&mut bench.state, &command, bench.now, &mut Numbers::new(vec![999]));
    assert!(matches!(decision.answer, Err(Refused::HeldBy { .. })));
}

#[test]
fn heartbeat_at_expiry_is_refused_even_if_the_lease_is_free() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.pass(30_000);
    assert_eq!(ending(bench.beat("ana", fence)), (Reason::Expired, Cause::NoHeartbeat));
    assert_eq!(bench.state.grant, None);
}

#[test]
fn heartbeat_renews_by_no_more_than_the_longest_ttl_of_the_policy() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.policy.ttl = Span(5_000);
    bench.policy.max_ttl = Span(5_000);
    bench.pass(28_000);
    bench.beat("ana", fence).expect("renewed");
    assert_eq!(bench.grant().expires_at, bench.now + Span(5_000), "the operator has lowered the policy meanwhile");
}

#[test]
fn heartbeat_renews_by_the_ttl_of_the_claim() {
    let mut bench = Bench::new();
    let ttl = Some(Span::from_secs(300));
    bench.run("ana", Action::Claim { ttl, wait: false }).answer.expect("granted");
    let fence = bench.grant().fence;
    bench.pass(10_000);
    assert_eq!(bench.beat("ana", fence), Ok(Outcome::Beat(Beat::Renewed)));
    assert_eq!(bench.grant().expires_at, bench.now + Span::from_secs(300));
}

#[test]
fn heartbeat_soon_after_the_last_one_writes_nothing() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    let before = bench.state.clone();
    bench.pass(999);
    let decision = bench.run("ana", Action::Heartbeat { fence, idle: None, worked: false });
    assert_eq!((decision.answer, decision.changed), (Ok(Outcome::Beat(Beat::Renewed)), false));
    assert_eq!(bench.state, before);
    bench.pass(1);
    assert!(bench.run("ana", Action::Heartbeat { fence, idle: None, worked: false }).changed);
}

#[test]
fn heartbeat_never_moves_expiry_backwards() {
    let mut bench = Bench::new();
    bench.run("ana", Action::Claim { ttl: Some(Span::from_secs(600)), wait: false }).answer.expect("granted");
    let (fence, far) = (bench.grant().fence, bench.grant().expires_at);
    bench.pass(1_000);
    bench.claim("ana").expect("renewed with the shorter ttl of the policy");
    assert_eq!(bench.grant().expires_at, far);
    bench.pass(2_000);
    bench.beat("ana", fence).expect("alive");
    assert_eq!(bench.grant().expires_at, far);
}

#[test]
fn stale_or_foreign_fence_is_refused_and_changes_nothing() {
    let mut bench = Bench::new();
    let old = bench.claimed("ana");
    bench.release("ana", old).expect("released");
    let live = bench.claimed("luis");
    let before = bench.state.clone();
    assert_eq!(ending(bench.beat("ana", old)), (Reason::Released, Cause::Released));
    assert!(matches!(bench.beat("ana", live), Err(Refused::Lost { .. })), "the fence alone is not enough");
    assert!(
        matches!(bench.beat("luis", Fence(live.0 + 1)), Err(Refused::Lost { .. })),
        "nor is an unknown, higher fence"
    );
    assert!(matches!(bench.release("ana", live), Err(Refused::Lost { .. })));
    assert_eq!(bench.state, before);
}

#[test]
fn idle_heartbeat_renews_nothing_and_the_ending_names_idleness() {
    let mut bench = Bench::task();
    let fence = bench.claimed("ana");
    let before = bench.grant().expires_at;
    bench.pass(120_000);
    let idle = Some(Span::from_secs(120));
    let answer = bench.run("ana", Action::Heartbeat { fence, idle, worked: true }).answer;
    assert_eq!(answer, Ok(Outcome::Beat(Beat::Idle)));
    assert_eq!((bench.grant().expires_at, bench.grant().worked_at), (before, START));
    bench.pass(60_000);
    assert_eq!(ending(bench.beat("ana", fence)), (Reason::Expired, Cause::Idle));
}

#[test]
fn active_heartbeat_after_an_idle_one_renews_at_once() {
    let mut bench = Bench::task();
    let fence = bench.claimed("ana");
    bench.pass(130_000);
    bench
        .run("ana", Action::Heartbeat { fence, idle: Some(Span::from_secs(125)), worked: false })
        .answer
        .expect("alive");
    bench.pass(100);
    assert_eq!(bench.beat("ana", fence), Ok(Outcome::Beat(Beat::Renewed)));
    assert_eq!(bench.grant().expires_at, bench.now + Span::from_secs(180));
}

#[test]
fn heartbeat_without_idle_time_is_refused_under_an_idle_guard() {
    let mut bench = Bench::task();
    let fence = bench.claimed("ana");
    let answer = bench.run("ana", Action::Heartbeat { fence, idle: None, worked: false }).answer;
    assert_eq!(answer, Err(Refused::IdleMissing));
}

#[test]
fn no_sequence_of_heartbeats_passes_the_rolling_timeout() {
    let mut bench = Bench::task();
    let fence = bench.claimed("ana");
    let cap = START + Span::from_secs(900);
    while bench.now + Span(10_000) < cap {
        bench.pass(10_000);
        bench.beat("ana", fence).expect("alive until the cap");
        bench.claim("ana").expect("a re-claim does not help either");
        assert!(bench.grant().expires_at <= cap);
    }
    assert_eq!(bench.beat("ana", fence), Ok(Outcome::Beat(Beat::RollingTimeout)));
    bench.pass(10_000);
    assert_eq!(ending(bench.beat("ana", fence)), (Reason::Expired, Cause::RollingTimeout));
}

#[test]
fn heartbeats_with_work_move_the_rolling_timeout() {
    let mut bench = Bench::task();
    let fence = bench.claimed("ana");
    for _ in 0..200 {
        bench.pass(10_000);
        let worked = Action::Heartbeat { fence, idle: Some(Span::ZERO), worked: true };
        assert_eq!(bench.run("ana", worked).answer, Ok(Outcome::Beat(Beat::Renewed)));
    }
}

#[test]
fn release_needs_its_holder_and_repeating_it_changes_nothing() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    assert!(matches!(bench.release("luis", fence), Err(Refused::Lost { .. })));
    assert_eq!(bench.release("ana", fence), Ok(Outcome::Released { released: true, repeated: false }));
    assert_eq!(bench.release("ana", fence), Ok(Outcome::Released { released: true, repeated: true }));
    bench.claimed("luis");
    assert_eq!(bench.release("ana", fence), Ok(Outcome::Released { released: true, repeated: true }));
    assert_eq!(bench.grant().holder, holder("luis"));
}

#[test]
fn late_release_of_an_older_claim_frees_nothing() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.claim("ana").expect("the reload claims again");
    let late = Action::Release { fence, claim: Some(1) };
    assert_eq!(bench.run("ana", late).answer, Ok(Outcome::Released { released: false, repeated: false }));
    assert_eq!(bench.grant().fence, fence);
    let own = Action::Release { fence, claim: Some(2) };
    assert_eq!(bench.run("ana", own).answer, Ok(Outcome::Released { released: true, repeated: false }));
}

#[test]
fn an_override_ends_the_lease_and_raises_the_fence() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    let decision = bench.run("admin", Action::ForceClaim { reason: "ana is on holiday".to_owned(), fence: None });
    assert_eq!(decision.answer, Ok(Outcome::Claimed { renewed: false }));
    assert!(bench.grant().fence > fence);
    match bench.beat("ana", fence) {
        Err(Refused::Lost { ending: Some(end) }) => {
            assert_eq!((end.reason, end.cause), (Reason::Forced, Cause::Override));
            assert_eq!(end.by, Some(holder("admin").user));
            assert_eq!(end.note.as_deref(), Some("ana is on holiday"));
        }
        other => panic!("expected the ending of the override, got {other:?}"),
    }
}

#[test]
fn override_by_the_holder_renews_and_keeps_the_fence() {
    let mut bench = Bench::new();
    let fence = bench.claimed("admin");
    let decision = bench.run("admin", Action::ForceClaim { reason: "to be sure".to_owned(), fence: None });
    assert_eq!(decision.answer, Ok(Outcome::Claimed { renewed: true }));
    assert_eq!(bench.grant().fence, fence);
}

#[test]
fn force_release_of_a_free_lease_changes_nothing() {
    let mut bench = Bench::new();
    let reason = "just in case".to_owned();
    let decision = bench.run("admin", Action::ForceRelease { reason, fence: None });
    assert_eq!((decision.answer, decision.changed), (Ok(Outcome::ForceReleased { changed: false }), false));
}

#[test]
fn expired_ownership_leaves_one_history_entry_at_its_expiry() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    bench.pass(45_000);
    let decision = bench.run("luis", Action::Claim { ttl: None, wait: false });
    let [end] = &decision.ended[..] else { panic!("one ownership ended: {:?}", decision.ended) };
    assert_eq!((end.at, end.reason), (START + Span(30_000), Reason::Expired), "the time of expiry, not of the command");
    assert_eq!(bench.grant().locked_at, START + Span(45_000));
}

#[test]
fn expired_lease_stays_ended_after_the_clock_steps_back() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.pass(30_000);
    let decision = bench.run("ana", Action::Heartbeat { fence, idle: None, worked: false });
    assert!(decision.changed, "the end is stored, so that a clock stepping back cannot revive the lease");
    bench.pass(-20_000);
    assert!(matches!(bench.beat("ana", fence), Err(Refused::Lost { .. })));
}

#[test]
fn release_request_is_stored_until_the_ownership_ends() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    let message = Some("¿me la dejas?".to_owned());
    assert_eq!(
        bench.run("luis", Action::RequestRelease { message }).answer,
        Ok(Outcome::ReleaseRequested { delivered: true })
    );
    assert_eq!(bench.state.requests[0].by, holder("luis"));
    bench.pass(30_000);
    bench.claimed("eva");
    assert!(bench.state.requests.is_empty());
    let fence = bench.grant().fence;
    bench.release("eva", fence).expect("released");
    assert_eq!(
        bench.run("luis", Action::RequestRelease { message: None }).answer,
        Ok(Outcome::ReleaseRequested { delivered: false })
    );
}

#[test]
fn a_ttl_outside_the_policy_is_refused() {
    let mut bench = Bench::new();
    let max = Span::from_secs(3_600);
    for ttl in [Span(99), Span(max.0 + 1)] {
        let answer = bench.run("ana", Action::Claim { ttl: Some(ttl), wait: false }).answer;
        assert_eq!(answer, Err(Refused::TtlOutOfBounds { max }));
    }
}

#[test]
fn policy_check_names_the_time_outside_its_bounds() {
    assert_eq!(Policy::default().check(), Ok(()));
    let none = Policy { offer: Span::ZERO, ..Policy::default() };
    assert_eq!(none.check().map_err(|bad| bad.field), Err("offer_ms"));
    let born_dead = Policy { rolling_timeout: Some(Span(-1)), ..Policy::default() };
    assert_eq!(born_dead.check().map_err(|bad| bad.field), Err("rolling_timeout_ms"));
    let late = Policy { ttl: Span(10_000), ..Policy::default() };
    assert_eq!(late.check().map_err(|bad| (bad.field, bad.max)), Err(("heartbeat_interval_ms", 9_999)));
    assert_eq!(Policy { heartbeat_interval: Span(9_999), ..late }.check(), Ok(()));
}
