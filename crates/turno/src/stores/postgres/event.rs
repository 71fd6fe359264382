//! Events: giving positions to committed events, and reading them.
//!
//! Numbers in `event_in` are given while transactions run, but rows become visible at commit, in another order. A
//! reader with such a number as its cursor would skip events that commit late. A reader that waits for all running
//! transactions would stand still while any of them idles. So one sequencer at a time moves committed events into the
//! log, and only the position that it gives is a cursor.
//!
//! Moved rows leave dead entries at the beginning of the index while any transaction keeps an old snapshot, so a run
//! starts at a floor. The floor is a hint of this process: a row below the floor is moved later, and never lost.

use super::PostgresStore;
use super::call::Call;
use super::error::TripError;
use super::life::Remembered;
use super::row::{garbled, get, maybe_name};
use super::slot::Slot;
use super::sql;
use crate::store::{EventSpan, EventStore, Pending, Sequenced};
use std::collections::VecDeque;
use tokio_postgres::Row;
use turno_core::event::{Event, Topic};
use turno_core::id::{Fence, Position, UserId};
use turno_core::time::{Span, Time};

/// The most events moved at once: some milliseconds of work, during which other events wait for their positions.
const AT_ONCE: i64 = 1_000;
/// How far a run looks back. A number is given and committed in one trip, but some take longer. This exceeds the time a
/// transaction may wait for locks or idle, so that a late commit still comes before decisions made after it.
const BACK: Span = Span::from_secs(25);
/// The longest time for which a row below the floor can be missed.
const FULL_EVERY: Span = Span::from_secs(30);
/// The time between two marks, which bounds their number.
const MARK_EVERY: Span = Span(500);

/// The sequencer's own connection, and its floor.
#[derive(Default)]
pub(super) struct Sequencer {
    pub(super) slot: Slot,
    floor: Remembered<Floor>,
}

/// The highest event number that was moved or given, at some moments of the last seconds.
#[derive(Debug, Default)]
struct Floor {
    marks: VecDeque<(Time, i64)>,
    full: Time,
}

impl Floor {
    /// Returns the number behind which a run at `now` starts.
    fn from(&mut self, now: Time) -> i64 {
        if now < self.full {
            *self = Floor::default();
        }
        if self.full + FULL_EVERY <= now {
            self.full = now;
            return 0;
        }
        let old = self.marks.iter().rev().find(|(at, _)| *at + BACK <= now);
        old.map_or(0, |(_, number)| *number)
    }

    /// Records that at `now` no visible event was left up to `number`.
    fn learn(&mut self, now: Time, number: i64) {
        if self.marks.back().is_none_or(|(at, _)| *at + MARK_EVERY <= now) {
            self.marks.push_back((now, number));
        }
        // Only the newest mark that is old enough is used, so the older ones are dropped.
        while self.marks.get(1).is_some_and(|(at, _)| *at + BACK <= now) {
            self.marks.pop_front();
        }
    }
}

fn event(row: &Row) -> Result<(Position, Event), TripError> {
    let event = Event {
        topic: get::<&str>(row, 1)?.parse::<Topic>().map_err(garbled)?,
        name: get::<&str>(row, 2)?.into(),
        resource: get::<&str>(row, 3)?.into(),
        key: get::<Option<&str>>(row, 8)?.map(Into::into),
        queue: get::<Option<&str>>(row, 9)?.map(Into::into),
        at: Time(get(row, 4)?),
        fence: get::<Option<i64>>(row, 5)?.map(Fence),
        by: maybe_name(row, 6, UserId::new)?,
        detail: get(row, 7)?,
        to: Event::parse_to(get(row, 10)?).map_err(garbled)?,
    };
    Ok((Position(get(row, 0)?), event))
}

impl EventStore for PostgresStore {
    /// Moves committed events into the log: locks, moves and commits in one trip, without waiting for another
    /// sequencer.
    fn sequence(&self) -> Pending<'_, Sequenced> {
        Box::pin(async move {
            let Sequencer { slot, floor } = &self.sequencer;
            let life = self.shared.lives.generation();
            let now = self.shared.clock.estimate();
            let from = floor.with(life, |floor| floor.from(now));
            let calls = vec![Call::new(&sql::EVENT_LOCK), Call::new(&sql::EVENT_SEQUENCE).big(from).big(AT_ONCE)];
            let mut answers = self.read_on(slot, calls).await?;
            let (lock, moved) = (answers.take(), answers.take());
            let [lock, moved] = [&lock, &moved].map(|rows| rows.first().ok_or_else(|| garbled("no sequencer")));
            let (lock, moved) = (lock?, moved?);
            if !get::<bool>(lock, 0)? {
                return Ok(Sequenced::Busy);
            }
            let count: i64 = get(moved, 0)?;
            let full = count == AT_ONCE;
            let number = get(if full { moved } else { lock }, 1)?;
            floor.with(life, |floor| floor.learn(now, number));
            let count = usize::try_from(count).unwrap_or_default();
            Ok(if full { Sequenced::Full(count) } else { Sequenced::All(count) })
        })
    }

    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>> {
        Box::pin(self.all(Call::new(&sql::EVENT_LIST).big(after.0).big(limit.into()), event))
    }

    fn event_span(&self) -> Pending<'_, EventSpan> {
        let span = |row: &Row| Ok(EventSpan { oldest: Position(get(row, 0)?), newest: Position(get(row, 1)?) });
        Box::pin(self.only(Call::new(&sql::EVENT_SPAN), span))
    }

    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64> {
        let call = Call::new(&sql::EVENT_PURGE).big(before.0).big(limit.into());
        Box::pin(async move { Ok(self.first(call, |row| get::<i64>(row, 0)).await?.unwrap_or(0).unsigned_abs()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs at `now`, when numbers up to `number` had been given. Returns where the run started.
    fn run(floor: &mut Floor, now: i64, number: i64) -> i64 {
        let from = floor.from(Time(now));
        floor.learn(Time(now), number);
        from
    }

    #[test]
    fn a_run_starts_at_the_newest_mark_older_than_any_transaction() {
        let mut floor = Floor::default();
        assert_eq!(run(&mut floor, 100_000, 10), 0, "no mark exists yet");
        assert_eq!(run(&mut floor, 100_600, 20), 0, "recent numbers may not be committed yet");
        assert_eq!(run(&mut floor, 124_900, 30), 0);
        assert_eq!(run(&mut floor, 125_000, 31), 10);
        assert_eq!(run(&mut floor, 125_600, 40), 20);
    }

    #[test]
    fn the_sequencer_scans_everything_every_thirty_seconds() {
        let mut floor = Floor::default();
        let mut begins = Vec::new();
        for tenth in 0..=700 {
            begins.push(run(&mut floor, 1_000_000 + tenth * 100, tenth));
        }
        let all = begins.iter().skip(300).filter(|from| **from == 0).count();
        assert_eq!(all, 2, "at 30 and at 60 seconds");
        let back: Vec<i64> = begins.iter().enumerate().skip(310).map(|(tenth, from)| tenth as i64 - from).collect();
        assert!(back.iter().filter(|back| (250..=256).contains(*back)).count() > 380, "{back:?}");
        assert!(floor.marks.len() <= 55, "{}", floor.marks.len());
    }

    #[test]
    fn a_clock_that_moved_back_resets_the_floor() {
        let mut floor = Floor::default();
        run(&mut floor, 100_000, 10);
        run(&mut floor, 110_000, 20);
        assert_eq!(run(&mut floor, 50_000, 30), 0);
        assert_eq!(run(&mut floor, 50_100, 40), 0);
    }
}
