//! A minimal store in memory. It loads and writes rows as the store contract says.

use super::super::repair::is_damaged;
use super::super::*;
use crate::id::{Fence, Numbers, QueueId};
use crate::limits::ANSWER_BYTES;
use crate::time::{Span, Time};
use std::collections::HashMap;

pub(super) const START: Time = Time(1_700_000_000_000);
const QUEUE: QueueId = QueueId(3);

/// One queue in memory, with a clock that the test moves. Checks its invariants after every write.
pub(super) struct Shelf {
    pub(super) policy: Policy,
    pub(super) now: Time,
    pub(super) hot: Vec<Item>,
    pub(super) bodies: Vec<Body>,
    pub(super) done: Vec<Done>,
    pub(super) errors: Vec<AttemptError>,
    pub(super) came_back: Vec<UncountedDelivery>,
    pub(super) absorbed: Vec<Absorbed>,
    /// The first accepted payload of items whose content was replaced.
    accepted: HashMap<Seq, Arc<str>>,
    typing: HashMap<Lane, Time>,
    /// Fences of deliveries that an application is completing.
    pub(super) spared: Vec<Fence>,
    /// The payload bytes that end a claim and close a group.
    pub(super) group_bytes: usize,
    number: i64,
}

impl Shelf {
    pub(super) fn new(policy: Policy) -> Shelf {
        policy.check().expect("a policy within its bounds");
        Shelf {
            policy,
            now: START,
            hot: Vec::new(),
            bodies: Vec::new(),
            done: Vec::new(),
            errors: Vec::new(),
            came_back: Vec::new(),
            absorbed: Vec::new(),
            accepted: HashMap::new(),
            typing: HashMap::new(),
            spared: Vec::new(),
            group_bytes: ANSWER_BYTES,
            number: 0,
        }
    }

    /// Returns a queue in which these items of the key `ana` wait.
    pub(super) fn holding(policy: Policy, ids: &[&str]) -> Shelf {
        let mut shelf = Shelf::new(policy);
        for id in ids {
            shelf.put("ana", id);
        }
        shelf
    }

    pub(super) fn pass(&mut self, ms: i64) -> &mut Shelf {
        self.now = self.now + Span(ms);
        self
    }

    fn numbers(&mut self, count: usize) -> Numbers {
        let from = self.number;
        self.number += count as i64;
        Numbers::new((from + 1..=self.number).collect())
    }

    /// Enqueues one item. Its id is also its payload.
    pub(super) fn put(&mut self, key: &str, id: &str) -> Accepted {
        self.put_later(key, id, id, Span::ZERO)
    }

    pub(super) fn put_later(&mut self, key: &str, id: &str, payload: &str, delay: Span) -> Accepted {
        let key = Some(Key::new(key).expect("valid"));
        let id = ItemId::new(id).expect("valid");
        self.put_item(NewItem { id, id_given: true, key, action: None, payload: payload.into(), delay, since: None })
    }

    pub(super) fn put_item(&mut self, item: NewItem) -> Accepted {
        let call =
            Enqueue { queue: QUEUE, policy: self.policy.clone(), items: vec![item], group_bytes: self.group_bytes };
        let existing = self.existing();
        let size = Enqueue::front_size(&self.policy) as usize;
        let mut fronts: HashMap<(QueueId, Lane), Vec<FrontItem>> = HashMap::new();
        for item in self.sorted() {
            let Some(lane) = item.lane else { continue };
            let body = self.bodies.iter().find(|body| body.seq == item.seq).expect("every item has a body");
            let front = fronts.entry((QUEUE, lane)).or_default();
            if front.len() < size {
                let bytes = body.payload.len();
                front.push(FrontItem { item, id: body.id.clone(), key: body.key.clone(), bytes });
            }
        }
        let read = EnqueueRead { now: self.now, numbers: self.numbers(1), existing, fronts };
        let (changes, mut answers) = enqueue(&[call], read);
        self.write(changes);
        answers.remove(0).remove(0)
    }

    /// Returns every accepted id. The shelf deletes none.
    fn existing(&self) -> HashMap<(QueueId, ItemId), Known> {
        let item = |body: &Body| {
            let payload = self.accepted.get(&body.seq).unwrap_or(&body.payload).clone();
            Known::Item { seq: body.seq, key: body.key.clone(), payload, over_at: None }
        };
        let items = self.bodies.iter().map(|body| ((QUEUE, body.id.clone()), item(body)));
        let absorbed = self.absorbed.iter().map(|absorbed| {
            let known = Known::Absorbed { digest: absorbed.digest, at: absorbed.at };
            ((QUEUE, absorbed.id.clone()), known)
        });
        absorbed.chain(items).collect()
    }

    /// Sends a typing signal.
    pub(super) fn type_in(&mut self, key: &str) {
        let lane = Lane::from_key(&Key::new(key).expect("valid"));
        let front: Vec<FrontItem> = self
            .sorted()
            .into_iter()
            .filter(|item| item.lane == Some(lane))
            .take(self.policy.batch() as usize + 1)
            .map(|item| FrontItem { item, id: ItemId::new("x").expect("valid"), key: None, bytes: 0 })
            .collect();
        let mut changes = Changes::default();
        typing(&self.policy, QUEUE, lane, &front, self.now, &mut changes);
        self.write(changes);
    }

    /// Claims up to `max` deliveries.
    pub(super) fn claim(&mut self, max: u32) -> Vec<Delivery> {
        self.claim_with(max as usize, self.want("worker-1", max, false))
    }

    /// Claims one delivery as a probe of the destination.
    pub(super) fn probe(&mut self) -> Delivery {
        self.claim_with(64, self.want("pusher-1", 1, true)).remove(0)
    }

    pub(super) fn want(&self, taker: &str, max: u32, probes: bool) -> ClaimRequest {
        ClaimRequest { taker: taker.into(), max, request: None, probes, bytes: self.group_bytes }
    }

    fn claim_with(&mut self, most: usize, want: ClaimRequest) -> Vec<Delivery> {
        self.claim_together(most, &[want]).deliveries.remove(0)
    }

    /// Claims for several callers in one transaction.
    pub(super) fn claim_together(&mut self, most: usize, wants: &[ClaimRequest]) -> HandedOut {
        let mut heads: Vec<Item> =
            self.hot.iter().filter(|item| item.ready_at.is_some_and(|at| at <= self.now)).cloned().collect();
        heads.sort_by_key(|item| (item.ready_at, item.seq));
        heads.truncate(most);
        let mut fronts = HashMap::new();
        for head in &heads {
            let Some(lane) = head.lane else { continue };
            let behind = |item: &Item| item.lane == Some(lane) && item.seq >= head.seq;
            let front = self.sorted().into_iter().filter(behind).take(self.policy.batch() as usize);
            fronts.insert(lane, front.collect());
        }
        let numbers = self.numbers(heads.len());
        let bytes = self.bodies.iter().map(|body| (body.seq, body.payload.len())).collect();
        let typing = self.typing.clone();
        let read = ClaimRead { queue: QUEUE, now: self.now, numbers, heads, fronts, typing, bytes };
        let mut handed_out = hand_out(&self.policy, wants, read);
        self.write(std::mem::take(&mut handed_out.changes));
        handed_out
    }

    pub(super) fn claim_one(&mut self) -> Delivery {
        let mut deliveries = self.claim(1);
        assert_eq!(deliveries.len(), 1, "one delivery is due");
        deliveries.remove(0)
    }

    /// Returns the ids of a delivery's items, in order.
    pub(super) fn ids(&self, delivery: &Delivery) -> Vec<String> {
        let id = |seq| self.bodies.iter().find(|body| body.seq == seq).expect("a body").id.to_string();
        delivery.items.iter().map(|(seq, _)| id(*seq)).collect()
    }

    pub(super) fn settle(&mut self, delivery: &Delivery, act: Act) -> SettleOutcome {
        self.settle_handed(DeliveryRef::new(QUEUE, delivery), act)
    }

    pub(super) fn settle_handed(&mut self, reference: DeliveryRef, act: Act) -> SettleOutcome {
        let is_member =
            |item: &Item| item.fence == reference.fence && item.expires_at.is_some() && item.seq >= reference.seq;
        let live = self.hot.iter().any(|item| item.seq == reference.seq && is_member(item));
        let id = |item: &Item| self.bodies.iter().find(|body| body.seq == item.seq).map(|body| body.id.clone());
        let members: Vec<Member> = self
            .sorted()
            .into_iter()
            .filter(|item| live && is_member(item))
            .map(|item| Member { id: id(&item), item })
            .collect();
        let next = self
            .sorted()
            .into_iter()
            .find(|item| item.lane.is_some() && item.lane == reference.lane && !is_member(item));
        let mut loaded = Loaded { members, next };
        let mut changes = Changes::default();
        let command = Settle { reference, policy: self.policy.clone(), act, by: Settler::Server };
        let outcome = settle(&command, &mut loaded, self.now, &mut changes);
        self.write(changes);
        outcome
    }

    pub(super) fn ack(&mut self, delivery: &Delivery) -> SettleOutcome {
        self.settle(delivery, Act::Ack { through: None })
    }

    pub(super) fn fail(&mut self, delivery: &Delivery, item: Option<&str>) -> SettleOutcome {
        let item = item.map(|id| ItemId::new(id).expect("valid"));
        self.settle(delivery, Act::Fail { error: "boom".to_owned(), item, retry_in: Some(Span::ZERO), give_up: false })
    }

    pub(super) fn manage(&mut self, id: &str, command: Manage) -> Result<ManageAnswer, ManageRefused> {
        let body = self.bodies.iter().find(|body| body.id.as_str() == id);
        let seq = body.map(|body| body.seq);
        let lane =
            body.and_then(|body| body.key.as_ref()).map(Lane::from_key).filter(|_| self.policy.kind != Kind::Inbox);
        let read = ManageRead {
            now: self.now,
            item: self.hot.iter().find(|item| Some(item.seq) == seq).cloned(),
            done: self.done.iter().find(|done| Some(done.seq) == seq).cloned(),
            front: self.sorted().into_iter().filter(|item| item.lane.is_some() && item.lane == lane).collect(),
            spared: self.spared.clone(),
            home: body.map(|body| (lane, body.enqueued_at)),
            body: body.filter(|_| command.edits()).cloned(),
            numbers: Numbers::new(vec![self.number + 1]),
        };
        self.number += 1;
        let managed = manage(&self.policy, &command, read);
        self.write(managed.changes);
        managed.answer
    }

    /// Clears the lane of a key. An application is completing the deliveries under `spared`.
    pub(super) fn clear(&mut self, key: &str, until: Time, spared: Vec<Fence>) -> Cleared {
        let lane = Lane::from_key(&Key::new(key).expect("valid"));
        let front = self.sorted().into_iter().filter(|item| item.lane == Some(lane));
        let front = front.take(ClearRead::FRONT as usize).collect();
        let (changes, cleared) = clear(&self.policy, until, ClearRead { now: self.now, front, spared });
        self.write(changes);
        cleared
    }

    /// Returns the code of the reason why an item is not running.
    pub(super) fn why(&self, id: &str, paused: bool) -> &'static str {
        self.why_while(id, paused, None)
    }

    /// As [`Shelf::why`], while an application completes the delivery under `completing`.
    pub(super) fn why_while(&self, id: &str, paused: bool, completing: Option<Fence>) -> &'static str {
        let body = |seq| self.bodies.iter().find(|body| body.seq == seq).expect("every item has a body");
        let named = |item: Item| {
            let Body { id, key, payload, .. } = body(item.seq).clone();
            FrontItem { item, id, key, bytes: payload.len() }
        };
        let all: Vec<FrontItem> = self.sorted().into_iter().map(named).collect();
        let known = all.iter().find(|known| known.id.as_str() == id).expect("the item is unfinished");
        let lane = known.item.lane;
        let front: Vec<FrontItem> =
            all.iter().filter(|known| lane.is_some() && known.item.lane == lane).cloned().collect();
        let typed_at = lane.and_then(|lane| self.typing.get(&lane).copied());
        let group_bytes = self.group_bytes;
        let read =
            WhyRead { policy: &self.policy, paused, now: self.now, front: &front, typed_at, completing, group_bytes };
        why_item(&read, known, None).reason.code()
    }

    fn sorted(&self) -> Vec<Item> {
        let mut items = self.hot.clone();
        items.sort_by_key(|item| item.seq);
        items
    }

    pub(super) fn write(&mut self, changes: Changes) {
        self.done.retain(|done| !changes.undone.contains(&done.seq));
        self.bodies.extend(changes.bodies);
        for new in changes.replaced {
            let body = self.bodies.iter_mut().find(|body| body.seq == new.seq).expect("a replaced body exists");
            self.accepted.entry(new.seq).or_insert_with(|| body.payload.clone());
            (body.action, body.payload) = (new.action, new.payload);
        }
        self.absorbed.extend(changes.absorbed);
        self.hot.extend(changes.insert);
        for new in changes.update {
            let seq = new.seq;
            *self.hot.iter_mut().find(|item| item.seq == seq).expect("an updated item exists") = new;
        }
        self.hot.retain(|item| !changes.remove.contains(&item.seq));
        self.done.extend(changes.done);
        self.errors.extend(changes.errors);
        self.came_back.extend(changes.came_back);
        for (_, lane, at) in changes.typing {
            self.typing.insert(lane, at);
        }
        for (_, lane) in changes.typed {
            self.typing.remove(&lane);
        }
        self.check();
    }

    /// Checks the invariants that hold after every write.
    fn check(&self) {
        let mut heads: HashMap<Lane, usize> = HashMap::new();
        for item in &self.hot {
            assert!(item.ready_at.is_none() || item.expires_at.is_none(), "ready and in process at once: {item:?}");
            assert!(
                !item.parked || (item.ready_at.is_none() && item.expires_at.is_none()),
                "parked and active: {item:?}"
            );
            assert!(self.done.iter().all(|done| done.seq != item.seq), "finished and unfinished at once: {item:?}");
            assert!(item.attempt <= self.policy.max_attempts, "too many attempts: {item:?}");
            if let (Some(lane), Some(_)) = (item.lane, item.ready_at) {
                *heads.entry(lane).or_default() += 1;
            }
        }
        assert!(heads.values().all(|count| *count == 1), "a lane has at most one head");
        let mut lanes: HashMap<Option<Lane>, Vec<Item>> = HashMap::new();
        for item in self.sorted() {
            lanes.entry(item.lane).or_default().push(item);
        }
        for item in lanes.remove(&None).into_iter().flatten() {
            assert!(
                !is_damaged(&self.policy, [&item].into_iter(), &[]),
                "a sound item is reported as damaged: {item:?}"
            );
        }
        for items in lanes.values() {
            assert!(!is_damaged(&self.policy, items.iter(), &[]), "a sound lane is reported as damaged: {items:?}");
        }
        assert_eq!(
            self.bodies.len(),
            self.hot.len() + self.done.len(),
            "every accepted item is unfinished or finished"
        );
    }
}
