//! Log lines that are never dropped: about leases of people, sessions and tasks.
//!
//! They have their own channel and task, so that a busy queue cannot displace them. If the channel is full, the caller
//! writes the line itself. Equal refusals of one caller within a second become one line with a count, because a
//! program that retries in a loop would otherwise fill the log.

use super::life::{LeaseLine, Line, LineLevel};
use crate::clock::Clock;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinSet;
use turno_core::id::Resource;
use turno_core::lease::Holder;
use turno_core::task::TaskId;
use turno_core::time::{Span, Time};

/// The largest number of waiting lines. Beyond it, the committing task writes them.
const WAITING_MAX: usize = 8_192;
/// How long equal refusals are counted before their line is written.
const WINDOW: Span = Span::from_secs(1);
/// The largest number of different refusals counted at once. Bounds the memory of a burst.
const COUNTED_MAX: usize = 1_024;

/// Returns whether lines about this lease are kept: the lease is a task's, or a person or session holds or wants it.
/// Machines are recognised by their instance.
pub(super) fn is_kept<'a>(resource: &Resource, about: impl IntoIterator<Item = &'a Holder>) -> bool {
    TaskId::from_resource(resource).is_some() || about.into_iter().any(|who| who.instance.is_none())
}

/// Accepts the lines.
#[derive(Clone)]
pub(super) struct LineKeeper(mpsc::Sender<Line>);

impl LineKeeper {
    pub(super) fn start(tasks: &mut JoinSet<()>, clock: Arc<Clock>) -> LineKeeper {
        let (lines, waiting) = mpsc::channel(WAITING_MAX);
        tasks.spawn(Writer { waiting, clock, refusals: Refusals::default() }.run());
        LineKeeper(lines)
    }

    pub(super) fn send(&self, line: Line) {
        match self.0.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(line) | TrySendError::Closed(line)) => line.write(LineLevel::Info, None),
        }
    }
}

/// Writes the lines, and the remaining ones when it is dropped.
struct Writer {
    waiting: mpsc::Receiver<Line>,
    clock: Arc<Clock>,
    refusals: Refusals,
}

impl Writer {
    async fn run(mut self) {
        loop {
            let due = self.refusals.due();
            tokio::select! {
                line = self.waiting.recv() => match line {
                    Some(line) => write(self.refusals.add(line, self.clock.estimate())),
                    None => return,
                },
                () = self.clock.sleep_until(due.unwrap_or_default()), if due.is_some() => {
                    write(self.refusals.take_due(self.clock.estimate()));
                }
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        while let Ok(line) = self.waiting.try_recv() {
            write(self.refusals.add(line, Time::default()));
        }
        write(self.refusals.take_due(Time(i64::MAX)));
    }
}

/// A line, and how often it happened if it is a refusal.
type Counted = (Line, Option<u64>);

fn write(lines: Vec<Counted>) {
    lines.into_iter().for_each(|(line, count)| line.write(LineLevel::Info, count));
}

/// Refusals that are being counted, oldest first.
#[derive(Default)]
struct Refusals(VecDeque<(Time, Box<LeaseLine>, u64)>);

impl Refusals {
    /// Adds a line and returns the lines to write now. A line about a resource comes after the earlier refusals on it.
    fn add(&mut self, line: Line, now: Time) -> Vec<Counted> {
        let mut written = Vec::new();
        let line = match line {
            Line::Lease(line) if line.is_refusal() => line,
            line => {
                if let Some(resource) = line.resource() {
                    self.take(|refusal| refusal.resource() == resource, &mut written);
                }
                written.push((line, None));
                return written;
            }
        };
        if let Some((_, latest, count)) = self.0.iter_mut().find(|(_, refusal, _)| refusal.equals(&line)) {
            (*latest, *count) = (line, *count + 1);
            return written;
        }
        if self.0.len() == COUNTED_MAX {
            self.take(|_| true, &mut written);
        }
        self.0.push_back((now + WINDOW, line, 1));
        written
    }

    /// Removes and returns the refusals whose window is over.
    fn take_due(&mut self, now: Time) -> Vec<Counted> {
        let mut written = Vec::new();
        while self.due().is_some_and(|due| due <= now) {
            written.extend(self.0.pop_front().map(|(_, line, count)| (Line::Lease(line), Some(count))));
        }
        written
    }

    /// Returns when the oldest window is over.
    fn due(&self) -> Option<Time> {
        self.0.front().map(|(due, ..)| *due)
    }

    fn take(&mut self, wanted: impl Fn(&LeaseLine) -> bool, written: &mut Vec<Counted>) {
        for (due, line, count) in std::mem::take(&mut self.0) {
            if wanted(&line) {
                written.push((Line::Lease(line), Some(count)));
            } else {
                self.0.push_back((due, line, count));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::life;
    use super::*;
    use turno_core::id::{Fence, UserId};
    use turno_core::lease::{Action, Command, Outcome, Policy, Refused};

    fn line(user: &str, resource: &str, answer: &Result<Outcome, Refused>) -> Line {
        let who = Holder { user: UserId::new(user).unwrap(), name: String::new(), instance: None };
        let action = Action::Heartbeat { fence: Fence(3), idle: None, worked: false };
        let resource = Resource::new(resource).unwrap();
        let command = Command { resource, who, via: None, policy: Policy::default(), action };
        let message = life::lease_message(&command, answer).unwrap_or(("lease claimed", None));
        Line::for_lease(message, &command, answer, None)
    }

    fn lost(user: &str, resource: &str) -> Line {
        line(user, resource, &Err(Refused::Lost { ending: None }))
    }

    fn counts(written: &[Counted]) -> Vec<Option<u64>> {
        written.iter().map(|(_, count)| *count).collect()
    }

    #[test]
    fn equal_refusals_of_a_caller_within_a_second_become_one_line_with_a_count() {
        let mut refusals = Refusals::default();
        for at in 0..5 {
            assert!(refusals.add(lost("ana", "a"), Time(at * 100)).is_empty());
        }
        refusals.add(lost("leo", "a"), Time(450));
        refusals.add(lost("ana", "b"), Time(450));
        assert!(refusals.take_due(Time(999)).is_empty());
        assert_eq!(counts(&refusals.take_due(Time(1_000))), [Some(5)]);
        assert_eq!(
            counts(&refusals.take_due(Time(1_450))),
            [Some(1), Some(1)],
            "another caller and another resource are counted apart"
        );
        assert_eq!(refusals.due(), None);
    }

    #[test]
    fn a_line_about_a_resource_comes_after_its_earlier_refusals() {
        let mut refusals = Refusals::default();
        refusals.add(lost("ana", "a"), Time(0));
        refusals.add(lost("ana", "b"), Time(0));
        let claimed = refusals.add(line("leo", "a", &Ok(Outcome::Claimed { renewed: false })), Time(10));
        assert_eq!(counts(&claimed), [Some(1), None]);
        assert_eq!(counts(&refusals.take_due(Time(5_000))), [Some(1)]);
    }

    #[test]
    fn refusals_beyond_the_bound_are_written_at_once() {
        let mut refusals = Refusals::default();
        let all = COUNTED_MAX + 1;
        let written: usize = (0..all).map(|n| refusals.add(lost("ana", &format!("r{n}")), Time(0)).len()).sum();
        assert_eq!(written + refusals.take_due(Time(1_000)).len(), all);
    }

    #[test]
    fn lines_about_leases_of_people_and_tasks_are_kept_and_of_machines_are_not() {
        let holder = |instance: Option<&str>| Holder {
            user: UserId::new("x").unwrap(),
            name: String::new(),
            instance: instance.map(|name| turno_core::id::Instance::new(name).unwrap()),
        };
        let (machine, person) = (holder(Some("w1")), holder(None));
        let (task, file) = (TaskId(7).resource(), Resource::new("file:a").unwrap());
        assert!(is_kept(&task, [&machine]) && is_kept(&file, [&person]));
        assert!(is_kept(&file, [&machine, &person]), "a machine was refused because a person holds the lease");
        assert!(!is_kept(&file, [&machine, &machine]));
    }
}
