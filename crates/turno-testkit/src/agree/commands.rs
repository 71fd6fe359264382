//! Random commands, and a session that runs them and remembers its deliveries.

use super::renumber::Answer;
use crate::conformance::{holder, resource};
use std::sync::Arc;
use turno::Turno;
use turno::clock::Manual;
use turno::core::id::{Fence, ItemId, Key, QueueName, Resource};
use turno::core::lease::{Action, Command as LeaseCommand, Policy as LeasePolicy};
use turno::core::queue::{Act, DeliveryRef, Policy};
use turno::core::time::Span;
use turno::queue::{Claim, ClaimedItem, Draft, ItemQuery, ItemState, QueueHandle, Settlement};
use turno::store::Pulse;

const USERS: [&str; 4] = ["ana", "luis", "eva", "admin"];

/// A small random generator: the same seed gives the same commands.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % bound
    }
}

/// One command with all its random choices.
#[derive(Clone, Debug)]
pub(super) enum Command {
    Pass(i64),
    Lease { user: usize, which: u64, kind: u64, stale: bool, idle: i64 },
    Put { queue: usize, key: u64, count: u64, id: u64, delay: i64 },
    Typing { queue: usize, key: u64 },
    Claim { queue: usize, max: u32, request: Option<u64> },
    ClaimItem { queue: usize, id: u64 },
    Settle { which: usize, kind: u64, forget: bool },
    Manage { queue: usize, id: u64, kind: u64 },
    Counts { queue: usize },
    Overview { queue: usize },
    Items { queue: usize, state: usize, key: Option<u64> },
    WhyItem { queue: usize, id: u64 },
    WhyKey { queue: usize, key: u64 },
    LaneLocks,
    LaneClear,
    RetryExhausted { queue: usize, key: Option<u64> },
    Record { queue: usize, id: u64 },
}

/// A caller of one engine.
pub(super) struct Session {
    turno: Turno,
    time: Arc<Manual>,
    queues: Vec<QueueHandle>,
    reference: Vec<(usize, DeliveryRef, Vec<ItemId>)>,
    fences: Vec<(usize, Resource, Fence)>,
    put: u64,
}

impl Session {
    pub(super) async fn start(turno: Turno, time: Arc<Manual>, policies: &[Policy]) -> Session {
        let mut queues = Vec::new();
        for (n, policy) in policies.iter().enumerate() {
            let name = QueueName::new(format!("q{n}")).expect("valid");
            queues.push(turno.put_queue(name, policy.clone()).await.expect("a good policy"));
        }
        Session { turno, time, queues, reference: Vec::new(), fences: Vec::new(), put: 0 }
    }

    /// Chooses a command that makes sense now: settlements are more likely while deliveries are live.
    pub(super) fn choose(&self, random: &mut Random) -> Command {
        let queue = random.below(self.queues.len() as u64) as usize;
        let (key, id) = (random.below(3), 1 + random.below(self.put.max(1)));
        match random.below(100) {
            0..=14 => Command::Pass(random.below(300) as i64),
            15..=34 => Command::Lease {
                user: random.below(4) as usize,
                which: random.below(2),
                kind: random.below(22),
                stale: random.below(5) == 0,
                idle: random.below(300) as i64,
            },
            35..=54 => {
                let delay = if random.below(8) == 0 { random.below(400) as i64 } else { 0 };
                let id = if random.below(6) == 0 { id } else { self.put + 1 };
                Command::Put { queue, key, count: 1 + random.below(3), id, delay }
            }
            55..=57 => Command::Typing { queue, key },
            58..=71 => {
                let request = (random.below(4) == 0).then(|| random.below(4));
                Command::Claim { queue, max: 1 + random.below(3) as u32, request }
            }
            72..=73 => Command::ClaimItem { queue, id },
            74..=91 if !self.reference.is_empty() => {
                let which = random.below(self.reference.len() as u64) as usize;
                Command::Settle { which, kind: random.below(10), forget: random.below(4) > 0 }
            }
            74..=94 => Command::Manage { queue, id, kind: random.below(4) },
            95 => Command::Counts { queue },
            96 => Command::Record { queue, id },
            97 => Command::Overview { queue },
            98 => Command::WhyKey { queue, key },
            _ => match random.below(12) {
                0..=4 => {
                    let (state, key) = (random.below(7) as usize, (random.below(2) == 0).then_some(key));
                    Command::Items { queue, state, key }
                }
                5..=8 => Command::WhyItem { queue, id },
                9 => Command::LaneLocks,
                10 if random.below(6) == 0 => Command::LaneClear,
                _ => Command::RetryExhausted { queue, key: (random.below(2) == 0).then_some(key) },
            },
        }
    }

    pub(super) async fn run(&mut self, command: &Command) -> Answer {
        match *command {
            Command::Pass(ms) => {
                self.time.advance(Span(ms));
                Answer::Nothing
            }
            Command::Lease { user, which, kind, stale, idle } => self.lease(user, which, kind, stale, idle).await,
            Command::Put { queue, key, count, id, delay } => self.put(queue, key, count, id, delay).await,
            Command::Typing { queue, key } => {
                self.queues[queue].typing(key_of(key)).await.expect("answers");
                Answer::Nothing
            }
            Command::Claim { queue, max, request } => {
                let request = request.map(|request| format!("r{request}"));
                let got = self.queues[queue]
                    .claim(Claim::by("w").max(max).request(request.as_deref()))
                    .await
                    .expect("answers");
                for got in &got {
                    self.reference.push((queue, got.reference, got.items.iter().map(|item| item.id.clone()).collect()));
                }
                Answer::Delivery(got)
            }
            Command::ClaimItem { queue, id } => {
                let claimed = self.queues[queue].claim_item(id_of(id), Claim::by("w")).await.expect("answers");
                if let ClaimedItem::Delivered(got) = &claimed {
                    self.reference.push((queue, got.reference, got.items.iter().map(|item| item.id.clone()).collect()));
                }
                Answer::Claimed(Box::new(claimed))
            }
            Command::Settle { which, kind, forget } => self.settle(which, kind, forget).await,
            Command::Manage { queue, id, kind } => {
                let queue = &self.queues[queue];
                let answer = match kind {
                    0 => queue.cancel(id_of(id)).await,
                    1 => queue.retry_with(id_of(id), format!("{{\"otra\":{id}}}")).await,
                    _ => queue.retry(id_of(id)).await,
                };
                Answer::Managed(answer.expect("answers"))
            }
            Command::LaneLocks => Answer::LaneLocks(self.turno.lane_locks().await.expect("answers")),
            Command::LaneClear => Answer::Count(self.turno.lane_clear().await.expect("answers")),
            Command::RetryExhausted { queue, key } => {
                Answer::Count(self.queues[queue].retry_exhausted(key.map(key_of), 5).await.expect("answers"))
            }
            _ => self.look(command).await,
        }
    }

    async fn look(&self, command: &Command) -> Answer {
        match *command {
            Command::Counts { queue } => Answer::Counts(self.queues[queue].counts().await.expect("answers")),
            Command::Record { queue, id } => {
                Answer::Record(Box::new(self.queues[queue].item(id_of(id)).await.expect("answers")))
            }
            Command::Overview { queue } => {
                let seen = self.queues[queue].overview().await.expect("answers");
                Answer::Overview(Box::new(Pulse {
                    now: seen.now,
                    counts: seen.counts,
                    oldest: seen.oldest_waiting,
                    processed: seen.processed_last_minute,
                    failed: seen.failed_last_minute,
                }))
            }
            Command::Items { queue, state, key } => {
                let state = ItemState::ALL.get(state).copied();
                let query = ItemQuery { state, key: key.map(key_of), limit: 7, ..ItemQuery::default() };
                let mut found = self.queues[queue].items(query.clone()).await.expect("answers");
                let after = found.last().map(|last| last.body.seq);
                found.extend(self.queues[queue].items(ItemQuery { after, ..query }).await.expect("answers"));
                Answer::Records(found)
            }
            Command::WhyItem { queue, id } => {
                Answer::Why(Box::new(self.queues[queue].why_item(id_of(id)).await.expect("answers")))
            }
            Command::WhyKey { queue, key } => {
                Answer::Why(Box::new(Some(self.queues[queue].why_key(key_of(key)).await.expect("answers"))))
            }
            ref other => unreachable!("{other:?} is no look"),
        }
    }

    /// Returns all items of all queues.
    pub(super) async fn everything(&self) -> Vec<Answer> {
        let mut all = Vec::new();
        for queue in &self.queues {
            let id = queue.row().await.expect("answers").id;
            let records = self
                .turno
                .store()
                .expect("a trusted handle may read")
                .items(id, ItemQuery { limit: 1_000_000, ..ItemQuery::default() })
                .await
                .expect("answers");
            all.extend(records.items.into_iter().map(|record| Answer::Record(Box::new(Some(record)))));
            all.push(Answer::Counts(queue.counts().await.expect("answers")));
        }
        all
    }

    async fn lease(&mut self, user: usize, which: u64, kind: u64, stale: bool, idle: i64) -> Answer {
        let resource = Resource::new(format!("{}{which}", resource())).expect("valid");
        let mine = |(of, on, _): &&(usize, Resource, Fence)| *of == user && *on == resource;
        let known: Vec<Fence> = self.fences.iter().filter(mine).map(|(_, _, fence)| *fence).collect();
        let fence = if stale { known.first() } else { known.last() }.copied().unwrap_or(Fence(0));
        let action = match kind {
            0..=3 => Action::Claim { ttl: None, wait: stale },
            4..=8 => Action::Heartbeat { fence, idle: Some(Span(idle)), worked: kind == 8 },
            9..=11 => Action::Release { fence, claim: stale.then_some(1) },
            12 => Action::ForceClaim { reason: "porque sí".to_owned(), fence: None },
            13 => Action::ForceRelease { reason: "ya".to_owned(), fence: None },
            14 => Action::RequestRelease { message: Some("¿puedes?".to_owned()) },
            15 | 16 => Action::JoinLine,
            17 => Action::Leave { fence, claim: stale.then_some(1), grace: Span(idle) },
            18 => Action::Decline { fence, message: stale.then(|| "ahora no".to_owned()) },
            19 => Action::RenewTicket,
            20 => Action::Keep { fence, claim: stale.then_some(1), keep: Span(idle) },
            _ => Action::LeaveLine,
        };
        let policy = LeasePolicy {
            ttl: Span(500),
            max_ttl: Span(2_000),
            idle_guard: Some(Span(200)),
            rolling_timeout: Some(Span(1_500)),
            heartbeat_interval: Span(100),
            offer: Span(300),
        };
        let command = LeaseCommand { resource: resource.clone(), who: holder(USERS[user]), via: None, policy, action };
        let answer = self.turno.lease_command(command).await.expect("answers");
        if let (Ok(turno::core::lease::Outcome::Claimed { .. }), Some(grant)) = (&answer.answer, &answer.state.grant) {
            self.fences.push((user, resource, grant.fence));
        }
        Answer::Lease(Box::new(answer))
    }

    async fn put(&mut self, queue: usize, key: u64, count: u64, id: u64, delay: i64) -> Answer {
        let drafts = (0..count).map(|n| Draft {
            id: Some(id_of(id + n)),
            key: Some(key_of((key + n) % 3)),
            action: (n == 1).then(|| "DESACTIVAR".to_owned()),
            payload: format!("{{\"n\":{}}}", id + n).into(),
            delay: Span(delay),
        });
        self.put = self.put.max(id + count - 1);
        let answers = self.queues[queue].enqueue(drafts.collect()).await.expect("answers");
        Answer::Accepted(answers.into_iter().map(|(_, accepted)| accepted).collect())
    }

    async fn settle(&mut self, which: usize, kind: u64, forget: bool) -> Answer {
        let (queue, reference, ids) = self.reference[which].clone();
        let middle = || Some(ids[ids.len() / 2].clone());
        // The jitter of the policy's back-off depends on the numbers, which differ, so the delay is explicit.
        let fail = |item, give_up| Act::Fail { error: "no".to_owned(), item, retry_in: Some(Span(150)), give_up };
        let act = match kind {
            0..=3 => Act::Ack { through: None },
            4 => Act::Ack { through: middle() },
            5 => fail(None, false),
            6 => fail(middle(), false),
            7 => fail(None, true),
            8 => Act::Return { error: None },
            _ => Act::Beat,
        };
        if forget && kind != 9 {
            self.reference.remove(which);
        }
        Answer::Settled(self.queues[queue].settle(vec![Settlement { reference, act }]).await.expect("answers"))
    }
}

fn key_of(key: u64) -> Key {
    Key::new(format!("clave {key}")).expect("valid")
}

fn id_of(id: u64) -> ItemId {
    ItemId::new(format!("m{id}")).expect("valid")
}
