//! The intake's backlog, per queue.
//!
//! A look finds transactions that became visible, and the queues they left rows for. A *share* collects them for one
//! queue. Its backlog lists their rows in the order of the calls and is taken in from the front, in slices.
//!
//! The order within a queue follows from two rules. A row is listed only once everything committed before its call is
//! listed too, or taken in. And a list is taken in from the front, by one transaction at a time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The most rows that a backlog lists, because their numbers are kept in memory.
pub(super) const LIST: usize = 10_000;
/// The most transactions that are kept for a queue. Beyond that all rows of the queue are listed.
const XIDS: usize = 10_000;
/// The most rows in one slice, and the most bytes of payload.
const ROWS: usize = 500;
const BYTES: i64 = 2 * 1024 * 1024;
/// A slice that took longer than this is followed by a smaller one, because a slice holds the locks of its lanes.
const LONG: Duration = Duration::from_millis(20);
/// Slices do not get smaller than this, because fewer rows are not worth a transaction even on a slow machine.
const LEAST: usize = 25;
/// The size of the first slice.
const FIRST: usize = 100;

/// Names a stored row: in the intake, or among the marks of sync triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IntakeRef {
    /// The number, which gives the order of the calls. Both tables take it from one sequence.
    pub(super) number: i64,
    /// The transaction of a mark; `None` for a row of the intake.
    pub(super) mark: Option<i64>,
}

/// Where the rows of a queue are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In these transactions.
    Xids(BTreeSet<i64>),
    /// In the whole intake, because there were too many transactions to keep.
    Everywhere,
}

impl Default for Found {
    fn default() -> Found {
        Found::Xids(BTreeSet::new())
    }
}

impl Found {
    fn is_empty(&self) -> bool {
        matches!(self, Found::Xids(xids) if xids.is_empty())
    }

    fn merge(&mut self, other: Found) {
        match (&mut *self, other) {
            (Found::Xids(known), Found::Xids(xids)) if known.len() + xids.len() <= XIDS => known.extend(xids),
            (_, other) if other.is_empty() => {}
            _ => *self = Found::Everywhere,
        }
    }
}

/// One queue's share of the intake.
#[derive(Debug, Default)]
pub(super) struct Share {
    found: Mutex<Found>,
    /// Locked while a slice is taken in.
    pub(super) backlog: tokio::sync::Mutex<Backlog>,
}

impl Share {
    /// Adds what a look has found.
    pub(super) fn note(&self, found: Found) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).merge(found);
    }

    /// Returns whether a look has found rows that are not listed yet.
    pub(super) fn has_news(&self) -> bool {
        !self.found.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns whether rows may be waiting. A slice that is being taken in at this moment counts.
    pub(super) fn waits(&self) -> bool {
        self.has_news() || self.backlog.try_lock().map_or(true, |backlog| !backlog.is_over())
    }

    fn take_news(&self) -> Found {
        std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Rows that wait, and the size of the next slice.
#[derive(Debug)]
pub(super) struct Backlog {
    /// Where the listed rows come from, and the rows that did not fit into the list.
    source: Found,
    /// Completed deliveries, as places with bytes. They are settled first, because that can make room for items.
    acks: VecDeque<(IntakeRef, i64)>,
    /// Enqueued items, as places with bytes.
    items: VecDeque<(IntakeRef, i64)>,
    /// Whether the list contains all rows of `source`.
    whole: bool,
    rows: usize,
}

impl Default for Backlog {
    fn default() -> Backlog {
        let (acks, items) = (VecDeque::new(), VecDeque::new());
        Backlog { source: Found::default(), acks, items, whole: false, rows: FIRST }
    }
}

impl Backlog {
    /// Returns where to list rows from, if the list is empty and rows are waiting.
    pub(super) fn next_listing(&mut self, share: &Share) -> Option<Found> {
        if !self.acks.is_empty() || !self.items.is_empty() {
            return None;
        }
        self.source.merge(share.take_news());
        (!self.source.is_empty()).then(|| self.source.clone())
    }

    /// Adds listed rows: place, whether the row is an ack, and bytes, in the order of the calls.
    pub(super) fn list(&mut self, rows: Vec<(IntakeRef, bool, i64)>) {
        self.whole = rows.len() < LIST;
        for (place, ack, bytes) in rows {
            let list = if ack { &mut self.acks } else { &mut self.items };
            list.push_back((place, bytes));
        }
        self.end();
    }

    /// Returns the next slice. Its rows stay in the list until they are taken in.
    pub(super) fn slice(&self) -> Vec<IntakeRef> {
        let rows = if self.acks.is_empty() { &self.items } else { &self.acks };
        let mut sum = 0;
        let fits = |(rank, (_, bytes)): &(usize, &(IntakeRef, i64))| {
            sum += bytes;
            *rank == 0 || sum <= BYTES
        };
        rows.iter().take(self.rows).enumerate().take_while(fits).map(|(_, (place, _))| *place).collect()
    }

    /// Removes a slice of `rows` rows that was taken in, and adapts the size of the next slice to the time it took.
    pub(super) fn taken(&mut self, rows: usize, took: Duration) {
        let from = if self.acks.is_empty() { &mut self.items } else { &mut self.acks };
        from.drain(..rows.min(from.len()));
        if took > LONG {
            self.rows = (self.rows / 2).max(LEAST.min(self.rows));
        } else if took < LONG / 2 {
            self.rows = (self.rows * 2).min(ROWS);
        }
        self.end();
    }

    /// Halves the next slice, because the database rejected these rows together. This ends at the one faulty row.
    pub(super) fn halve(&mut self, rows: usize) {
        self.rows = (rows / 2).max(1);
    }

    /// Clears the list, because another process is taking in from the queue. The rows are listed again later.
    pub(super) fn forget(&mut self) {
        self.acks.clear();
        self.items.clear();
        self.whole = false;
    }

    /// Returns whether no rows are waiting, as far as is known.
    pub(super) fn is_over(&self) -> bool {
        self.source.is_empty()
    }

    fn end(&mut self) {
        if self.whole && self.acks.is_empty() && self.items.is_empty() {
            self.source = Found::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xids(all: &[i64]) -> Found {
        Found::Xids(all.iter().copied().collect())
    }

    fn place(number: i64) -> IntakeRef {
        IntakeRef { number, mark: None }
    }

    fn numbers(backlog: &Backlog) -> Vec<i64> {
        backlog.slice().iter().map(|place| place.number).collect()
    }

    fn listed(rows: impl Iterator<Item = (i64, bool, i64)>) -> Backlog {
        let (share, mut backlog) = (Share::default(), Backlog::default());
        share.note(xids(&[7]));
        assert_eq!(backlog.next_listing(&share), Some(xids(&[7])));
        backlog.list(rows.map(|(number, ack, bytes)| (place(number), ack, bytes)).collect());
        backlog
    }

    #[test]
    fn slices_are_bounded_in_rows_and_bytes_and_keep_the_order() {
        let mut small = listed((0..1_200).map(|n| (n, false, 1)));
        let (mut sizes, mut all) = (Vec::new(), Vec::new());
        while !small.is_over() {
            let slice = numbers(&small);
            small.taken(slice.len(), Duration::ZERO);
            sizes.push(slice.len());
            all.extend(slice);
        }
        assert_eq!(sizes, [100, 200, 400, 500]);
        assert_eq!(all, (0..1_200).collect::<Vec<_>>());
        let large = listed((0..5).map(|n| (n, false, BYTES / 2)));
        assert_eq!(numbers(&large), [0, 1]);
        assert_eq!(numbers(&listed((0..5).map(|n| (n, false, BYTES * 4)))), [0], "at least one row");
    }

    #[test]
    fn a_slow_slice_is_followed_by_a_smaller_one() {
        let mut backlog = listed((0..10_000).map(|n| (n, false, 1)));
        let mut sizes = Vec::new();
        for took in [1, 50, 50, 50, 50, 15, 1] {
            let rows = backlog.slice().len();
            sizes.push(rows);
            backlog.taken(rows, Duration::from_millis(took));
        }
        assert_eq!(sizes, [100, 200, 100, 50, 25, 25, 25]);
        assert_eq!(backlog.slice().len(), 50);
    }

    #[test]
    fn completed_deliveries_are_settled_before_items_are_admitted() {
        let mut backlog = listed([(1, false, 1), (2, true, 0), (3, false, 1), (4, true, 0)].into_iter());
        assert_eq!(numbers(&backlog), [2, 4]);
        backlog.taken(2, Duration::ZERO);
        assert_eq!(numbers(&backlog), [1, 3]);
    }

    #[test]
    fn the_rejected_row_is_found_by_halving() {
        let mut backlog = listed((0..100).map(|n| (n, false, 1)));
        let mut tries = 0;
        while backlog.slice().len() > 1 {
            let rows = backlog.slice().len();
            backlog.halve(rows);
            tries += 1;
        }
        assert_eq!((numbers(&backlog), tries), (vec![0], 6));
    }

    #[test]
    fn a_truncated_list_continues_with_rows_found_since() {
        let share = Share::default();
        let mut backlog = Backlog::default();
        share.note(xids(&[7]));
        backlog.next_listing(&share);
        backlog.list((0..LIST as i64).map(|n| (place(n), false, 1)).collect());
        share.note(xids(&[9]));
        assert_eq!(backlog.next_listing(&share), None, "the list comes first");
        backlog.taken(LIST, Duration::ZERO);
        assert_eq!(backlog.next_listing(&share), Some(xids(&[7, 9])));
        backlog.list(Vec::new());
        assert!(backlog.is_over() && !share.has_news());
    }

    #[test]
    fn beyond_the_bound_all_rows_of_the_queue_are_listed() {
        let share = Share::default();
        for xid in 0..=XIDS as i64 {
            share.note(xids(&[xid]));
        }
        let mut backlog = Backlog::default();
        assert_eq!(backlog.next_listing(&share), Some(Found::Everywhere));
        backlog.list(Vec::new());
        assert!(backlog.is_over(), "and then transactions are remembered again");
        share.note(xids(&[1]));
        assert_eq!(backlog.next_listing(&share), Some(xids(&[1])));
    }
}
