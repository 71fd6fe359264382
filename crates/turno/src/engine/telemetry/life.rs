//! The log of leases and queues: grants, refusals with their reason, and endings.
//!
//! Each line is written at debug, or at info while the rate limit allows (`rate`). At info, lines above the limit are
//! summed up. A separate task writes the lines, so that a slow terminal delays no commit. Lines about people's leases
//! have no limit (`kept`).

use super::figures::Fate;
use super::kept::LineKeeper;
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
use turno_core::lease::{Action, Beat, Command, Ending, Outcome, Refused, State};
use turno_core::queue::{DeliveryRef, FrontItem, WorkerName};
use turno_core::time::Time;

macro_rules! write_line {
    ($level:expr, $($fields:tt)*) => {
        match $level {
            LineLevel::Info => tracing::info!(target: "turno::life", $($fields)*),
            LineLevel::Debug => tracing::debug!(target: "turno::life", $($fields)*),
        }
    };
}

/// The largest number of lines waiting to be written. Bounds the memory of a burst at debug.
const WAITING_MAX: usize = 8_192;
/// The largest number of remembered deliveries. Their keys are needed because a settlement carries only the fence.
const TAKEN_MAX: usize = 4_096;

/// The number of a lane's items that are counted at most.
const FRONT: u32 = 100;
/// With more lines waiting than this, lines omit the count of the lane.
const BEHIND_MAX: usize = 100;

/// One log line.
#[derive(Debug)]
pub(super) enum Line {
    /// A lease command was answered.
    Lease(Box<LeaseLine>),
    /// An ownership expired.
    Expired { resource: Resource, ending: Box<Ending> },
    /// An item was enqueued.
    Admitted { queue: Arc<str>, number: QueueId, key: Option<Key>, item: ItemId, fate: Fate },
    /// A delivery was handed out.
    Taken { queue: Arc<str>, key: Option<Key>, reference: DeliveryRef, taker: WorkerName, items: Vec<(ItemId, u32)> },
    /// A delivery was settled, or the settlement was refused.
    Settled {
        queue: Arc<str>,
        reference: DeliveryRef,
        fate: Fate,
        /// The item that failed, if the settlement named one. The fate is then of this item only.
        item: Option<ItemId>,
    },
    /// A person cleared a lane.
    Cleared { queue: QueueName, by: Actor, items: usize },
    /// A person changed an item.
    Managed { queue: QueueName, item: ItemId, by: Actor, fate: Fate },
}

/// The contents of a line about a lease.
#[derive(Debug)]
pub(super) struct LeaseLine {
    what: &'static str,
    why: Option<&'static str>,
    command: Command,
    /// The holder, if it is not the caller.
    holder: Option<Arc<str>>,
    fence: Option<Fence>,
    expires_at: Option<Time>,
}

impl LeaseLine {
    /// Returns whether the line is about a refusal.
    pub(super) fn is_refusal(&self) -> bool {
        self.what.ends_with("refused")
    }

    pub(super) fn resource(&self) -> &Resource {
        &self.command.resource
    }

    /// Returns whether both lines say the same about the same caller. The expiry does not count.
    pub(super) fn equals(&self, other: &LeaseLine) -> bool {
        let (one, two) = (&self.command, &other.command);
        (self.what, self.why, &self.holder, self.fence) == (other.what, other.why, &other.holder, other.fence)
            && (&one.resource, &one.who, &one.via) == (&two.resource, &two.who, &two.via)
    }
}

/// The text of a line about a lease, and the reason of a refusal.
pub(super) type LeaseMessage = (&'static str, Option<&'static str>);

/// Returns the message for a lease command. `None` for renewing heartbeats and for waiting in line, which get no line.
pub(super) fn lease_message(command: &Command, answer: &Result<Outcome, Refused>) -> Option<LeaseMessage> {
    Some(match answer {
        Ok(Outcome::Claimed { .. }) if matches!(command.action, Action::ForceClaim { .. }) => {
            ("lease taken by override", None)
        }
        Ok(Outcome::Claimed { renewed: false }) => ("lease claimed", None),
        Ok(Outcome::Claimed { renewed: true }) => ("lease claimed again by its holder", None),
        Ok(Outcome::Released { released: true, repeated: false }) => ("lease released", None),
        Ok(Outcome::Released { released: false, .. }) => ("lease not released", Some("a newer claim keeps it")),
        Ok(Outcome::ForceReleased { changed: true }) => ("lease released by override", None),
        Ok(Outcome::ReleaseRequested { delivered: true }) => ("holder asked to let go", None),
        Ok(Outcome::Beat(Beat::Idle)) => ("heartbeat did not renew", Some("idle")),
        Ok(Outcome::Beat(Beat::RollingTimeout)) => ("heartbeat did not renew", Some("rolling_timeout")),
        Ok(_) => return None,
        Err(refused) => (refused_what(&command.action), Some(why(refused))),
    })
}

impl Line {
    /// Returns the resource, if the line is about a lease.
    pub(super) fn resource(&self) -> Option<&Resource> {
        match self {
            Line::Lease(line) => Some(line.resource()),
            Line::Expired { resource, .. } => Some(resource),
            _ => None,
        }
    }

    /// Writes a line about a lease. `count` says how often a refusal happened. Lines about queues are written by
    /// [`LineWriter`].
    pub(super) fn write(&self, level: LineLevel, count: Option<u64>) {
        match self {
            Line::Lease(line) => write_lease(level, line, count),
            Line::Expired { resource, ending } => {
                let (holder, fence) = (&ending.grant.holder.user, ending.grant.fence.0);
                write_line!(level, %resource, by = %holder, fence, why = ending.cause.as_str(), "lease expired");
            }
            _ => {}
        }
    }

    pub(super) fn for_lease(
        (what, why): LeaseMessage,
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
            Action::Heartbeat { fence, .. }
            | Action::Release { fence, .. }
            | Action::Leave { fence, .. }
            | Action::Keep { fence, .. } => Some(fence),
            _ => None,
        };
        Line::Lease(Box::new(LeaseLine {
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
        Action::Release { .. } | Action::Leave { .. } | Action::Keep { .. } => "release refused",
        Action::ForceRelease { .. } | Action::Expel { .. } => "release refused",
        Action::Look => "look refused",
        Action::Decline { .. } => "answer refused",
        Action::RequestRelease { .. } | Action::JoinLine | Action::RenewTicket | Action::LeaveLine => {
            "place in line refused"
        }
    }
}

fn why(refused: &Refused) -> &'static str {
    match refused {
        Refused::HeldBy { .. } => "held",
        Refused::OfferedTo { .. } => "offered to another",
        Refused::Lost { ending: None } => "lost",
        Refused::Lost { ending: Some(ending) } => ending.cause.as_str(),
        Refused::Pinned => "being finished",
        Refused::LineFull => "line full",
        Refused::AlreadyHolder => "already holder",
        Refused::IdleMissing => "idle_ms missing",
        Refused::TtlOutOfBounds { .. } => "ttl out of bounds",
        Refused::KeepOutOfBounds { .. } => "keep out of bounds",
    }
}

/// Accepts log lines.
#[derive(Clone)]
pub(super) struct Life {
    clock: Arc<Clock>,
    rate: Arc<Rate>,
    lines: mpsc::Sender<(LineLevel, Line)>,
    kept: LineKeeper,
}

/// The level of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum LineLevel {
    Info,
    Debug,
}

impl Life {
    pub(super) fn start(tasks: &mut JoinSet<()>, store: Arc<dyn Store>, clock: Arc<Clock>) -> Life {
        let (lines, waiting) = mpsc::channel(WAITING_MAX);
        let rate = Arc::new(Rate::default());
        let taken = Taken::default();
        tasks.spawn(LineWriter { store, clock: clock.clone(), rate: rate.clone(), taken }.run(waiting));
        let kept = LineKeeper::start(tasks, clock.clone());
        Life { clock, rate, lines, kept }
    }

    /// Starts recording what one commit did. Reads the time once, and only if the log is enabled.
    pub(super) fn begin(&self) -> Recorder<'_> {
        if !tracing::enabled!(target: "turno::life", tracing::Level::INFO) {
            return Recorder(None);
        }
        let all = tracing::enabled!(target: "turno::life", tracing::Level::DEBUG);
        Recorder(Some((self, self.clock.estimate(), all)))
    }
}

/// Records lines of one moment: the sink, the time, and whether the debug level is enabled.
pub(super) struct Recorder<'a>(Option<(&'a Life, Time, bool)>);

impl Recorder<'_> {
    /// Records a line that is never dropped. Builds it only if the log is enabled.
    pub(super) fn keep(&self, line: impl FnOnce() -> Line) {
        if let Some((life, ..)) = self.0 {
            life.kept.send(line());
        }
    }

    /// Records a line within the rate limit. Builds it only if it is written.
    pub(super) fn record(&self, line: impl FnOnce() -> Line) {
        let Some((life, now, all)) = self.0 else { return };
        let level = if life.rate.take(now) {
            LineLevel::Info
        } else if all {
            LineLevel::Debug
        } else {
            return life.rate.leave_out();
        };
        if life.lines.try_send((level, line())).is_err() {
            life.rate.leave_out();
        }
    }
}

/// Writes the lines.
struct LineWriter {
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
    rate: Arc<Rate>,
    taken: Taken,
}

/// The keys of deliveries that were logged, by fence.
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

impl LineWriter {
    async fn run(mut self, mut waiting: mpsc::Receiver<(LineLevel, Line)>) {
        let rate = self.rate.clone();
        let mut sum_at: Option<Time> = None;
        loop {
            let due = sum_at.unwrap_or(Time(i64::MAX));
            tokio::select! {
                line = waiting.recv() => match line {
                    Some((level, line)) => self.write(level, line, waiting.len()).await,
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

    async fn write(&mut self, level: LineLevel, line: Line, behind: usize) {
        match line {
            line @ (Line::Lease(_) | Line::Expired { .. }) => line.write(level, None),
            Line::Admitted { queue, number, key, item, fate } => {
                // Skipped during a burst, because a read of the lane for every line would prolong it.
                let waiting = if behind < BEHIND_MAX { self.waiting(number, key.as_ref()).await } else { None };
                let (key, outcome) = (key.as_ref().map(display), fate.as_str());
                let what = match fate {
                    Fate::Duplicate => "duplicate item",
                    Fate::Coalesced => "item coalesced",
                    _ => "item queued",
                };
                write_line!(level, queue = &*queue, key, %item, outcome, waiting, "{what}");
            }
            Line::Taken { queue, key, reference, taker, items } => {
                let (fence, count) = (reference.fence.0, items.len());
                if let Some(key) = &key {
                    write_line!(level, queue = &*queue, %key, fence, instance = taker.instance(), by = taker.user(), items = count, "key locked");
                }
                for (item, attempt) in items {
                    let key = key.as_ref().map(display);
                    write_line!(
                        level,
                        queue = &*queue, key, %item, attempt, fence, instance = taker.instance(), by = taker.user(), "processing"
                    );
                }
                if let Some(key) = key {
                    self.taken.add(reference.fence, key);
                }
            }
            Line::Settled { queue, reference, fate, item } => self.write_settled(level, &queue, &reference, fate, item),
            Line::Cleared { queue, by, items } => write_line!(level, %queue, by = %by.user, items, "lane cleared"),
            Line::Managed { queue, item, by, fate } => {
                write_line!(level, %queue, %item, by = %by.user, outcome = fate.as_str(), "item changed by a person");
            }
        }
    }

    fn write_settled(
        &mut self,
        level: LineLevel,
        queue: &str,
        reference: &DeliveryRef,
        fate: Fate,
        item: Option<ItemId>,
    ) {
        let (fence, items, outcome) = (reference.fence.0, reference.size, fate.as_str());
        let key = if fate == Fate::Stale { None } else { self.taken.keys.remove(&reference.fence) };
        let key = key.as_ref().map(display);
        let what = match fate {
            Fate::Processed => "processed",
            Fate::Stale => "settlement refused",
            Fate::Expired => "delivery expired",
            _ => "delivery settled",
        };
        let item = item.as_ref().map(display);
        write_line!(level, queue, key, fence, items, item, outcome, "{what}");
        if reference.lane.is_some() && fate != Fate::Stale {
            write_line!(level, queue, key, fence, "key released");
        }
    }

    /// Counts the waiting items in the key's lane, including the new one, up to [`FRONT`].
    async fn waiting(&self, queue: QueueId, key: Option<&Key>) -> Option<usize> {
        let front = self.store.lane_front(queue, Lane::from_key(key?), FRONT).await.ok()?;
        let waits = |front: &&FrontItem| front.item.expires_at.is_none() && !front.item.parked;
        Some(front.items.iter().filter(waits).count())
    }
}

fn write_lease(level: LineLevel, line: &LeaseLine, count: Option<u64>) {
    let LeaseLine { what, why, command, holder, fence, expires_at } = line;
    let instance = command.who.instance.as_ref().map(display);
    let (via, fence) = (command.via.as_ref().map(display), fence.map(|fence| fence.0));
    write_line!(
        level,
        resource = %command.resource, by = %command.who.user, instance, via, holder = holder.as_deref(), fence,
        expires_at_ms = expires_at.map(|at| at.0), why, count, "{what}"
    );
}
