//! The checker's own model of queues: items, keys and deliveries, built only from answers and rows.

use super::{Checked, Commit, fault};
use crate::db::Map;
use crate::sim::message::{Ask, Reply};
use crate::sim::setup::Setup;
use std::collections::BTreeSet;
use std::sync::Arc;
use turno_core::id::{Fence, ItemId, Key, QueueId, Seq};
use turno_core::queue::{Act, Changes, Ended, Item, Kind, Manage, ManageAnswer, ManageRefused, Policy, SettleOutcome};
use turno_core::time::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    Waiting,
    /// Waiting after a failure.
    Failed,
    /// Waiting, with attempts counted: the delivery expired, or was returned after an earlier failure.
    Tried,
    HandedOut(Fence),
    Parked,
    Done(Ended),
}

#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) queue: QueueId,
    pub(super) id: ItemId,
    pub(super) key: Option<Key>,
    pub(super) payload: Arc<str>,
    pub(super) is: Is,
    pub(super) attempts: u32,
    /// The fence of the first delivery, or 0 if the item was never handed out.
    pub(super) group: Fence,
    pub(super) fence: Fence,
    pub(super) since: Time,
    pub(super) not_before: Time,
    pub(super) ready_at: Option<Time>,
    pub(super) revision: i64,
    pub(super) handed: i64,
    /// The change of its key that the item carries, counted by the checker, and the one that was handed out.
    pub(super) change: u64,
    pub(super) handed_change: u64,
    pub(super) decided_at: Time,
    /// The commit that inserted the item.
    pub(super) born: u64,
    /// Grows with every change of the item.
    pub(super) version: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// Unfinished items, parked ones included.
    pub(super) open: BTreeSet<Seq>,
    pub(super) last_seq: Seq,
    pub(super) last_fence: Fence,
    pub(super) last_revision: i64,
    pub(super) changes: u64,
    pub(super) delivered: u64,
    pub(super) decided_at: Time,
    /// Signals of typing since the last delivery: the commit and the time.
    pub(super) typed: Vec<(u64, Time)>,
}

#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) members: Vec<Seq>,
    pub(super) since: Time,
    pub(super) until: Time,
    pub(super) open: bool,
    pub(super) settled: Option<(Act, SettleOutcome)>,
    /// The sum of the items' versions when the delivery was settled.
    pub(super) versions: u64,
}

/// A coalesced change: its commit, its key and its payload.
pub(super) type AbsorbedChange = (u64, Option<Key>, Arc<str>);

#[derive(Clone)]
pub(super) struct Queues<'a> {
    pub(super) setup: &'a Setup,
    pub(super) items: Map<Seq, Known>,
    pub(super) lanes: Map<(QueueId, Key), Lane>,
    /// Unfinished inbox items.
    pub(super) loose: BTreeSet<Seq>,
    pub(super) ids: Map<(QueueId, ItemId), Seq>,
    /// Changes that were coalesced into items.
    pub(super) absorbed: Map<(QueueId, ItemId), AbsorbedChange>,
    pub(super) deliveries: Map<Fence, Delivered>,
    /// Fences of deliveries that a failover has lost.
    pub(super) spent: BTreeSet<Fence>,
    pub(super) accepted: u64,
    pub(super) commits: u64,
}

impl<'a> Queues<'a> {
    pub(super) fn new(setup: &'a Setup) -> Queues<'a> {
        Queues {
            setup,
            items: Map::default(),
            lanes: Map::default(),
            loose: BTreeSet::new(),
            ids: Map::default(),
            absorbed: Map::default(),
            deliveries: Map::default(),
            spent: BTreeSet::new(),
            accepted: 0,
            commits: 0,
        }
    }

    /// Marks the fences handed out in lost commits as used. The last fence of a key never goes down.
    pub(super) fn carry_over(&mut self, lost: &Queues<'_>) {
        self.spent = lost.spent.iter().chain(lost.deliveries.keys()).copied().collect();
        for (key, before) in &lost.lanes {
            let lane = self.lanes.entry(key.clone()).or_default();
            lane.last_fence = lane.last_fence.max(before.last_fence);
        }
        self.commits = lost.commits;
    }

    pub(super) fn policy(&self, queue: QueueId) -> &'a Policy {
        &self.setup.queues[queue.0 as usize]
    }

    /// Returns the subject of a fault about an item.
    pub(super) fn name(&self, seq: Seq) -> String {
        match self.items.get(&seq) {
            Some(item) => {
                let name = item.key.as_ref().map_or(item.id.as_str(), |key| key.as_str());
                format!("{}/{name}", item.queue.0)
            }
            None => format!("#{}", seq.0),
        }
    }

    pub(super) fn commit(&mut self, commit: &Commit<'_>, changes: &Changes) -> Checked {
        let mut settled = Vec::new();
        match &commit.calls[0].ask {
            Ask::Enqueue(_) => self.enqueued(commit, changes)?,
            Ask::Claim { .. } => self.handed_out(commit, changes)?,
            Ask::Settle(_) => self.settled(commit, changes, &mut settled)?,
            Ask::Manage(_) => self.managed(commit, changes, &mut settled)?,
            Ask::Typing { queue, key } => {
                let lane = (QueueId(*queue as i32), key.clone());
                if !changes.typing.is_empty()
                    && let Some(lane) = self.lanes.get_mut(&lane)
                {
                    lane.typed.push((self.commits, commit.now));
                }
            }
            _ => {}
        }
        self.rows(commit, changes)?;
        for fence in settled {
            let versions = self.versions(fence);
            if let Some(delivered) = self.deliveries.get_mut(&fence) {
                delivered.versions = versions;
            }
        }
        Ok(())
    }

    pub(super) fn versions(&self, fence: Fence) -> u64 {
        let members = self.deliveries.get(&fence).map_or(&[][..], |delivered| &delivered.members);
        members.iter().filter_map(|seq| self.items.get(seq)).map(|item| item.version).sum()
    }

    /// Records a new condition: the item is finished, or waits again.
    pub(super) fn now_is(&mut self, seq: Seq, is: Is) {
        let Some(item) = self.items.get_mut(&seq) else {
            return;
        };
        item.is = is;
        item.version += 1;
        let open = !matches!(is, Is::Done(_));
        let unfinished = match &item.key {
            Some(key) => &mut self.lanes.entry((item.queue, key.clone())).or_default().open,
            None => &mut self.loose,
        };
        if open {
            unfinished.insert(seq);
        } else {
            item.ready_at = None;
            unfinished.remove(&seq);
        }
    }

    fn managed(&mut self, commit: &Commit<'_>, changes: &Changes, settled: &mut Vec<Fence>) -> Checked {
        let (Ask::Manage(group), Reply::Manage(answer)) = (&commit.calls[0].ask, &commit.replies[0]) else {
            return Ok(());
        };
        let seq = self.ids.get(&(group.queue, group.id.clone())).copied();
        // A call that did not find the item does not know its lane either.
        let found = seq.filter(|_| *answer != Err(ManageRefused::Unknown));
        settled.extend(found.map_or(Ok(None), |seq| self.taken_back(group, seq, commit, changes))?);
        let Some((seq, item)) = seq.and_then(|seq| Some((seq, self.items.get_mut(&seq)?))) else {
            return match answer {
                Err(ManageRefused::Unknown) => Ok(()),
                other => fault("Q5", &group.id, format!("an unknown item was answered {other:?}")),
            };
        };
        let finished = matches!(item.is, Is::Done(_));
        let right = match answer {
            // The transaction may have read before the item was inserted.
            Err(ManageRefused::Unknown) => item.born > commit.began,
            Err(ManageRefused::InProcess | ManageRefused::Changing) => matches!(item.is, Is::HandedOut(_)),
            Err(ManageRefused::Finished) => finished,
            Err(ManageRefused::Waiting) => matches!(item.is, Is::Waiting | Is::Tried),
            Ok(ManageAnswer::Retried) => {
                matches!(item.is, Is::Parked | Is::Failed | Is::Done(Ended::Exhausted)) && group.wish == Manage::Retry
            }
            Ok(ManageAnswer::Cancelled) => {
                !finished && !matches!(item.is, Is::HandedOut(_)) && group.wish == Manage::Cancel
            }
            Ok(ManageAnswer::Released) => item.is == Is::Parked && group.wish == Manage::Release,
            // No destination is probed in the simulation.
            Ok(ManageAnswer::Probing(_) | ManageAnswer::Probed) => false,
        };
        if !right {
            let text = format!("{:?} of an item that is {:?} was answered {answer:?}", group.wish, item.is);
            return fault("Q9", self.name(seq), text);
        }
        match answer {
            Ok(ManageAnswer::Retried) => {
                if item.is != Is::Failed {
                    item.attempts = 0;
                }
                self.now_is(seq, Is::Waiting);
            }
            Ok(ManageAnswer::Cancelled) => {
                let (queue, key) = (item.queue, item.key.clone());
                self.now_is(seq, Is::Done(Ended::Cancelled));
                // The cancelled change need not be delivered.
                if let Some(lane) = key.and_then(|key| self.lanes.get_mut(&(queue, key))) {
                    lane.delivered = lane.changes;
                }
            }
            Ok(ManageAnswer::Released) => self.now_is(seq, Is::Done(Ended::Exhausted)),
            Ok(ManageAnswer::Probing(_) | ManageAnswer::Probed) | Err(_) => {}
        }
        Ok(())
    }

    /// Returns the invariant broken by a row that no answer in its commit explains.
    pub(super) fn blame(&self, commit: &Commit<'_>, item: &Item) -> &'static str {
        let sync = self.policy(item.queue).kind == Kind::Sync;
        match &commit.calls[0].ask {
            Ask::Settle(settle) if settle.act == Act::Expire => "Q7",
            Ask::Settle(_) => "Q6",
            Ask::Claim { .. } => "Q3",
            Ask::Enqueue(_) if sync => "S6",
            Ask::Manage(_) => "Q9",
            _ => "Q1",
        }
    }
}
