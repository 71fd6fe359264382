//! The words for how an ownership ended and how a beat went, as they are told outside.

use super::{Beat, Cause, Ending, Holder, Reason, State};
use crate::id::UserId;
use crate::time::Time;

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 3] = [Reason::Expired, Reason::Released, Reason::Forced];

    /// Its name outside.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Expired => "expired",
            Reason::Released => "released",
            Reason::Forced => "forced",
        }
    }
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 6] =
        [Cause::NoHeartbeat, Cause::Idle, Cause::RollingTimeout, Cause::Override, Cause::UserDisabled, Cause::Released];

    /// Its name outside.
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
    /// Whether the lease lives on by it.
    pub fn renewed(self) -> bool {
        self == Beat::Renewed
    }

    /// Why not.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Beat::Renewed => None,
            Beat::Idle => Some(Cause::Idle.as_str()),
            Beat::RollingTimeout => Some(Cause::RollingTimeout.as_str()),
        }
    }
}

/// What the late one is told about an ownership that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost<'a> {
    /// `expired`; `taken` if it expired and somebody else holds the resource now; `released`; or `forced`.
    pub reason: &'static str,
    /// What led to it; nothing if nobody remembers: the ownership never was, or ended longer ago than histories are kept.
    pub cause: Option<&'static str>,
    /// Who did it, for an override.
    pub by: Option<&'a UserId>,
    /// The override's reason.
    pub note: Option<&'a str>,
}

impl<'a> Lost<'a> {
    /// What `who` is told, from how their ownership ended, as far as that is known, and the lease as it is at `now`.
    pub fn of(ending: Option<&'a Ending>, state: &State, who: &Holder, now: Time) -> Lost<'a> {
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

    /// A resource that things happen to, second by second.
    struct Desk {
        state: State,
        now: Time,
        next: i64,
    }

    impl Desk {
        fn new() -> Desk {
            Desk { state: State::unseen(Resource::new("r").expect("valid")), now: Time(1_000), next: 1 }
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

        /// What a late heartbeat is told, in one line.
        fn told(&mut self, who: &Holder, fence: Fence) -> String {
            let Err(Refused::Lost { ending }) = self.beat(who, fence, 0) else {
                return "not lost".to_owned();
            };
            let Lost { reason, cause, by, note } = Lost::of(ending.as_ref(), &self.state, who, self.now);
            let by = by.map_or("-", UserId::as_str);
            format!("{reason} {} {by} {}", cause.unwrap_or("-"), note.unwrap_or("-"))
        }
    }

    #[test]
    fn the_late_one_is_told_how_it_ended() {
        let (ana, eva) = (holder("ana"), holder("eva"));
        let mut desk = Desk::new();
        let fence = desk.claim(&ana);
        desk.now = desk.now + Span::from_secs(30);
        assert_eq!(desk.told(&ana, fence), "expired no_heartbeat - -");
        let fence = desk.claim(&ana);
        desk.ask(&ana, Action::Release { fence, claim: None }).expect("hers");
        assert_eq!(desk.told(&ana, fence), "released released - -");
        let fence = desk.claim(&ana);
        desk.ask(&eva, Action::ForceRelease { reason: "lunch".to_owned(), fence: None }).expect("may");
        assert_eq!(desk.told(&ana, fence), "forced override eva lunch");
        let fence = desk.claim(&ana);
        desk.ask(&eva, Action::ForceClaim { reason: "mine".to_owned(), fence: None }).expect("may");
        assert_eq!(desk.told(&ana, fence), "forced override eva mine", "forced, though somebody holds it now");
        desk.ask(&eva, Action::ForceRelease { reason: String::new(), fence: None }).expect("may");
        let fence = desk.claim(&ana);
        desk.ask(&eva, Action::Expel { user: ana.user.clone() }).expect("may");
        assert_eq!(desk.told(&ana, fence), "forced user_disabled eva -");
    }

    #[test]
    fn what_expired_is_taken_once_somebody_else_holds_it() {
        let (ana, luis) = (holder("ana"), holder("luis"));
        let mut desk = Desk::new();
        let fence = desk.claim(&ana);
        desk.now = desk.now + Span::from_secs(31);
        desk.claim(&luis);
        assert_eq!(desk.told(&ana, fence), "taken no_heartbeat - -");
        desk.now = desk.now + Span::from_secs(31);
        let newer = desk.claim(&ana);
        assert_eq!(desk.told(&ana, fence), "expired - - -", "her own newer one has not taken it, and the row forgot");
        assert_eq!(desk.told(&luis, newer), "taken - - -", "it never was his");
        let tab = Holder { instance: Some(Instance::new("tab").expect("valid")), ..ana };
        assert_eq!(desk.told(&tab, newer), "taken - - -", "another instance is somebody else");
    }

    #[test]
    fn idleness_and_the_rolling_timeout_are_named_before_and_after() {
        let ana = holder("ana");
        let mut desk = Desk::new();
        let fence = desk.claim(&ana);
        let Ok(Outcome::Beat(idle)) = desk.beat(&ana, fence, 20) else { panic!("hers") };
        assert_eq!((idle.renewed(), idle.reason()), (false, Some("idle")));
        desk.now = desk.now + Span::from_secs(30);
        assert_eq!(desk.told(&ana, fence), "expired idle - -");

        let fence = desk.claim(&ana);
        let mut last = Beat::Idle;
        while let Ok(Outcome::Beat(beat)) = desk.beat(&ana, fence, 0) {
            last = beat;
            desk.now = desk.now + Span::from_secs(10);
        }
        assert_eq!((last.renewed(), last.reason()), (false, Some("rolling_timeout")));
        assert_eq!(desk.told(&ana, fence), "expired rolling_timeout - -");
        assert!(Beat::Renewed.renewed() && Beat::Renewed.reason().is_none());
    }
}
