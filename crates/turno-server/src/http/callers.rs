//! Limits per caller, so that one caller cannot use up what all callers share (S2).
//!
//! A caller is an account, a machine's instance, the user of minted sessions, or the user of `Turno-Actor` (see
//! [`CallerId`]). Its requests under way, claims, streams and live leases are counted on this server only. A caller at
//! a limit is refused with 429, whatever room other callers leave. Counters, not rates: a slow request costs as much as
//! many fast ones.

mod leases;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::caller::CallerId;
use super::problem::{Code, Problem};
use super::room::Room;
use crate::config::CallerLimits;
pub(crate) use leases::LeasePlaces;
use leases::Leases;

/// Callers without anything under way are removed when the map has this many entries, and again when it has twice the
/// remaining ones.
const SWEEP_MIN: usize = 64;
/// The callers that metrics and the console show.
const SHOWN: usize = 10;

/// A quantity that has a limit per caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Requests,
    Reserved,
    Waiting,
    Streams,
    Leases,
    Connections,
}

impl Limit {
    /// One limit per setting.
    pub(super) const ALL: [Limit; 5] =
        [Limit::Requests, Limit::Waiting, Limit::Streams, Limit::Leases, Limit::Connections];

    fn of_room(room: Room) -> Option<Limit> {
        match room {
            Room::Free => None,
            Room::Reserved => Some(Limit::Reserved),
            Room::Usual => Some(Limit::Requests),
            Room::Waiting => Some(Limit::Waiting),
            Room::Stream => Some(Limit::Streams),
        }
    }

    pub(super) fn setting(self) -> &'static str {
        match self {
            Limit::Requests | Limit::Reserved => "limits.requests_per_caller",
            Limit::Waiting => "limits.waiting_per_caller",
            Limit::Streams => "limits.streams_per_caller",
            Limit::Leases => "limits.leases_per_caller",
            Limit::Connections => "limits.connections_per_source",
        }
    }
}

/// The callers of one server.
#[derive(Debug)]
pub(crate) struct Callers {
    limits: CallerLimits,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    by_id: HashMap<CallerId, Arc<Usage>>,
    sweep_at: usize,
}

/// What one caller has under way.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    requests: AtomicUsize,
    reserved: AtomicUsize,
    waiting: AtomicUsize,
    streams: AtomicUsize,
    leases: Leases,
}

/// A request under way. Ends when dropped.
#[derive(Debug)]
pub(crate) struct CallerPlace {
    usage: Arc<Usage>,
    kind: Limit,
}

/// The figures of one caller, for metrics and the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallerFigures {
    pub(crate) caller: String,
    pub(crate) requests: usize,
    pub(crate) waiting: usize,
    pub(crate) streams: usize,
    pub(crate) leases: usize,
}

impl Callers {
    pub(crate) fn new(limits: CallerLimits) -> Callers {
        Callers { limits, known: Mutex::new(Known { by_id: HashMap::new(), sweep_at: SWEEP_MIN }) }
    }

    /// Returns the counters of a caller. Keep them for as long as the caller uses something.
    pub(super) fn usage(&self, caller: CallerId) -> Arc<Usage> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.by_id.len() >= known.sweep_at {
            known.by_id.retain(|_, usage| Arc::strong_count(usage) > 1 || usage.leases.live() > 0);
            known.sweep_at = known.by_id.len().saturating_mul(2).max(SWEEP_MIN);
        }
        known.by_id.entry(caller).or_default().clone()
    }

    /// Counts a request until the returned place is dropped. Refuses it if the caller has as many under way as it may.
    pub(super) fn enter(&self, usage: &Arc<Usage>, room: Room) -> Result<Option<CallerPlace>, Problem> {
        let Some(kind) = Limit::of_room(room) else { return Ok(None) };
        let before = usage.counter(kind).fetch_add(1, Ordering::Relaxed);
        let place = CallerPlace { usage: usage.clone(), kind };
        let most = match kind {
            Limit::Requests => self.limits.requests,
            // Their room is four times as large too.
            Limit::Reserved => self.limits.requests.saturating_mul(4),
            Limit::Waiting => self.limits.waiting,
            Limit::Streams => self.limits.streams,
            Limit::Leases | Limit::Connections => 0,
        };
        if most > 0 && before >= most { Err(refusal(kind)) } else { Ok(Some(place)) }
    }

    /// Reserves places for leases that a caller claims. Returns how many of `wanted` fit.
    pub(super) fn claim_leases(&self, usage: &Arc<Usage>, wanted: usize) -> LeasePlaces {
        LeasePlaces::reserve(usage, wanted, self.limits.leases)
    }

    /// Returns the callers with the most under way.
    pub(crate) fn largest(&self) -> Vec<CallerFigures> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<CallerFigures> = known.by_id.iter().map(|(id, usage)| usage.figures(id)).collect();
        drop(known);
        let weight = |figures: &CallerFigures| figures.requests + figures.waiting + figures.streams + figures.leases;
        all.retain(|figures| weight(figures) > 0);
        all.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.caller.cmp(&b.caller)));
        all.truncate(SHOWN);
        all
    }
}

/// Reports that a caller is at a limit, and counts the refusal.
pub(super) fn refusal(kind: Limit) -> Problem {
    metrics::counter!("turno_caller_refused_total", "limit" => kind.setting()).increment(1);
    Problem::new(Code::TooMany).with("limit", kind.setting())
}

impl Usage {
    fn counter(&self, kind: Limit) -> &AtomicUsize {
        match kind {
            Limit::Requests | Limit::Leases | Limit::Connections => &self.requests,
            Limit::Reserved => &self.reserved,
            Limit::Waiting => &self.waiting,
            Limit::Streams => &self.streams,
        }
    }

    fn figures(&self, id: &CallerId) -> CallerFigures {
        let count = |kind| self.counter(kind).load(Ordering::Relaxed);
        CallerFigures {
            caller: id.to_string(),
            requests: count(Limit::Requests) + count(Limit::Reserved),
            waiting: count(Limit::Waiting),
            streams: count(Limit::Streams),
            leases: self.leases.live(),
        }
    }

    pub(super) fn leases(&self) -> &Leases {
        &self.leases
    }
}

impl Drop for CallerPlace {
    fn drop(&mut self) {
        self.usage.counter(self.kind).fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> CallerId {
        CallerId::user(name.try_into().expect("a valid id"))
    }

    fn callers(most: usize) -> Callers {
        Callers::new(CallerLimits { streams: most, waiting: most, requests: most, leases: most, connections: most })
    }

    #[test]
    fn caller_at_a_limit_is_refused_and_others_are_not() {
        let callers = callers(2);
        let (ana, leo) = (callers.usage(caller("ana")), callers.usage(caller("leo")));
        let places = [Room::Stream, Room::Stream].map(|room| callers.enter(&ana, room).expect("within the limit"));
        let refused = callers.enter(&ana, Room::Stream).expect_err("ana has two streams");
        assert_eq!(refused.code(), Code::TooMany);
        assert!(callers.enter(&leo, Room::Stream).is_ok() && callers.enter(&ana, Room::Reserved).is_ok());
        drop(places);
        assert!(callers.enter(&ana, Room::Stream).is_ok(), "a refusal and an end free the place");
    }

    #[test]
    fn limit_of_zero_refuses_no_request() {
        let callers = callers(0);
        let ana = callers.usage(caller("ana"));
        let places: Vec<_> = (0..1_000).map(|_| callers.enter(&ana, Room::Waiting)).collect();
        assert!(places.iter().all(Result::is_ok));
        assert_eq!(callers.largest()[0].waiting, 1_000);
    }

    #[test]
    fn callers_without_anything_under_way_are_forgotten() {
        let callers = callers(1);
        for n in 0..1_000 {
            let usage = callers.usage(caller(&format!("u{n}")));
            drop(callers.enter(&usage, Room::Usual).expect("within the limit"));
        }
        assert!(callers.known.lock().expect("not poisoned").by_id.len() <= SWEEP_MIN);
        assert_eq!(callers.largest(), []);
    }

    #[test]
    fn at_most_ten_callers_are_shown_largest_first() {
        let callers = callers(0);
        let places: Vec<_> = (1..=20)
            .flat_map(|n| {
                let usage = callers.usage(caller(&format!("u{n}")));
                (0..n).map(|_| callers.enter(&usage, Room::Waiting)).collect::<Vec<_>>()
            })
            .collect();
        let shown = callers.largest();
        assert_eq!((shown.len(), shown[0].caller.as_str(), shown[0].waiting), (10, "u20", 20));
        drop(places);
    }
}
