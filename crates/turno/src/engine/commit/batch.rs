//! Groups of commands, with the channels for their answers.

use super::claim_answer::ReturnPath;
use super::{ClaimAnswer, Job, LeaseDecided, Reply, SettleDecided, Waiting};
use crate::error::Error;
use crate::store::{
    AccessOutcome, Claim, ClaimGroup, ClaimOutcome, EnqueueGroup, Group, LeaseGroup, ManageOutcome, Outcomes, QueueRow,
    SettleGroup, StoreError, TaskOutcome, TypingGroup,
};
use std::collections::HashMap;
use tokio::sync::mpsc;
use turno_core::id::QueueId;
use turno_core::limits::BATCH_MAX;
use turno_core::queue::{Accepted, Cleared, Enqueue, Settle};

/// The largest number of items or deliveries in one group. Keeps its transaction short.
const ITEMS_MAX: usize = 4_000;

/// A group and the channels for its answers, in the order of its commands.
pub(super) struct Batch {
    pub(super) group: Group,
    pub(super) replies: Replies,
}

pub(super) enum Replies {
    Lease(Vec<Reply<LeaseDecided>>),
    Enqueue(Vec<Reply<Vec<Accepted>>>),
    Claim(Vec<Reply<ClaimAnswer>>),
    /// The number is how many settlements each call carried.
    Settle(Vec<(usize, Reply<SettleDecided>)>),
    Manage(Reply<ManageOutcome>),
    Clear(Reply<Cleared>),
    Typing(Vec<Reply<()>>),
    Task(Reply<TaskOutcome>),
    Access(Reply<AccessOutcome>),
}

/// Sorts commands into groups by kind, each in order of arrival.
///
/// Settlements and enqueues come before claims, so that a claim in the same round can hand out their items.
pub(super) fn form(jobs: impl Iterator<Item = Job>) -> Vec<Batch> {
    let mut lease = (Vec::new(), Vec::new());
    let mut settle = Vec::new();
    let mut enqueue = Vec::new();
    let mut claims: Vec<Batch> = Vec::new();
    let mut claim_of: HashMap<QueueId, usize> = HashMap::new();
    let mut rest = Vec::new();
    for job in jobs {
        match job {
            // The caller disconnected. Its claim would hand out a delivery that no worker handles, and use up an
            // attempt.
            Job::Claim(_, _, reply) | Job::ClaimItem(_, _, _, reply) if reply.is_closed() => {}
            Job::Lease(command, reply) => {
                lease.0.push(command);
                lease.1.push(reply);
            }
            Job::Settle(settlements, reply) => settle_batch(&mut settle, settlements, reply),
            Job::Enqueue(call, reply) => enqueue_batch(&mut enqueue, call, reply),
            // Alone: repeats of a request id must run one after another, and a probe chooses among the heads.
            Job::Claim(queue, want, reply) if want.request.is_some() || want.probes => {
                claims.push(claim_batch(&queue, Claim::Next(vec![want]), reply));
            }
            Job::Claim(queue, want, reply) => {
                let open = claim_of.get(&queue.id).copied().filter(|at| fits(&claims[*at], queue.version, want.max));
                match open {
                    Some(at) => {
                        let Batch { group, replies } = &mut claims[at];
                        if let (Group::Claim(ClaimGroup { claim: Claim::Next(wants), .. }), Replies::Claim(replies)) =
                            (group, replies)
                        {
                            wants.push(want);
                            replies.push(reply);
                        }
                    }
                    None => {
                        claim_of.insert(queue.id, claims.len());
                        claims.push(claim_batch(&queue, Claim::Next(vec![want]), reply));
                    }
                }
            }
            Job::ClaimItem(queue, want, id, reply) => claims.push(claim_batch(&queue, Claim::Item { want, id }, reply)),
            Job::Manage(group, reply) => {
                rest.push(Batch { group: Group::Manage(group), replies: Replies::Manage(reply) })
            }
            Job::Clear(group, reply) => rest.push(Batch { group: Group::Clear(group), replies: Replies::Clear(reply) }),
            Job::Typing(group, reply) => typing_batch(&mut rest, group, reply),
            Job::Task(group, reply) => {
                rest.push(Batch { group: Group::Task(group), replies: Replies::Task(reply) });
            }
            Job::Access(group, reply) => {
                rest.push(Batch { group: Group::Access(group), replies: Replies::Access(reply) });
            }
        }
    }
    let mut batches = Vec::new();
    if !lease.0.is_empty() {
        batches.push(Batch { group: Group::Lease(LeaseGroup { commands: lease.0 }), replies: Replies::Lease(lease.1) });
    }
    batches.extend(settle);
    batches.extend(enqueue);
    batches.extend(rest);
    batches.extend(claims);
    batches
}

fn enqueue_batch(batches: &mut Vec<Batch>, call: Enqueue, reply: Reply<Vec<Accepted>>) {
    if let Some(Batch { group: Group::Enqueue(group), replies: Replies::Enqueue(replies) }) = batches.last_mut()
        && group.numbers() + call.items.len() <= ITEMS_MAX
    {
        group.calls.push(call);
        replies.push(reply);
        return;
    }
    let group = Group::Enqueue(EnqueueGroup { calls: vec![call] });
    batches.push(Batch { group, replies: Replies::Enqueue(vec![reply]) });
}

fn settle_batch(batches: &mut Vec<Batch>, settlements: Vec<Settle>, reply: Reply<SettleDecided>) {
    let count = settlements.len();
    if let Some(Batch { group: Group::Settle(group), replies: Replies::Settle(replies) }) = batches.last_mut()
        && group.settlements.len() + count <= ITEMS_MAX
    {
        group.settlements.extend(settlements);
        replies.push((count, reply));
        return;
    }
    let group = Group::Settle(SettleGroup { settlements });
    batches.push(Batch { group, replies: Replies::Settle(vec![(count, reply)]) });
}

fn typing_batch(batches: &mut Vec<Batch>, group: TypingGroup, reply: Reply<()>) {
    for batch in batches.iter_mut() {
        if let (Group::Typing(known), Replies::Typing(replies)) = (&mut batch.group, &mut batch.replies)
            && known.queue == group.queue
        {
            known.keys.extend(group.keys);
            replies.push(reply);
            return;
        }
    }
    batches.push(Batch { group: Group::Typing(group), replies: Replies::Typing(vec![reply]) });
}

fn claim_batch(queue: &QueueRow, claim: Claim, reply: Reply<ClaimAnswer>) -> Batch {
    let group = ClaimGroup { queue: queue.id, policy: queue.policy.clone(), version: queue.version, claim };
    Batch { group: Group::Claim(group), replies: Replies::Claim(vec![reply]) }
}

fn fits(batch: &Batch, version: i64, max: u32) -> bool {
    matches!(&batch.group, Group::Claim(group) if group.version == version && group.heads() + max as usize <= ITEMS_MAX)
}

impl Batch {
    /// Returns the batch's size in items or commands.
    fn weight(&self) -> usize {
        match &self.group {
            Group::Lease(group) => group.commands.len(),
            Group::Enqueue(group) => group.numbers(),
            Group::Settle(group) => group.settlements.len(),
            Group::Claim(group) => group.heads(),
            Group::Clear(_) => BATCH_MAX,
            Group::Manage(_) | Group::Typing(_) | Group::Task(_) | Group::Access(_) => 1,
        }
    }
}

/// Merges batches into shared transactions, each within `ITEMS_MAX`.
pub(super) fn merge(batches: Vec<Batch>) -> Vec<Vec<Batch>> {
    let mut transactions: Vec<(usize, Vec<Batch>)> = Vec::new();
    for batch in batches {
        let weight = batch.weight();
        match transactions.last_mut() {
            Some((sum, members)) if *sum + weight <= ITEMS_MAX => {
                *sum += weight;
                members.push(batch);
            }
            _ => transactions.push((weight, vec![batch])),
        }
    }
    transactions.into_iter().map(|(_, members)| members).collect()
}

impl Replies {
    /// Sends the answers. A caller that disconnected is not an error: the decision stays, and its deliveries are
    /// returned through `back`.
    pub(super) fn answer(self, group: &Group, outcome: Outcomes, back: &mpsc::WeakSender<Waiting>) {
        match (self, outcome) {
            (Replies::Lease(replies), Outcomes::Lease { now, answers }) => {
                for (reply, (decision, state)) in replies.into_iter().zip(answers) {
                    drop(reply.send(Ok((decision, state, now))));
                }
            }
            (Replies::Enqueue(replies), Outcomes::Enqueue(answers)) => {
                replies.into_iter().zip(answers).for_each(|(reply, answer)| drop(reply.send(Ok(answer))));
            }
            (Replies::Claim(replies), Outcomes::Claim(outcome)) => {
                if let Group::Claim(group) = group {
                    send_deliveries(replies, outcome, &ReturnPath::new(group, back));
                }
            }
            (Replies::Settle(replies), Outcomes::Settle { now, answers }) => {
                let mut answers = answers.into_iter();
                for (count, reply) in replies {
                    drop(reply.send(Ok((now, answers.by_ref().take(count).collect()))));
                }
            }
            (Replies::Manage(reply), Outcomes::Manage { answer, .. }) => drop(reply.send(Ok(answer))),
            (Replies::Clear(reply), Outcomes::Clear(cleared)) => drop(reply.send(Ok(cleared))),
            (Replies::Typing(replies), Outcomes::Typing) => {
                replies.into_iter().for_each(|reply| drop(reply.send(Ok(()))))
            }
            (Replies::Task(reply), Outcomes::Task(outcome)) => drop(reply.send(Ok(*outcome))),
            (Replies::Access(reply), Outcomes::Access(outcome)) => drop(reply.send(Ok(*outcome))),
            (replies, _) => replies.fail(&Error::Store(StoreError::Bug("the store answered another group"))),
        }
    }

    pub(super) fn fail(self, error: &Error) {
        fn all<T>(replies: impl IntoIterator<Item = Reply<T>>, error: &Error) {
            replies.into_iter().for_each(|reply| drop(reply.send(Err(error.clone()))));
        }
        match self {
            Replies::Lease(replies) => all(replies, error),
            Replies::Enqueue(replies) => all(replies, error),
            Replies::Claim(replies) => all(replies, error),
            Replies::Settle(replies) => all(replies.into_iter().map(|(_, reply)| reply), error),
            Replies::Manage(reply) => all([reply], error),
            Replies::Clear(reply) => all([reply], error),
            Replies::Typing(replies) => all(replies, error),
            Replies::Task(reply) => all([reply], error),
            Replies::Access(reply) => all([reply], error),
        }
    }

    /// Splits the group into one batch per caller.
    pub(super) fn split(self, group: &Group, singles: &mut Vec<Batch>) {
        let mut single = |group, replies| singles.push(Batch { group, replies });
        match (self, group) {
            (Replies::Lease(replies), Group::Lease(group)) => {
                for (reply, command) in replies.into_iter().zip(&group.commands) {
                    single(Group::Lease(LeaseGroup { commands: vec![command.clone()] }), Replies::Lease(vec![reply]));
                }
            }
            (Replies::Enqueue(replies), Group::Enqueue(group)) => {
                for (reply, call) in replies.into_iter().zip(&group.calls) {
                    single(Group::Enqueue(EnqueueGroup { calls: vec![call.clone()] }), Replies::Enqueue(vec![reply]));
                }
            }
            (Replies::Claim(replies), Group::Claim(group)) => {
                for (reply, want) in replies.into_iter().zip(group.wants()) {
                    let claim = match &group.claim {
                        Claim::Next(_) => Claim::Next(vec![want.clone()]),
                        Claim::Item { id, .. } => Claim::Item { want: want.clone(), id: id.clone() },
                    };
                    single(Group::Claim(ClaimGroup { claim, ..group.clone() }), Replies::Claim(vec![reply]));
                }
            }
            (Replies::Settle(replies), Group::Settle(group)) => {
                let mut settlements = group.settlements.iter().cloned();
                for (count, reply) in replies {
                    let settlements = settlements.by_ref().take(count).collect();
                    single(Group::Settle(SettleGroup { settlements }), Replies::Settle(vec![(count, reply)]));
                }
            }
            (replies, group) => single(group.clone(), replies),
        }
    }
}

/// Sends each caller of a claim its own deliveries with their bodies.
fn send_deliveries(replies: Vec<Reply<ClaimAnswer>>, outcome: ClaimOutcome, back: &ReturnPath) {
    let ClaimOutcome::Claimed { now, deliveries, mut bodies, more } = outcome else {
        replies.into_iter().for_each(|reply| drop(reply.send(Ok(ClaimAnswer::new(outcome.clone(), back)))));
        return;
    };
    for (reply, deliveries) in replies.into_iter().zip(deliveries) {
        let seqs = deliveries.iter().flat_map(|delivery| delivery.items.iter().map(|(seq, _)| *seq));
        let bodies = seqs.filter_map(|seq| Some((seq, bodies.remove(&seq)?))).collect();
        let outcome = ClaimOutcome::Claimed { now, deliveries: vec![deliveries], bodies, more };
        drop(reply.send(Ok(ClaimAnswer::new(outcome, back))));
    }
}
