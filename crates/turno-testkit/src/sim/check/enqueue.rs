//! Invariants of enqueues: an id is accepted once, no change is dropped, sequence numbers follow the order of arrival.

use super::model::{Is, Known, Queues};
use super::{Checked, Commit, fault};
use crate::sim::message::{Ask, Reply};
use turno_core::id::{Fence, QueueId, Seq};
use turno_core::queue::{Accepted, Body, Changes, Item, Kind, NewItem};

impl Queues<'_> {
    pub(super) fn enqueued(&mut self, commit: &Commit<'_>, changes: &Changes) -> Checked {
        let mut coalesced = Vec::new();
        for (call, reply) in commit.calls.iter().zip(commit.replies) {
            let (Ask::Enqueue(enqueue), Reply::Enqueue(answers)) = (&call.ask, reply) else {
                continue;
            };
            for (item, answer) in enqueue.items.iter().zip(answers) {
                let queue = enqueue.queue;
                match answer {
                    Accepted::Queued => self.queued(queue, item, commit, changes)?,
                    Accepted::Duplicate { differs } => self.duplicate(queue, item, *differs)?,
                    Accepted::Coalesced { id } => {
                        let into = self.ids.get(&(queue, id.clone())).copied();
                        let Some(seq) = into else {
                            return fault("S3", id, "a change was coalesced into an unknown item");
                        };
                        self.changed(seq, queue, item, commit)?;
                        if !coalesced.contains(&seq) {
                            coalesced.push(seq);
                        }
                    }
                }
            }
        }
        for seq in coalesced {
            self.revised(seq, changes)?;
        }
        // If one group coalesces several changes of an item, the last payload is stored.
        let last = |body: &&Body| !changes.replaced.iter().any(|newer| newer.seq == body.seq);
        for body in changes.bodies.iter().filter(last).chain(&changes.replaced) {
            let known = self.items.get(&body.seq);
            if known.is_none_or(|known| known.payload != body.payload || known.key != body.key) {
                let text = format!("stored is {body:?}, accepted was {known:?}");
                return fault("S1", self.name(body.seq), text);
            }
        }
        Ok(())
    }

    fn queued(&mut self, queue: QueueId, new: &NewItem, commit: &Commit<'_>, changes: &Changes) -> Checked {
        let now = commit.now;
        let id = (queue, new.id.clone());
        if self.ids.contains_key(&id) || self.was_absorbed(queue, new, commit.began) {
            return fault("Q12", subject(queue, new), format!("{} was accepted twice", new.id));
        }
        let body = changes.bodies.iter().find(|body| body.queue == queue && body.id == new.id);
        let Some(seq) = body.map(|body| body.seq) else {
            return fault("Q5", subject(queue, new), format!("{} was accepted and is not stored", new.id));
        };
        let mut change = 0;
        if let Some(key) = &new.key {
            let sync = self.policy(queue).kind == Kind::Sync;
            let lane = self.lanes.entry((queue, key.clone())).or_default();
            if seq <= lane.last_seq {
                let text = format!("sequence number {} was given after {}", seq.0, lane.last_seq.0);
                return fault("Q1", subject(queue, new), text);
            }
            if sync && !lane.open.is_empty() {
                return fault("S3", subject(queue, new), "a second unfinished item of one key");
            }
            lane.last_seq = seq;
            lane.changes += 1;
            change = lane.changes;
        }
        self.accepted += 1;
        self.ids.insert(id, seq);
        self.items.insert(
            seq,
            Known {
                queue,
                id: new.id.clone(),
                key: new.key.clone(),
                payload: new.payload.clone(),
                is: Is::Waiting,
                attempts: 0,
                group: Fence(0),
                fence: Fence(0),
                since: now + new.delay,
                not_before: now + new.delay,
                ready_at: None,
                revision: seq.0,
                handed: 0,
                change,
                handed_change: 0,
                decided_at: now,
                born: self.commits,
                version: 0,
            },
        );
        self.now_is(seq, Is::Waiting);
        Ok(())
    }

    fn duplicate(&self, queue: QueueId, new: &NewItem, differs: bool) -> Checked {
        let known = self.ids.get(&(queue, new.id.clone())).and_then(|seq| self.items.get(seq));
        match known {
            None if let Some((_, key, payload)) = self.absorbed.get(&(queue, new.id.clone())) => {
                let right = differs == (*key != new.key || *payload != new.payload);
                let text = || format!("{} was answered with differs: {differs}", new.id);
                if right { Ok(()) } else { fault("Q12", subject(queue, new), text()) }
            }
            None => fault("Q5", subject(queue, new), format!("{} is new and was answered as a duplicate", new.id)),
            // The payload of a sync item may have been replaced by newer changes, so there is nothing to compare with.
            Some(_) if self.policy(queue).kind == Kind::Sync => Ok(()),
            Some(known) if differs != (known.payload != new.payload || known.key != new.key) => {
                fault("Q12", subject(queue, new), format!("{} was answered with differs: {differs}", new.id))
            }
            Some(_) => Ok(()),
        }
    }

    /// Returns whether the id was coalesced into an item in a commit that this transaction must have seen. An id that
    /// was accepted under another key at the same time cannot be seen.
    fn was_absorbed(&self, queue: QueueId, new: &NewItem, began: u64) -> bool {
        let known = self.absorbed.get(&(queue, new.id.clone()));
        new.id_given && known.is_some_and(|(born, _, _)| *born <= began)
    }

    /// Applies a newer change that replaces the older one of its key.
    fn changed(&mut self, seq: Seq, queue: QueueId, new: &NewItem, commit: &Commit<'_>) -> Checked {
        let (now, began) = (commit.now, commit.began);
        // An id is not accepted again, not even as a change, unless it was accepted under another key at the same
        // time.
        let known = self.ids.get(&(queue, new.id.clone())).and_then(|seq| self.items.get(seq));
        let again = new.id_given && known.is_some_and(|known| known.born <= began);
        if again || self.was_absorbed(queue, new, began) {
            return fault("Q12", subject(queue, new), format!("{} was accepted twice", new.id));
        }
        if new.id_given {
            let change = (self.commits, new.key.clone(), new.payload.clone());
            self.absorbed.insert((queue, new.id.clone()), change);
        }
        let Some(item) = self.items.get_mut(&seq) else {
            return Ok(());
        };
        if item.key != new.key || matches!(item.is, Is::Done(_)) {
            let text = format!("a change was coalesced into {item:?}, which is not waiting");
            return fault("S3", subject(queue, new), text);
        }
        item.payload = new.payload.clone();
        item.attempts = 0;
        if !matches!(item.is, Is::HandedOut(_)) {
            item.is = Is::Waiting;
            item.since = now + new.delay;
        }
        if let Some(lane) = new.key.clone().and_then(|key| self.lanes.get_mut(&(queue, key))) {
            lane.changes += 1;
            item.change = lane.changes;
        }
        Ok(())
    }

    /// Checks the row of a changed key: its revision has grown, and unless a delivery is live, it is due.
    fn revised(&mut self, seq: Seq, changes: &Changes) -> Checked {
        let of_seq = |item: &&Item| item.seq == seq;
        let Some(row) = changes.update.iter().find(of_seq).or(changes.insert.iter().find(of_seq)) else {
            return fault("S1", self.name(seq), "a change was accepted and not stored");
        };
        let name = self.name(seq);
        let Some(item) = self.items.get_mut(&seq) else {
            return Ok(());
        };
        if row.revision <= item.revision {
            let text = format!("revision {} after {}", row.revision, item.revision);
            return fault("S4", name, text);
        }
        item.revision = row.revision;
        let runs = row.ready_at.is_some() && !row.parked || matches!(item.is, Is::HandedOut(_));
        if !runs || row.attempt != 0 {
            return fault("S6", name, format!("a new change left it as {row:?}"));
        }
        Ok(())
    }
}

fn subject(queue: QueueId, new: &NewItem) -> String {
    let name = new.key.as_ref().map_or(new.id.as_str(), |key| key.as_str());
    format!("{}/{name}", queue.0)
}
