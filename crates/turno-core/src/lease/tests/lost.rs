//! Tests of the words in which a former holder learns how the ownership ended.

use super::*;

fn bench() -> Bench {
    let rolling_timeout = Some(Span::from_secs(100));
    Bench::with(Policy { rolling_timeout, idle_guard: Some(Span::from_secs(20)), ..Policy::default() })
}

impl Bench {
    /// Sends a late heartbeat and renders its refusal in one line.
    fn describe_loss(&mut self, who: &Holder, fence: Fence) -> String {
        let late = Action::Heartbeat { fence, idle: Some(Span::ZERO), worked: false };
        let Err(Refused::Lost { ending }) = self.run_as(who, late).answer else {
            return "not lost".to_owned();
        };
        let Lost { reason, cause, by, note } = Lost::describe(ending.as_ref(), &self.state, who, self.now);
        let by = by.map_or("-", UserId::as_str);
        format!("{reason} {} {by} {}", cause.unwrap_or("-"), note.unwrap_or("-"))
    }
}

#[test]
fn late_heartbeat_is_refused_with_how_the_ownership_ended() {
    let ana = holder("ana");
    let mut bench = bench();
    let fence = bench.claimed("ana");
    bench.pass(30_000);
    assert_eq!(bench.describe_loss(&ana, fence), "expired no_heartbeat - -");
    let fence = bench.claimed("ana");
    bench.run("ana", Action::Release { fence, claim: None }).answer.expect("Ana holds it");
    assert_eq!(bench.describe_loss(&ana, fence), "released released - -");
    let fence = bench.claimed("ana");
    bench.run("eva", Action::ForceRelease { reason: "lunch".to_owned(), fence: None }).answer.expect("may");
    assert_eq!(bench.describe_loss(&ana, fence), "forced override eva lunch");
    let fence = bench.claimed("ana");
    bench.run("eva", Action::ForceClaim { reason: "mine".to_owned(), fence: None }).answer.expect("may");
    assert_eq!(bench.describe_loss(&ana, fence), "forced override eva mine", "not taken");
    bench.run("eva", Action::ForceRelease { reason: String::new(), fence: None }).answer.expect("may");
    let fence = bench.claimed("ana");
    bench.run("eva", Action::Expel { user: ana.user.clone() }).answer.expect("may");
    assert_eq!(bench.describe_loss(&ana, fence), "forced user_disabled eva -");
}

#[test]
fn expired_ownership_is_reported_as_taken_once_another_holder_claims() {
    let (ana, luis) = (holder("ana"), holder("luis"));
    let mut bench = bench();
    let fence = bench.claimed("ana");
    bench.pass(31_000);
    bench.claimed("luis");
    assert_eq!(bench.describe_loss(&ana, fence), "taken no_heartbeat - -");
    bench.pass(31_000);
    let newer = bench.claimed("ana");
    assert_eq!(bench.describe_loss(&ana, fence), "expired - - -", "her own claim is no taking");
    assert_eq!(bench.describe_loss(&luis, newer), "taken - - -", "Luis never had this fence");
    let tab = Holder { instance: Some(Instance::new("tab").expect("valid")), ..ana };
    assert_eq!(bench.describe_loss(&tab, newer), "taken - - -", "another instance is another holder");
}

#[test]
fn heartbeat_and_loss_both_name_idleness_and_the_rolling_timeout() {
    let ana = holder("ana");
    let mut bench = bench();
    let fence = bench.claimed("ana");
    let Ok(Outcome::Beat(idle)) = bench.beat_idle(Span::from_secs(20)) else { panic!("Ana holds it") };
    assert_eq!((idle.renewed(), idle.reason()), (false, Some("idle")));
    bench.pass(30_000);
    assert_eq!(bench.describe_loss(&ana, fence), "expired idle - -");

    let fence = bench.claimed("ana");
    let mut last = Beat::Idle;
    while let Ok(Outcome::Beat(beat)) = bench.beat_idle(Span::ZERO) {
        last = beat;
        bench.pass(10_000);
    }
    assert_eq!((last.renewed(), last.reason()), (false, Some("rolling_timeout")));
    assert_eq!(bench.describe_loss(&ana, fence), "expired rolling_timeout - -");
    assert!(Beat::Renewed.renewed() && Beat::Renewed.reason().is_none());
}
