//! Invariants of the rows of every commit: an answer explains each row, and each lane has one head.

use super::model::{Is, Queues};
use super::{Checked, Commit, fault};
use crate::sim::message::Ask;
use turno_core::id::{Fence, Key, QueueId};
use turno_core::queue::{Changes, Item, Kind};

impl Queues<'_> {
    pub(super) fn rows(&mut self, commit: &Commit<'_>, changes: &Changes) -> Checked {
        let mut touched: Vec<(QueueId, Key)> = Vec::new();
        for row in changes.insert.iter().chain(&changes.update) {
            self.row(commit, row)?;
            self.touch(row.seq, &mut touched);
        }
        for done in &changes.done {
            if self.items.get(&done.seq).is_none_or(|item| item.is != Is::Done(done.ended)) {
                let text = format!("{done:?} was written, and no answer explains it");
                return fault("Q6", self.name(done.seq), text);
            }
        }
        for seq in &changes.remove {
            if !changes.done.iter().any(|done| done.seq == *seq) {
                return fault("Q5", self.name(*seq), "the row was deleted");
            }
            self.touch(*seq, &mut touched);
        }
        for lane in touched {
            self.lane(&lane, commit)?;
        }
        Ok(())
    }

    fn touch(&self, seq: turno_core::id::Seq, touched: &mut Vec<(QueueId, Key)>) {
        let item = self.items.get(&seq);
        if let Some(lane) = item.and_then(|item| Some((item.queue, item.key.clone()?)))
            && !touched.contains(&lane)
        {
            touched.push(lane);
        }
    }

    fn row(&mut self, commit: &Commit<'_>, row: &Item) -> Checked {
        let name = self.name(row.seq);
        let blame = self.blame(commit, row);
        let Some(item) = self.items.get_mut(&row.seq) else {
            return fault("Q5", name, "the row of an unknown item");
        };
        let decided_at = match &item.key {
            Some(key) => &mut self.lanes.entry((item.queue, key.clone())).or_default().decided_at,
            None => &mut item.decided_at,
        };
        if commit.now < *decided_at {
            return fault("T3", name, format!("decided at {} after {}", commit.now.0, decided_at.0));
        }
        *decided_at = commit.now;
        let until = match item.is {
            Is::HandedOut(fence) if fence == row.fence => self.deliveries.get(&fence).map(|known| known.until),
            Is::Done(_) => return fault("Q4", name, format!("the item is finished and has a row again: {row:?}")),
            _ => None,
        };
        let right = row.parked == (item.is == Is::Parked)
            && row.expires_at == until
            && matches!(item.is, Is::HandedOut(_)) == until.is_some();
        if !right {
            return fault(blame, name, format!("{row:?} was written, but the item is {:?} until {until:?}", item.is));
        }
        if row.attempt != item.attempts {
            return fault("Q8", name, format!("attempt {} was written, expected {}", row.attempt, item.attempts));
        }
        if row.revision != item.revision {
            return fault("S4", name, format!("revision {} was written, expected {}", row.revision, item.revision));
        }
        item.ready_at = row.ready_at;
        item.not_before = row.not_before;
        item.version += 1;
        if item.key.is_none() && until.is_none() && row.ready_at.is_none() {
            return fault("Q14", name, "the item waits and has no `ready_at`");
        }
        Ok(())
    }

    /// Checks that the lane has one head, that it is the first item, and that it becomes due in time.
    fn lane(&self, lane: &(QueueId, Key), commit: &Commit<'_>) -> Checked {
        let now = commit.now;
        let name = || format!("{}/{}", lane.0.0, lane.1);
        let policy = self.policy(lane.0);
        let Some(open) = self.lanes.get(lane).map(|lane| &lane.open) else {
            return Ok(());
        };
        if policy.kind == Kind::Sync && open.len() > 1 {
            return fault("S3", name(), format!("unfinished are {open:?}"));
        }
        let busy = open.iter().any(|seq| matches!(self.items[seq].is, Is::HandedOut(_)));
        let mut heads = open.iter().filter(|seq| self.items[seq].ready_at.is_some());
        let (head, second) = (heads.next(), heads.next());
        if second.is_some() || busy && head.is_some() {
            let id = if busy { "Q2" } else { "Q1" };
            return fault(id, name(), format!("{head:?} and {second:?} may both run (busy: {busy})"));
        }
        let Some(first) = open.first() else {
            return Ok(());
        };
        let item = &self.items[first];
        if busy || item.is == Is::Parked {
            return match head {
                Some(head) if head != first => fault("Q1", name(), format!("{head:?} may run before {first:?}")),
                _ => Ok(()),
            };
        }
        if head != Some(first) {
            let id = if head.is_none() { "Q14" } else { "Q1" };
            return fault(id, name(), format!("first is {first:?}, and {head:?} may run"));
        }
        let mates = open.iter().take(policy.batch() as usize);
        let full = mates.clone().count() == policy.batch() as usize
            && mates.clone().all(|seq| self.items[seq].group == Fence(0) && self.items[seq].since <= now);
        // A batch that an arrival fills is due at once. A batch that was full before its turn is due when the window
        // of its head ends, because the settlement that promotes the head reads only the head.
        let arrival = matches!(commit.calls[0].ask, Ask::Enqueue(_));
        let latest = match item.group {
            Fence(0) if !full => item.since + policy.max_wait,
            Fence(0) if !arrival => item.since + policy.window,
            _ => item.not_before,
        };
        if item.ready_at > Some(latest.max(now)) {
            return fault("Q10", name(), format!("ready only at {:?}, due at {}", item.ready_at, latest.0));
        }
        Ok(())
    }
}
