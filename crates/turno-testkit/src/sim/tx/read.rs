//! Locks and reads, as the statements of a store do them.
//!
//! Enqueue, settle and manage hold the lane's mutex and lock its head. A claim locks only the heads it has chosen. So
//! the head's row lock excludes claims from the others.

use super::{Contents, Env, Read, Tx};
use crate::db::{BOTTOM, Lock};
use crate::sim::sabotage::Bug;
use crate::sim::setup::{SINGLE, queue_id};
use std::collections::HashMap;
use turno::store::{Claim, ClaimGroup, EnqueueGroup, Group, SettleGroup};
use turno_core::id::{Lane, QueueId, Resource, Seq};
use turno_core::lease::{Action, State};
use turno_core::queue::{Act, Kind, Known, Loaded};
use turno_core::task::TaskId;
use turno_core::time::Time;

impl Tx {
    /// Takes the mutexes before any read. Returns false if the transaction has to wait.
    pub(super) fn take_mutexes(&mut self, env: &mut Env<'_>) -> bool {
        let Contents::Group(group) = &self.contents else {
            return true;
        };
        let locks: Vec<Lock> = match group {
            Group::Lease(group) => {
                // Without the insert there is no row to lock, so an unknown resource stays unlocked.
                let creates = group.may_create() && !env.has(Bug::AbsentRowNotInserted);
                let locked = |resource: &_| creates || env.db.leases.contains_key(resource);
                group.resources().into_iter().filter(locked).map(Lock::Lease).collect()
            }
            Group::Enqueue(group) => stripes(group.lanes().into_iter().map(|(queue, lane, _)| (queue, lane))),
            Group::Settle(group) => stripes(group.lanes().into_iter()),
            Group::Manage(group) => {
                self.named = env.db.ids.get(&(group.queue, group.id.clone())).copied();
                stripes(env.db.home(group, self.named).map(|lane| (group.queue, lane)).into_iter())
            }
            Group::Claim(group) => {
                if env.has(Bug::ClaimJoinsData) {
                    let due = env.db.due(group.queue, Time(i64::MAX));
                    self.snapshot = due.map(|seq| (seq, env.db.bodies[&seq].clone())).collect();
                }
                Vec::new()
            }
            Group::Task(group) => {
                let id = group.command.task;
                return self.lock_task(env, id);
            }
            Group::Typing(_) | Group::Clear(_) | Group::Access(_) => Vec::new(),
        };
        if self.goes_unlocked(env) {
            return true;
        }
        locks.into_iter().all(|lock| env.db.lock(lock, self.id, &mut self.held))
    }

    /// Returns whether a bug skips the lane locks.
    fn goes_unlocked(&self, env: &Env<'_>) -> bool {
        let busy = |(queue, lane, _): &(QueueId, Lane, u32)| {
            *queue == queue_id(SINGLE) && !env.db.lane_front(*queue, *lane, BOTTOM, 1).is_empty()
        };
        let Contents::Group(group) = &self.contents else {
            return false;
        };
        match group {
            Group::Lease(_) => false,
            Group::Enqueue(group) if env.has(Bug::WakeMissed) => group.lanes().iter().all(busy),
            _ => env.has(Bug::NoStripes),
        }
    }

    /// Locks and reads the rows, and last the head of the audit chain. Returns `None` if the transaction has to wait.
    pub(super) fn read_rows(&mut self, env: &mut Env<'_>) -> Option<Read> {
        let read = self.read_group(env)?;
        let audits = match &self.contents {
            Contents::Group(Group::Lease(group)) => group.audits(),
            Contents::Group(Group::Task(group)) => group.audits(),
            Contents::Group(Group::Manage(_)) => true,
            _ => false,
        };
        if audits {
            if !env.has(Bug::HeadUnlocked) && !env.db.lock(Lock::Head, self.id, &mut self.held) {
                return None;
            }
            self.head = Some(env.db.head);
        }
        Some(read)
    }

    fn read_group(&mut self, env: &mut Env<'_>) -> Option<Read> {
        let unlocked = self.goes_unlocked(env);
        let Contents::Group(group) = &self.contents else {
            return Some(Read::Nothing);
        };
        let (id, held) = (self.id, &mut self.held);
        let lock = |env: &mut Env<'_>, held: &mut Vec<Lock>, seqs: Vec<Seq>| {
            seqs.into_iter().all(|seq| env.db.lock(Lock::Row(seq), id, held))
        };
        match group {
            Group::Lease(group) => {
                // A row that did not exist when locking is not read either.
                let blind = env.has(Bug::AbsentRowNotInserted);
                let weak = |action: &Action| matches!(action, Action::Heartbeat { .. } | Action::Look);
                let beats = group.commands.iter().all(|command| weak(&command.action));
                let read = |resource: Resource| {
                    if !blind && !held.contains(&Lock::Lease(resource.clone())) {
                        return State::unseen(resource);
                    }
                    // Only tasks have lines, so only their leases can be pinned.
                    let pinned =
                        !beats && TaskId::from_resource(&resource).is_some() && pinned(env, id, held, &resource);
                    State { pinned, ..env.db.lease(&resource) }
                };
                Some(Read::Lease(group.resources().into_iter().map(read).collect()))
            }
            Group::Enqueue(group) => {
                for (queue, lane, size) in group.lanes() {
                    let from = env.memory.floor((queue, lane), env.db.rebirth);
                    let seqs = env.db.lane_heads(queue, lane, from, size as usize);
                    if !unlocked && !lock(env, held, seqs) {
                        return None;
                    }
                }
                Some(read_enqueue(env, group))
            }
            Group::Settle(group) => {
                let loaded = read_settle(env, group);
                for one in &loaded {
                    let members = one.members.iter().map(|member| member.item.seq);
                    if !lock(env, held, members.chain(one.next.iter().map(|next| next.seq)).collect()) {
                        return None;
                    }
                }
                Some(Read::Settle(loaded))
            }
            Group::Manage(group) => {
                let seq = self.named;
                let mut seqs: Vec<Seq> = seq.into_iter().collect();
                if let Some(lane) = env.db.home(group, seq) {
                    seqs.extend(env.db.lane_heads(group.queue, lane, BOTTOM, group.front_size() as usize));
                    seqs.sort();
                    seqs.dedup();
                }
                lock(env, held, seqs).then(|| Read::Manage(Box::new(env.db.read_managed(group, seq))))
            }
            Group::Claim(group) => {
                let group = group.clone();
                Some(self.read_claim(env, &group))
            }
            Group::Typing(group) => {
                let (queue, depth) = (group.queue, group.depth() as usize);
                let front = |lane| env.db.front_items(queue, lane, BOTTOM, depth);
                let fronts = group.lanes().into_iter().map(|lane| (lane, front(lane)));
                Some(Read::Typing(fronts.collect()))
            }
            Group::Task(group) => {
                let group = group.clone();
                Some(self.read_task(env, &group))
            }
            Group::Clear(_) | Group::Access(_) => unreachable!("no client sends it"),
        }
    }

    /// Reads the due heads that no transaction has locked, and then the items behind them.
    fn read_claim(&mut self, env: &mut Env<'_>, group: &ClaimGroup) -> Read {
        let mut heads = Vec::new();
        if !env.db.paused.contains(&group.queue) {
            let wanted = match &group.claim {
                Claim::Item { id, .. } => env.db.ids.get(&(group.queue, id.clone())).copied(),
                Claim::Next(_) => None,
            };
            let any = matches!(group.claim, Claim::Next(_));
            let due = env.db.due(group.queue, env.clock.estimate());
            let found: Vec<Seq> = due.filter(|seq| any || Some(*seq) == wanted).collect();
            for seq in found {
                if heads.len() == group.heads() {
                    break;
                }
                if env.has(Bug::HeadsUnlocked) || env.db.try_lock(Lock::Row(seq), self.id, &mut self.held) {
                    heads.push(env.db.hot[&seq].clone());
                }
            }
        }
        let (mut fronts, typing) = env.db.behind_heads(group, &heads);
        if env.has(Bug::GroupNotFrozen) {
            for front in fronts.values_mut() {
                let group = front[0].group;
                front.iter_mut().filter(|item| item.is_fresh()).for_each(|item| item.group = group);
            }
        }
        Read::Claim { heads, fronts, typing }
    }
}

/// Locks the pin exclusively, so that no finalize starts under this lease. Returns true if one is already running.
pub(super) fn pinned(env: &mut Env<'_>, tx: u64, held: &mut Vec<Lock>, resource: &Resource) -> bool {
    !env.db.try_lock(Lock::Pin(resource.clone()), tx, held) && !env.has(Bug::PinIgnored)
}

fn stripes(lanes: impl Iterator<Item = (QueueId, Lane)>) -> Vec<Lock> {
    let mut stripes: Vec<Lock> = lanes.map(|(queue, lane)| Lock::stripe(queue, lane)).collect();
    // All transactions lock in the same order, to avoid deadlocks.
    stripes.sort_by_key(|lock| match lock {
        Lock::Stripe(number) => *number,
        _ => 0,
    });
    stripes.dedup();
    stripes
}

fn read_enqueue(env: &Env<'_>, group: &EnqueueGroup) -> Read {
    let mut existing = HashMap::new();
    for id in group.given_ids() {
        let Some(known) = env.db.known(&id) else { continue };
        let forgotten = match &known {
            Known::Absorbed { .. } => env.has(Bug::AbsorbedForgotten),
            Known::Item { seq, .. } => {
                (env.has(Bug::DedupeForgotten) && seq.0 <= env.started)
                    || (env.has(Bug::AckedReinserted) && env.db.done.contains_key(seq))
            }
        };
        if !forgotten {
            existing.insert(id, known);
        }
    }
    let mut fronts = HashMap::new();
    for (queue, lane, size) in group.lanes() {
        let sync = group.calls.iter().any(|call| call.queue == queue && call.policy.kind == Kind::Sync);
        if !(sync && env.has(Bug::CoalescingBlind)) {
            let from = env.memory.floor((queue, lane), env.db.rebirth);
            fronts.insert((queue, lane), env.db.front_items(queue, lane, from, size as usize));
        }
    }
    Read::Enqueue { existing, fronts, rebirth: env.db.rebirth }
}

fn read_settle(env: &Env<'_>, group: &SettleGroup) -> Vec<Loaded> {
    let mut all = Vec::with_capacity(group.settlements.len());
    for (index, settle) in group.settlements.iter().enumerate() {
        let mut reference = settle.reference;
        if env.has(Bug::SweepUnconditional)
            && matches!(settle.act, Act::Expire)
            && let Some(seen) = env.swept.get(&reference.fence)
        {
            all.push(seen.clone());
            continue;
        }
        if env.has(Bug::SettleIgnoresFence)
            && let Some(item) = env.db.hot.get(&reference.seq)
        {
            reference.fence = item.fence;
        }
        let floor = |lane| env.memory.floor((reference.queue, lane), env.db.rebirth);
        let from = reference.lane.map_or(BOTTOM, floor);
        let mut loaded = env.db.load(&reference, group.names_items(index), from);
        if env.has(Bug::AckSwallowsChange) && matches!(settle.act, Act::Ack { .. }) {
            for member in &mut loaded.members {
                member.item.revision = member.item.handed;
            }
        }
        if env.has(Bug::SuccessorWrongOrder)
            && let Some(lane) = reference.lane
            && let Some(last) = env.db.lanes.get(&(reference.queue, lane)).and_then(|seqs| seqs.last())
            && !loaded.members.iter().any(|member| member.item.seq == *last)
        {
            loaded.next = env.db.hot.get(last).cloned();
        }
        all.push(loaded);
    }
    all
}
