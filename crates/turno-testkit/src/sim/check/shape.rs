//! What must hold for the rows of every commit: each is explained by an answer, and each lane has one head.

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
                let text = format!("{done:?} was written without a reason");
                return fault("Q6", self.name(done.seq), text);
            }
        }
        for seq in &changes.remove {
            if !changes.done.iter().any(|done| done.seq == *seq) {
                return fault("Q5", self.name(*seq), "it disappeared");
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
            return fault("Q5", name, "a row that nobody sent");
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
            Is::Handed(fence) if fence == row.fence => self.deliveries.get(&fence).map(|known| known.until),
            Is::Done(_) => return fault("Q4", name, format!("finished, and there again: {row:?}")),
            _ => None,
        };
        let right = row.parked == (item.is == Is::Parked)
            && row.expires_at == until
            && matches!(item.is, Is::Handed(_)) == until.is_some();
        if !right {
            return fault(blame, name, format!("{row:?} is written, but it is {:?} until {until:?}", item.is));
        }
        if row.attempt != item.attempts {
            return fault("Q8", name, format!("attempt {} is written, it is {}", row.attempt, item.attempts));
        }
        if row.revision != item.revision {
            return fault("S4", name, format!("revision {} is written, it is {}", row.revision, item.revision));
        }
        item.ready_at = row.ready_at;
        item.not_before = row.not_before;
        item.version += 1;
        if item.key.is_none() && until.is_none() && row.ready_at.is_none() {
            return fault("Q14", name, "it waits, and nothing will ever look at it");
        }
        Ok(())
    }

    /// One head, the first; and it is looked at in time.
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
        let busy = open.iter().any(|seq| matches!(self.items[seq].is, Is::Handed(_)));
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
        // A batch that an arrival fills is due at once. One that was full before its turn came is looked at
        // when its head's window ends: whoever promotes the head sees only the head.
        let arrival = matches!(commit.calls[0].ask, Ask::Enqueue(_));
        let latest = match item.group {
            Fence(0) if !full => item.since + policy.max_wait,
            Fence(0) if !arrival => item.since + policy.window,
            _ => item.not_before,
        };
        if item.ready_at > Some(latest.max(now)) {
            return fault("Q10", name(), format!("looked at only at {:?}, due at {}", item.ready_at, latest.0));
        }
        Ok(())
    }
}
