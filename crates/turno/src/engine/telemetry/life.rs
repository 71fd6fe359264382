//! The life of locks and queues as log lines: who got what, who was refused and why, how it ended.
//!
//! Every line is written at debug, or at info while there is room for it (`rate`); at info, what found no room is summed
//! up. A task of its own writes them, so that a slow terminal holds up no commit. Lines about people's leases need no room
//! (`kept`).

use super::figures::Fate;
use super::kept::Kept;
use super::rate::Rate;
use crate::clock::Clock;
use crate::store::Store;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::field::display;
use turno_core::audit::Actor;
use turno_core::id::{Fence, ItemId, Key, Lane, QueueId, QueueName, Resource};
use turno_core::lease::{Action, Beat, Cause, Command, Ending, Outcome, Refused, State};
use turno_core::queue::{FrontItem, Handed, Taker};
use turno_core::time::Time;

macro_rules! write_line {
    ($loud:expr, $($fields:tt)*) => {
        match $loud {
            Loud::Info => tracing::info!(target: "turno::life", $($fields)*),
            Loud::Debug => tracing::debug!(target: "turno::life", $($fields)*),
        }
    };
}

/// Lines that wait to be written: what a burst at debug may take of memory.
const WAITING_MAX: usize = 8_192;
/// Deliveries whose key is remembered until they end: settlements carry the fence only.
const TAKEN_MAX: usize = 4_096;

/// So many of a lane's items are counted: what is behind them is many in any case.
const FRONT: u32 = 100;
/// With more lines than this waiting, they go without the count.
const BEHIND_MAX: usize = 100;

/// One line to be written.
#[derive(Debug)]
pub(super) enum Line {
    /// Something was asked of a lease.
    Lease(Box<OfLease>),
    /// An ownership ended because its time was over.
    Expired { resource: Resource, ending: Box<Ending> },
    /// An item came in.
    Admitted { queue: Arc<str>, number: QueueId, key: Option<Key>, item: ItemId, fate: Fate },
    /// A delivery was handed out.
    Taken { queue: Arc<str>, key: Option<Key>, handed: Handed, taker: Taker, items: Vec<(ItemId, u32)> },
    /// A delivery ended, or did not.
    Settled {
        queue: Arc<str>,
        handed: Handed,
        fate: Fate,
        /// The one that failed, if only one was named: the fate is its alone.
        item: Option<ItemId>,
    },
    /// A person cleared a lane.
    Cleared { queue: QueueName, by: Actor, items: usize },
    /// A person did something to an item.
    Managed { queue: QueueName, item: ItemId, by: Actor, fate: Fate },
}

/// What a line about a lease says.
#[derive(Debug)]
pub(super) struct OfLease {
    what: &'static str,
    why: Option<&'static str>,
    command: Command,
    /// Whose it is, if not the caller's.
    holder: Option<Arc<str>>,
    fence: Option<Fence>,
    expires_at: Option<Time>,
}

impl OfLease {
    /// Returns whether something was refused.
    pub(super) fn is_refusal(&self) -> bool {
        self.what.ends_with("refused")
    }

    pub(super) fn resource(&self) -> &Resource {
        &self.command.resource
    }

    /// Returns whether both say the same of the same caller. When the holder's time is over is no difference.
    pub(super) fn equals(&self, other: &OfLease) -> bool {
        let (one, two) = (&self.command, &other.command);
        (self.what, self.why, &self.holder, self.fence) == (other.what, other.why, &other.holder, other.fence)
            && (&one.resource, &one.who, &one.via) == (&two.resource, &two.who, &two.via)
    }
}

/// What a line about a lease begins with, and why it was refused.
pub(super) type Told = (&'static str, Option<&'static str>);

/// What is worth a line: not the beats that keep a lease, and not waiting in line.
pub(super) fn told(command: &Command, answer: &Result<Outcome, Refused>) -> Option<Told> {
    Some(match answer {
        Ok(Outcome::Claimed { .. }) if matches!(command.action, Action::ForceClaim { .. }) => {
            ("lease taken by override", None)
        }
        Ok(Outcome::Claimed { renewed: false }) => ("lease claimed", None),
        Ok(Outcome::Claimed { renewed: true }) => ("lease claimed again by its holder", None),
        Ok(Outcome::Released { released: true, repeated: false }) => ("lease released", None),
        Ok(Outcome::Released { released: false, .. }) => ("lease not released", Some("a newer claim keeps it")),
        Ok(Outcome::ForceReleased { changed: true }) => ("lease released by override", None),
        Ok(Outcome::Asked { told: true }) => ("holder asked to let go", None),
        Ok(Outcome::Beat(Beat::Idle)) => ("heartbeat did not renew", Some("idle")),
        Ok(Outcome::Beat(Beat::RollingTimeout)) => ("heartbeat did not renew", Some("rolling_timeout")),
        Ok(_) => return None,
        Err(refused) => (refused_what(&command.action), Some(why(refused))),
    })
}

impl Line {
    /// The lease that it is about, if it is about one.
    pub(super) fn resource(&self) -> Option<&Resource> {
        match self {
            Line::Lease(line) => Some(line.resource()),
            Line::Expired { resource, .. } => Some(resource),
            _ => None,
        }
    }

    /// Writes a line about a lease; of refusals with how often it happened. Lines about queues are the [`Teller`]'s.
    pub(super) fn write(&self, loud: Loud, count: Option<u64>) {
        match self {
            Line::Lease(line) => write_lease(loud, line, count),
            Line::Expired { resource, ending } => {
                let (holder, fence) = (&ending.grant.holder.user, ending.grant.fence.0);
                write_line!(loud, %resource, by = %holder, fence, why = cause(ending.cause), "lease expired");
            }
            _ => {}
        }
    }

    pub(super) fn of_lease(
        (what, why): Told,
        command: &Command,
        answer: &Result<Outcome, Refused>,
        state: Option<&State>,
    ) -> Line {
        let grant = match (answer, state) {
            (Err(Refused::HeldBy { grant, .. }), _) => Some(grant),
            (_, Some(state)) => state.grant.as_ref(),
            _ => None,
        };
        let holder = grant.map(|grant| &grant.holder).filter(|holder| !holder.is(&command.who));
        let given = match command.action {
            Action::Heartbeat { fence, .. } | Action::Release { fence, .. } | Action::Leave { fence, .. } => {
                Some(fence)
            }
            _ => None,
        };
        Line::Lease(Box::new(OfLease {
            what,
            why,
            command: command.clone(),
            holder: holder.map(|holder| holder.user.as_str().into()),
            fence: given.or(grant.map(|grant| grant.fence)),
            expires_at: grant.map(|grant| grant.expires_at),
        }))
    }
}

fn refused_what(action: &Action) -> &'static str {
    match action {
        Action::Claim { .. } | Action::ForceClaim { .. } => "claim refused",
        Action::Heartbeat { .. } => "heartbeat refused",
        Action::Release { .. } | Action::Leave { .. } | Action::ForceRelease { .. } | Action::Expel { .. } => {
            "release refused"
        }
        Action::Look => "look refused",
        Action::Decline { .. } => "answer refused",
        Action::RequestRelease { .. } | Action::JoinLine | Action::KeepPlace | Action::LeaveLine => {
            "place in line refused"
        }
    }
}

fn why(refused: &Refused) -> &'static str {
    match refused {
        Refused::HeldBy { .. } => "held",
        Refused::OfferedTo { .. } => "offered to another",
        Refused::Lost { ending: None } => "lost",
        Refused::Lost { ending: Some(ending) } => cause(ending.cause),
        Refused::Pinned => "being finished",
        Refused::LineFull => "line full",
        Refused::AlreadyHolder => "already holder",
        Refused::IdleMissing => "idle_ms missing",
        Refused::TtlOutOfBounds { .. } => "ttl out of bounds",
    }
}

pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::NoHeartbeat => "no_heartbeat",
        Cause::Idle => "idle",
        Cause::RollingTimeout => "rolling_timeout",
        Cause::Override => "override",
        Cause::UserDisabled => "user_disabled",
        Cause::Released => "released",
    }
}

/// Where lines are handed in.
#[derive(Clone)]
pub(super) struct Life {
    clock: Arc<Clock>,
    rate: Arc<Rate>,
    lines: mpsc::Sender<(Loud, Line)>,
    kept: Kept,
}

/// As what a line is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loud {
    Info,
    Debug,
}

impl Life {
    pub(super) fn start(tasks: &mut JoinSet<()>, store: Arc<dyn Store>, clock: Arc<Clock>) -> Life {
        let (lines, waiting) = mpsc::channel(WAITING_MAX);
        let rate = Arc::new(Rate::default());
        let taken = Taken::default();
        tasks.spawn(Teller { store, clock: clock.clone(), rate: rate.clone(), taken }.run(waiting));
        let kept = Kept::start(tasks, clock.clone());
        Life { clock, rate, lines, kept }
    }

    /// Begins to tell of what was committed together; the time is looked at once, and only if anybody reads.
    pub(super) fn begin(&self) -> Telling<'_> {
        if !tracing::enabled!(target: "turno::life", tracing::Level::INFO) {
            return Telling(None);
        }
        let all = tracing::enabled!(target: "turno::life", tracing::Level::DEBUG);
        Telling(Some((self, self.clock.estimate(), all)))
    }
}

/// Lines about one moment: where to hand them in, when it was, and whether all are read or only so many.
pub(super) struct Telling<'a>(Option<(&'a Life, Time, bool)>);

impl Telling<'_> {
    /// Hands a line in that is not dropped, if anybody would read it.
    pub(super) fn keep(&self, line: impl FnOnce() -> Line) {
        if let Some((life, ..)) = self.0 {
            life.kept.tell(line());
        }
    }

    /// Hands a line in, if anybody would read it. It is made only then.
    pub(super) fn tell(&self, line: impl FnOnce() -> Line) {
        let Some((life, now, all)) = self.0 else { return };
        let loud = if life.rate.take(now) {
            Loud::Info
        } else if all {
            Loud::Debug
        } else {
            return life.rate.leave_out();
        };
        if life.lines.try_send((loud, line())).is_err() {
            life.rate.leave_out();
        }
    }
}

/// Writes the lines.
struct Teller {
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
    rate: Arc<Rate>,
    taken: Taken,
}

/// Whose the deliveries are that were told of.
#[derive(Default)]
struct Taken {
    keys: HashMap<Fence, Key>,
    order: VecDeque<Fence>,
}

impl Taken {
    fn add(&mut self, fence: Fence, key: Key) {
        if self.order.len() == TAKEN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
        self.order.push_back(fence);
        self.keys.insert(fence, key);
    }
}

impl Teller {
    async fn run(mut self, mut waiting: mpsc::Receiver<(Loud, Line)>) {
        let rate = self.rate.clone();
        let mut sum_at: Option<Time> = None;
        loop {
            let due = sum_at.unwrap_or(Time(i64::MAX));
            tokio::select! {
                line = waiting.recv() => match line {
                    Some((loud, line)) => self.write(loud, line, waiting.len()).await,
                    None => return,
                },
                () = rate.over.notified(), if sum_at.is_none() => sum_at = Some(Rate::due(self.clock.estimate())),
                () = self.clock.sleep_until(due), if sum_at.is_some() => {
                    sum_at = None;
                    let lines = rate.sum();
                    if lines > 0 {
                        tracing::info!(target: "turno::life", lines, "more happened than is written at this level");
                    }
                }
            }
        }
    }

    async fn write(&mut self, loud: Loud, line: Line, behind: usize) {
        match line {
            line @ (Line::Lease(_) | Line::Expired { .. }) => line.write(loud, None),
            Line::Admitted { queue, number, key, item, fate } => {
                // A look at the lane for every line of a burst would only make the burst longer.
                let waiting = if behind < BEHIND_MAX { self.waiting(number, key.as_ref()).await } else { None };
                let (key, outcome) = (key.as_ref().map(display), fate.as_str());
                let what = match fate {
                    Fate::Duplicate => "duplicate item",
                    Fate::Coalesced => "item coalesced",
                    _ => "item queued",
                };
                write_line!(loud, queue = &*queue, key, %item, outcome, waiting, "{what}");
            }
            Line::Taken { queue, key, handed, taker, items } => {
                let (fence, count) = (handed.fence.0, items.len());
                if let Some(key) = &key {
                    write_line!(loud, queue = &*queue, %key, fence, instance = taker.instance(), by = taker.user(), items = count, "key locked");
                }
                for (item, attempt) in items {
                    let key = key.as_ref().map(display);
                    write_line!(
                        loud,
                        queue = &*queue, key, %item, attempt, fence, instance = taker.instance(), by = taker.user(), "processing"
                    );
                }
                if let Some(key) = key {
                    self.taken.add(handed.fence, key);
                }
            }
            Line::Settled { queue, handed, fate, item } => self.write_settled(loud, &queue, &handed, fate, item),
            Line::Cleared { queue, by, items } => write_line!(loud, %queue, by = %by.user, items, "lane cleared"),
            Line::Managed { queue, item, by, fate } => {
                write_line!(loud, %queue, %item, by = %by.user, outcome = fate.as_str(), "item changed by a person");
            }
        }
    }

    fn write_settled(&mut self, loud: Loud, queue: &str, handed: &Handed, fate: Fate, item: Option<ItemId>) {
        let (fence, items, outcome) = (handed.fence.0, handed.size, fate.as_str());
        let key = if fate == Fate::Stale { None } else { self.taken.keys.remove(&handed.fence) };
        let key = key.as_ref().map(display);
        let what = match fate {
            Fate::Processed => "processed",
            Fate::Stale => "settlement refused",
            Fate::Expired => "delivery expired",
            _ => "delivery settled",
        };
        let item = item.as_ref().map(display);
        write_line!(loud, queue, key, fence, items, item, outcome, "{what}");
        if handed.lane.is_some() && fate != Fate::Stale {
            write_line!(loud, queue, key, fence, "key released");
        }
    }

    /// How many wait in the key's lane by now, the new one included; at most [`FRONT`] are counted.
    async fn waiting(&self, queue: QueueId, key: Option<&Key>) -> Option<usize> {
        let front = self.store.lane_front(queue, Lane::of(key?), FRONT).await.ok()?;
        let waits = |front: &&FrontItem| front.item.expires_at.is_none() && !front.item.parked;
        Some(front.items.iter().filter(waits).count())
    }
}

fn write_lease(loud: Loud, line: &OfLease, count: Option<u64>) {
    let OfLease { what, why, command, holder, fence, expires_at } = line;
    let instance = command.who.instance.as_ref().map(display);
    let (via, fence) = (command.via.as_ref().map(display), fence.map(|fence| fence.0));
    write_line!(
        loud,
        resource = %command.resource, by = %command.who.user, instance, via, holder = holder.as_deref(), fence,
        expires_at_ms = expires_at.map(|at| at.0), why, count, "{what}"
    );
}
