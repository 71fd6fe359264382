//! Records failed and refused sign-ins, in the log and in the audit.
//!
//! Audit entries cannot be deleted, so their number is bounded. The first failure of a source at a user is written at
//! once. Further ones are counted, and written once per [`WINDOW`]. If there are more entries than [`BUDGET`] allows, the
//! rest is counted in one entry for all sources.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use turno::Turno;
use turno::access::FailedSignIns;
use turno::core::id::UserId;
use turno::core::time::{Span, Time};

use super::Source;
use crate::http::problem::Code;

/// How long failures of one source at one user are counted before they are written.
const WINDOW: Span = Span::from_secs(60);
/// The audit entries that may be written at once, and the time after which one more may be written: at most 8,640 a day.
const BUDGET: (i64, Span) = (60, Span::from_secs(10));
/// The most sources and users that are counted separately.
const WINDOWS_MAX: usize = 1_000;
/// How often windows that are over are written.
const UPKEEP: Span = Span::from_secs(10);
/// The source of an entry for several sources.
const SEVERAL: &str = "*";

/// Whether an attempt was checked or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// The password was wrong, the user is disabled, or the link is not valid.
    Failed,
    /// The pace refused the attempt.
    Refused,
}

/// The failures of this process that are not in the audit yet.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<Windows>);

#[derive(Debug, Default)]
struct Windows {
    open: HashMap<(String, Option<UserId>), Window>,
    /// Failures beyond the bounds.
    others: Window,
    /// The time until which the written entries are paid for.
    paid_until: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    since: Time,
    /// The failure that opened the window. It is written at once and not counted here.
    first: Option<Failure>,
    failed: u32,
    refused: u32,
}

impl Window {
    fn add(&mut self, failure: Failure) {
        let count = match failure {
            Failure::Failed => &mut self.failed,
            Failure::Refused => &mut self.refused,
        };
        *count = count.saturating_add(1);
    }

    fn is_empty(self) -> bool {
        self.failed == 0 && self.refused == 0
    }

    fn entry(self, source: &str, user: Option<&UserId>) -> FailedSignIns {
        FailedSignIns { user: user.cloned(), source: source.to_owned(), failed: self.failed, refused: self.refused }
    }
}

impl Windows {
    /// Counts a failure. Returns the entry to write at once, if the failure is the first in its window.
    fn add(&mut self, source: &str, user: Option<&UserId>, failure: Failure, now: Time) -> Option<FailedSignIns> {
        let key = (source.to_owned(), user.cloned());
        let is_full = self.open.len() >= WINDOWS_MAX;
        match self.open.get_mut(&key) {
            Some(window) => window.add(failure),
            None if is_full => self.others.add(failure),
            None => {
                self.open.insert(key, Window { since: now, first: Some(failure), ..Window::default() });
                let mut first = Window::default();
                first.add(failure);
                return self.pay(first, source, user, now);
            }
        }
        None
    }

    /// Returns whether the window of this source and user already has a refusal, or has no place of its own.
    fn has_refused(&self, source: &str, user: Option<&UserId>) -> bool {
        match self.open.get(&(source.to_owned(), user.cloned())) {
            Some(window) => window.refused > 0 || window.first == Some(Failure::Refused),
            None => self.open.len() >= WINDOWS_MAX,
        }
    }

    /// Returns the entries of windows that are over, and closes windows without failures.
    fn take_over(&mut self, now: Time, is_over: impl Fn(Window) -> bool) -> Vec<FailedSignIns> {
        let (over, open) = std::mem::take(&mut self.open).into_iter().partition(|(_, window)| is_over(*window));
        self.open = open;
        let over: HashMap<_, _> = over;
        let mut entries = Vec::new();
        for ((source, user), window) in over.into_iter().filter(|(_, window)| !window.is_empty()) {
            entries.extend(self.pay(window, &source, user.as_ref(), now));
            self.open.insert((source, user), Window { since: now, ..Window::default() });
        }
        let others = std::mem::take(&mut self.others);
        if !others.is_empty() {
            entries.extend(self.pay(others, SEVERAL, None, now));
        }
        entries
    }

    /// Returns the entry if the budget allows one more. Otherwise adds its counts to the entry for all sources.
    fn pay(&mut self, window: Window, source: &str, user: Option<&UserId>, now: Time) -> Option<FailedSignIns> {
        let (burst, every) = BUDGET;
        let paid_until = self.paid_until.max(now) + every;
        if now.until(paid_until) > Span(burst * every.0) {
            self.others.failed = self.others.failed.saturating_add(window.failed);
            self.others.refused = self.others.refused.saturating_add(window.refused);
            return None;
        }
        self.paid_until = paid_until;
        Some(window.entry(source, user))
    }
}

impl Failures {
    fn lock(&self) -> MutexGuard<'_, Windows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs a failure and counts it for the audit. The log has every failed attempt, because the pace bounds them, and
    /// the first refused one of a window. The audit entry is written in the background, so that the time of the answer
    /// does not tell whether the user exists.
    pub(crate) fn add(&self, turno: &Turno, source: Source, user: Option<&UserId>, code: Code) {
        let failure = if code == Code::TooMany { Failure::Refused } else { Failure::Failed };
        let source = source.to_string();
        let mut windows = self.lock();
        let is_logged = failure == Failure::Failed || !windows.has_refused(&source, user);
        let entry = windows.add(&source, user, failure, turno.now());
        drop(windows);
        let name = user.map_or("", |user| user.as_str());
        match failure {
            Failure::Failed => {
                tracing::warn!(target: "turno::http", user = name, source, code = code.as_str(), "sign-in failed");
            }
            Failure::Refused if is_logged => {
                tracing::warn!(target: "turno::http", user = name, source, code = code.as_str(), "sign-in refused");
            }
            Failure::Refused => {}
        }
        if let Some(entry) = entry {
            let turno = turno.clone();
            tokio::spawn(async move { write(&turno, entry).await });
        }
    }

    /// Writes the counts of windows that are over. Runs until the server ends.
    pub(crate) async fn upkeep(&self, turno: &Turno) {
        loop {
            tokio::time::sleep(UPKEEP.into()).await;
            let now = turno.now();
            self.flush(turno, |window| window.since + WINDOW <= now).await;
        }
    }

    /// Writes all counts, before the server ends.
    pub(crate) async fn finish(&self, turno: &Turno) {
        self.flush(turno, |_| true).await;
    }

    async fn flush(&self, turno: &Turno, is_over: impl Fn(Window) -> bool) {
        let entries = self.lock().take_over(turno.now(), is_over);
        for entry in entries {
            if entry.refused > 0 {
                let user = entry.user.as_ref().map_or("", |user| user.as_str());
                let (source, count) = (entry.source.as_str(), entry.refused);
                tracing::warn!(target: "turno::http", user, source, count, "sign-in refused");
            }
            write(turno, entry).await;
        }
    }
}

async fn write(turno: &Turno, entry: FailedSignIns) {
    if let Err(error) = turno.record_failed_sign_ins(entry).await {
        tracing::warn!(target: "turno::http", %error, "failed sign-ins are missing in the audit");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time(1_000_000);

    fn ana() -> Option<UserId> {
        Some(UserId::new("ana").expect("a valid id"))
    }

    #[test]
    fn failures_of_a_minute_are_two_entries_with_counts() {
        let mut windows = Windows::default();
        let first = windows.add("192.0.2.7", ana().as_ref(), Failure::Failed, START).expect("the first is written");
        assert_eq!((first.failed, first.refused, first.user, first.source.as_str()), (1, 0, ana(), "192.0.2.7"));
        for _ in 0..19 {
            assert_eq!(windows.add("192.0.2.7", ana().as_ref(), Failure::Failed, START), None);
        }
        for _ in 0..1_000 {
            assert_eq!(windows.add("192.0.2.7", ana().as_ref(), Failure::Refused, START), None);
        }
        let minute = START + WINDOW;
        let is_over = |now: Time| move |window: Window| window.since + WINDOW <= now;
        assert_eq!(windows.take_over(minute, |window| window.since + WINDOW < minute), []);
        let [rest] = &windows.take_over(minute, is_over(minute))[..] else { panic!("one entry") };
        assert_eq!((rest.failed, rest.refused), (19, 1_000));
        assert_eq!(windows.take_over(minute + WINDOW, is_over(minute + WINDOW)), [], "nothing happened since");
        assert!(windows.open.is_empty(), "the window is forgotten");
    }

    #[test]
    fn entries_of_a_day_are_bounded_whatever_the_number_of_sources() {
        let mut windows = Windows::default();
        let (mut written, mut counted) = (0, 0_u64);
        let minutes = 24 * 60;
        for minute in 0..minutes {
            let now = START + Span(minute * WINDOW.0);
            let mut entries = windows.take_over(now, |window| window.since + WINDOW <= now);
            entries.extend((0..500).filter_map(|n| {
                windows.add(&format!("10.{}.{}.{}", minute / 250, minute % 250, n % 250), None, Failure::Failed, now)
            }));
            written += entries.len();
            counted += entries.iter().map(|entry| u64::from(entry.failed)).sum::<u64>();
            assert!(windows.open.len() <= WINDOWS_MAX);
        }
        assert!(written <= 8_640 + 60, "{written}");
        let rest = windows.take_over(START + Span(minutes * WINDOW.0 + 600_000), |_| true);
        counted += rest.iter().map(|entry| u64::from(entry.failed)).sum::<u64>();
        counted += u64::from(windows.others.failed);
        assert_eq!(counted, 500 * minutes.unsigned_abs(), "every failure is counted");
    }
}
