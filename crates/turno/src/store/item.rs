//! What can be read about a queue and its items, outside of groups.

use turno_core::id::{Fence, Key, Seq};
use turno_core::queue::{AttemptError, Body, CameBack, Done, FrontItem, Item, ItemState, Lapsed, Last, Policy, Taker};
use turno_core::time::Time;

/// How many items of a queue are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting, not failed.
    pub pending: i64,
    /// Handed out and live.
    pub in_process: i64,
    /// Waiting after a failure.
    pub error: i64,
    /// Acked.
    pub processed: i64,
    /// No attempts left.
    pub exhausted: i64,
    /// Taken out by a person.
    pub cancelled: i64,
}

impl Counts {
    /// How many are in this state.
    pub fn of(&self, state: ItemState) -> i64 {
        match state {
            ItemState::Pending => self.pending,
            ItemState::InProcess => self.in_process,
            ItemState::Processed => self.processed,
            ItemState::Error => self.error,
            ItemState::Exhausted => self.exhausted,
            ItemState::Cancelled => self.cancelled,
        }
    }

    /// Counts one more in this state.
    pub fn add(&mut self, state: ItemState) {
        *match state {
            ItemState::Pending => &mut self.pending,
            ItemState::InProcess => &mut self.in_process,
            ItemState::Processed => &mut self.processed,
            ItemState::Error => &mut self.error,
            ItemState::Exhausted => &mut self.exhausted,
            ItemState::Cancelled => &mut self.cancelled,
        } += 1;
    }
}

/// Which items of a queue, in the order of arrival.
///
/// By key, and of the states exhausted, cancelled and in process, only what matches is read, through an index. Pending
/// and failed items are looked for among all unfinished ones from the cursor on, processed ones among all finished
/// ones, and without a filter among all bodies, of every queue: pages of a queue that is small beside the others take
/// longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemQuery {
    /// Only in this state.
    pub state: Option<ItemState>,
    /// Only of this key.
    pub key: Option<Key>,
    /// Only behind this place: the last one of the page before.
    pub after: Option<Seq>,
    /// At most so many.
    pub limit: u32,
}

impl Default for ItemQuery {
    /// The first hundred.
    fn default() -> ItemQuery {
        ItemQuery { state: None, key: None, after: None, limit: 100 }
    }
}

/// Everything that is known about one item: its timeline is read from its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRecord {
    /// When it was read.
    pub now: Time,
    /// What it carries.
    pub body: Body,
    /// Its condition, while unfinished.
    pub item: Option<Item>,
    /// How it finished.
    pub done: Option<Done>,
    /// Its failed attempts, oldest first.
    pub errors: Vec<AttemptError>,
    /// Its hand-outs that ended without counting, oldest first; of many the newest.
    pub came_back: Vec<CameBack>,
}

/// A hand-out: the one that lives, or the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOut {
    /// To whom.
    pub taker: Taker,
    /// Under which fence.
    pub fence: Fence,
    /// When; not known of what finished before that was kept.
    pub handed_at: Option<Time>,
    /// Until when it lives; nothing if it is over.
    pub expires_at: Option<Time>,
}

impl ItemRecord {
    /// With what its expired hand-out has made of it, if nobody has written that down yet.
    pub fn lapsed(mut self, policy: &Policy) -> ItemRecord {
        let lapsed = self.item.as_ref().and_then(|item| item.lapsed(policy, self.now));
        if let Some(Lapsed { item, done, error, back }) = lapsed {
            (self.item, self.done) = (item, done);
            self.errors.extend(error);
            self.came_back.extend(back);
        }
        self
    }

    /// Its state at `now`; as of the reading with [`ItemRecord::now`].
    pub fn state(&self, now: Time) -> ItemState {
        match (&self.item, &self.done) {
            (Some(item), _) => item.state(now),
            (None, Some(done)) => done.ended.into(),
            // Between the two for an instant that no statement can see.
            (None, None) => ItemState::Pending,
        }
    }

    /// Hand-outs so far that count.
    pub fn attempts(&self) -> u32 {
        let done = self.done.as_ref().map_or(0, |done| done.attempt);
        self.item.as_ref().map_or(done, |item| item.attempt)
    }

    /// Who has it, or had it last, and with which fence.
    pub fn hand_out(&self) -> Option<HandOut> {
        if let Some(item) = &self.item {
            let live = item.expires_at.filter(|at| self.now < *at);
            let taker = item.holder.clone()?;
            return Some(HandOut { taker, fence: item.fence, handed_at: item.claimed_at, expires_at: live });
        }
        let done = self.done.as_ref()?;
        let handed_at = done.handed_at;
        Some(HandOut { taker: done.holder.clone()?, fence: done.fence, handed_at, expires_at: None })
    }

    /// Not before then is it handed out (again): the end of a delay or of a back-off that is not over yet.
    pub fn due_at(&self) -> Option<Time> {
        let waits = |item: &&Item| item.expires_at.is_none() && !item.parked && self.now < item.not_before;
        self.item.as_ref().filter(waits).map(|item| item.not_before)
    }

    /// The newest change, in a sync queue; of a finished item, the one that was handed out last.
    pub fn revision(&self) -> i64 {
        let done = self.done.as_ref().map_or(0, |done| done.revision);
        self.item.as_ref().map_or(done, |item| item.revision)
    }

    /// What was tried with something that a newer change had overtaken. What was given back was not tried at all.
    fn overtaken(&self) -> impl DoubleEndedIterator<Item = &CameBack> {
        self.came_back.iter().filter(|back| back.how != Last::Returned)
    }

    /// All that went wrong, oldest first: failed attempts, and those that failed with what a newer change had overtaken,
    /// which count for nothing (attempt 0) and were queued again at once.
    pub fn all_errors(&self) -> Vec<AttemptError> {
        let overtaken = self.overtaken().filter_map(|back| {
            Some(AttemptError {
                seq: back.seq,
                attempt: 0,
                fence: back.fence,
                at: back.at,
                error: back.error.clone()?,
                retry_at: Some(back.at),
                holder: back.holder.clone(),
                handed_at: back.handed_at,
                expired: back.how == Last::Expired,
            })
        });
        let mut all: Vec<AttemptError> = self.errors.iter().cloned().chain(overtaken).collect();
        all.sort_by_key(|error| error.at);
        all
    }

    /// What was last said to have gone wrong.
    pub fn last_error(&self) -> Option<&str> {
        let failed = self.errors.last().map(|error| (error.at, error.error.as_str()));
        let overtaken = self.overtaken().rev().find_map(|back| Some((back.at, back.error.as_deref()?)));
        failed.max(overtaken).map(|(_, error)| error)
    }
}

/// A queue at a glance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// When it was read.
    pub now: Time,
    /// How many items are in which state.
    pub counts: Counts,
    /// When the oldest item was accepted that waits: neither in process nor exhausted.
    pub oldest: Option<Time>,
    /// Acked since the given instant; counted up to [`Pulse::MOST`].
    pub processed: i64,
    /// Attempts that failed since then, expired ones included; counted up to [`Pulse::MOST`].
    pub failed: i64,
}

impl Pulse {
    /// So many are counted and no more, so that a glance at a busy queue stays one.
    pub const MOST: i64 = 100_000;
}

/// The beginning of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneFront {
    /// When it was read.
    pub now: Time,
    /// Its first items, in order, and behind them those that are ready or handed out.
    pub items: Vec<FrontItem>,
    /// When somebody last typed there.
    pub typed_at: Option<Time>,
}

impl LaneFront {
    /// So far into a lane it is looked for items that are ready or handed out: a longer look costs more than it tells,
    /// because a damaged lane shows at its front.
    pub const LOOKED_AT: u32 = 10_000;
}

/// What goes on in all lanes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneLocks {
    /// Keys with a live delivery.
    pub active_locks: i64,
    /// Keys with items that wait.
    pub active_queues: i64,
    /// Keys with either.
    pub total_users: i64,
}
