//! How an ownership ended, in the words of the API, and the answer to a former holder.

use super::{Beat, Cause, Ending, Holder, Reason, State};
use crate::id::UserId;
use crate::time::Time;

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 3] = [Reason::Expired, Reason::Released, Reason::Forced];

    /// Returns its name in the API and in the databases.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Expired => "expired",
            Reason::Released => "released",
            Reason::Forced => "forced",
        }
    }
}

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 6] =
        [Cause::NoHeartbeat, Cause::Idle, Cause::RollingTimeout, Cause::Override, Cause::UserDisabled, Cause::Released];

    /// Returns its name in the API and in the databases.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::NoHeartbeat => "no_heartbeat",
            Cause::Idle => "idle",
            Cause::RollingTimeout => "rolling_timeout",
            Cause::Override => "override",
            Cause::UserDisabled => "user_disabled",
            Cause::Released => "released",
        }
    }
}

impl Beat {
    /// Returns whether the heartbeat renewed the lease.
    pub fn renewed(self) -> bool {
        self == Beat::Renewed
    }

    /// Returns why the heartbeat did not renew the lease.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Beat::Renewed => None,
            Beat::Idle => Some(Cause::Idle.as_str()),
            Beat::RollingTimeout => Some(Cause::RollingTimeout.as_str()),
        }
    }
}

/// How an ownership ended, as its former holder sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost<'a> {
    /// `expired`, `taken`, `released` or `forced`. `taken` means that it expired and another holder has the lease now.
    pub reason: &'static str,
    /// Why it ended. `None` if the ownership never existed, or ended before the oldest stored history.
    pub cause: Option<&'static str>,
    /// The user who forced the end.
    pub by: Option<&'a UserId>,
    /// The override's reason.
    pub note: Option<&'a str>,
}

impl<'a> Lost<'a> {
    /// Describes the end of an ownership of `who`, from its stored ending, if there is one, and the lease at `now`.
    pub fn describe(ending: Option<&'a Ending>, state: &State, who: &Holder, now: Time) -> Lost<'a> {
        let others = state.live(now).is_some_and(|grant| !grant.holder.is(who));
        let reason = match ending.map_or(Reason::Expired, |ending| ending.reason) {
            Reason::Expired if others => "taken",
            reason => reason.as_str(),
        };
        Lost {
            reason,
            cause: ending.map(|ending| ending.cause.as_str()),
            by: ending.and_then(|ending| ending.by.as_ref()),
            note: ending.and_then(|ending| ending.note.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Fence, Instance, Numbers, Resource};
    use crate::lease::{Action, Command, Outcome, Policy, Refused, decide};
    use crate::time::Span;

    fn holder(user: &str) -> Holder {
        Holder { user: UserId::new(user).expect("valid"), name: user.to_uppercase(), instance: None }
    }

    /// One resource, with a clock that the test moves.
    struct Bench {
        state: State,
        now: Time,
        next: i64,
    }

    impl Bench {
        fn new() -> Bench {
            Bench { state: State::unseen(Resource::new("r").expect("valid")), now: Time(1_000), next: 1 }
        }

        fn ask(&mut self, who: &Holder, action: Action) -> Result<Outcome, Refused> {
            let rolling_timeout = Some(Span::from_secs(100));
            let policy = Policy { rolling_timeout, idle_guard: Some(Span::from_secs(20)), ..Policy::default() };
            let command =
                Command { resource: self.state.resource.clone(), who: who.clone(), via: None, policy, action };
            let mut numbers = Numbers::new(vec![self.next]);
            self.next += 1;
            decide(&mut self.state, &command, self.now, &mut numbers).answer
        }

        fn claim(&mut self, who: &Holder) -> Fence {
            self.ask(who, Action::Claim { ttl: None, wait: false }).expect("free");
            self.state.grant.as_ref().expect("claimed").fence
        }

        fn beat(&mut self, who: &Holder, fence: Fence, idle: i64) -> Result<Outcome, Refused> {
            self.ask(who, Action::Heartbeat { fence, idle: Some(Span::from_secs(idle)), worked: false })
        }

        /// Sends a late heartbeat and renders its refusal in one line.
        fn describe_loss(&mut self, who: &Holder, fence: Fence) -> String {
            let Err(Refused::Lost { ending }) = self.beat(who, fence, 0) else {
                return "not lost".to_owned();
            };
            let Lost { reason, cause, by, note } = Lost::describe(ending.as_ref(), &self.state, who, self.now);
            let by = by.map_or("-", UserId::as_str);
            format!("{reason} {} {by} {}", cause.unwrap_or("-"), note.unwrap_or("-"))
        }
    }

    #[test]
    fn late_heartbeat_is_refused_with_how_the_ownership_ended() {
        let (ana, eva) = (holder("ana"), holder("eva"));
        let mut bench = Bench::new();
        let fence = bench.claim(&ana);
        bench.now = bench.now + Span::from_secs(30);
        assert_eq!(bench.describe_loss(&ana, fence), "expired no_heartbeat - -");
        let fence = bench.claim(&ana);
        bench.ask(&ana, Action::Release { fence, claim: None }).expect("Ana holds it");
        assert_eq!(bench.describe_loss(&ana, fence), "released released - -");
        let fence = bench.claim(&ana);
        bench.ask(&eva, Action::ForceRelease { reason: "lunch".to_owned(), fence: None }).expect("may");
        assert_eq!(bench.describe_loss(&ana, fence), "forced override eva lunch");
        let fence = bench.claim(&ana);
        bench.ask(&eva, Action::ForceClaim { reason: "mine".to_owned(), fence: None }).expect("may");
        assert_eq!(bench.describe_loss(&ana, fence), "forced override eva mine", "not taken");
        bench.ask(&eva, Action::ForceRelease { reason: String::new(), fence: None }).expect("may");
        let fence = bench.claim(&ana);
        bench.ask(&eva, Action::Expel { user: ana.user.clone() }).expect("may");
        assert_eq!(bench.describe_loss(&ana, fence), "forced user_disabled eva -");
    }

    #[test]
    fn expired_ownership_is_reported_as_taken_once_another_holder_claims() {
        let (ana, luis) = (holder("ana"), holder("luis"));
        let mut bench = Bench::new();
        let fence = bench.claim(&ana);
        bench.now = bench.now + Span::from_secs(31);
        bench.claim(&luis);
        assert_eq!(bench.describe_loss(&ana, fence), "taken no_heartbeat - -");
        bench.now = bench.now + Span::from_secs(31);
        let newer = bench.claim(&ana);
        assert_eq!(bench.describe_loss(&ana, fence), "expired - - -", "her own claim is no taking");
        assert_eq!(bench.describe_loss(&luis, newer), "taken - - -", "Luis never had this fence");
        let tab = Holder { instance: Some(Instance::new("tab").expect("valid")), ..ana };
        assert_eq!(bench.describe_loss(&tab, newer), "taken - - -", "another instance is another holder");
    }

    #[test]
    fn heartbeat_and_loss_both_name_idleness_and_the_rolling_timeout() {
        let ana = holder("ana");
        let mut bench = Bench::new();
        let fence = bench.claim(&ana);
        let Ok(Outcome::Beat(idle)) = bench.beat(&ana, fence, 20) else { panic!("Ana holds it") };
        assert_eq!((idle.renewed(), idle.reason()), (false, Some("idle")));
        bench.now = bench.now + Span::from_secs(30);
        assert_eq!(bench.describe_loss(&ana, fence), "expired idle - -");

        let fence = bench.claim(&ana);
        let mut last = Beat::Idle;
        while let Ok(Outcome::Beat(beat)) = bench.beat(&ana, fence, 0) {
            last = beat;
            bench.now = bench.now + Span::from_secs(10);
        }
        assert_eq!((last.renewed(), last.reason()), (false, Some("rolling_timeout")));
        assert_eq!(bench.describe_loss(&ana, fence), "expired rolling_timeout - -");
        assert!(Beat::Renewed.renewed() && Beat::Renewed.reason().is_none());
    }
}
