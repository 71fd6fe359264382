//! Synchronisation: what a store records about deliveries, and its access to tables of applications.

use super::Pending;
use std::sync::Arc;
use turno_core::audit::Draft;
use turno_core::event::Event;
use turno_core::id::{Key, QueueId, Seq};
use turno_core::sync::{KeyState, Outgoing, Source, SourceRefused};
use turno_core::time::Time;

/// A delivery that the destination has confirmed: the state of a key that the destination has from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The queue.
    pub queue: QueueId,
    /// The item that carried the change.
    pub seq: Seq,
    /// The key.
    pub key: Key,
    /// The revision that was handed out. A revision older than the stored one changes nothing.
    pub revision: i64,
    /// The action that the destination carried out.
    pub action: String,
    /// The action of the item when it was handed out, if it had one. A newer change may have set another action since,
    /// which must not be overwritten.
    pub was: Option<String>,
    /// The digest of the data; `None` if the key was deactivated.
    pub digest: Option<[u8; 32]>,
    /// When the destination confirmed it.
    pub at: Time,
}

/// A database object that belongs to a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// `function`, `trigger`, `index` or `view`.
    pub what: &'static str,
    /// The name, as people write it.
    pub name: String,
    /// The state of the object.
    pub state: PartState,
}

/// The state of an object of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartState {
    /// As configured.
    Good,
    /// Missing.
    Missing,
    /// Present, but not as configured.
    Differs,
    /// Present, but disabled.
    Disabled,
    /// Left over from an earlier configuration of this source.
    Stale,
    /// A foreign object of this kind has the name. Nothing is installed until it is removed.
    Taken(&'static str),
}

impl PartState {
    /// Returns a stable word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            PartState::Good => "good",
            PartState::Missing => "missing",
            PartState::Differs => "differs",
            PartState::Disabled => "disabled",
            PartState::Stale => "stale",
            PartState::Taken(_) => "taken",
        }
    }
}

/// A source as found in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLook {
    /// Its objects.
    pub parts: Vec<Part>,
    /// Marks that could not become an item, because the column's value is not a valid key.
    pub refused: i64,
    /// Delivered keys whose row has stopped taking part since, without a message to the destination. Counted up to
    /// [`SourceLook::MOST`]. `None` if not asked for, because counting reads everything delivered.
    pub left: Option<i64>,
    /// Keys that are active at the destination, have no current row, and have no change on its way. Counted together
    /// with `left`; `None` if not asked for.
    pub gone: Option<i64>,
}

impl SourceLook {
    /// The highest count.
    pub const MOST: i64 = 100_000;
}

/// The order in which keys are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Keys with a current row, in the order of the column.
    Rows,
    /// Keys that were delivered and not deactivated, in byte order.
    Delivered,
}

/// The store's answer, or the refusal of the source.
pub type Sourced<'a, T> = Pending<'a, Result<T, SourceRefused>>;

/// A store's access to tables of applications.
pub trait SourceTables: Send + Sync {
    /// Returns exactly the SQL that [`SourceTables::install`] runs, with its transaction.
    fn plan(&self, source: Arc<Source>) -> Sourced<'_, String>;

    /// Installs the trigger and its objects. Repeating it has the same result.
    fn install(&self, source: Arc<Source>) -> Sourced<'_, ()>;

    /// Removes the objects that were installed for the source of this name, and nothing else. Returns their names.
    fn remove(&self, source: Arc<Source>) -> Sourced<'_, Vec<String>>;

    /// Compares the installed objects with the source. Counts the keys in `left` and `gone` only if `count_unmatched`
    /// is true.
    fn look(&self, source: Arc<Source>, queue: QueueId, count_unmatched: bool) -> Sourced<'_, SourceLook>;

    /// Returns how many keys have a row that is current and takes part, counted up to [`SourceLook::MOST`].
    fn size(&self, source: Arc<Source>) -> Sourced<'_, i64>;

    /// Normalises texts as the key's column prints them: in a column of numbers `0100` is the key `100`. A text that is
    /// no value of the column is refused.
    fn keys(&self, source: Arc<Source>, given: Vec<String>) -> Sourced<'_, Vec<String>>;

    /// Reads the current row of a key and returns what to send. The rule is [`Source::decide_outgoing`].
    ///
    /// Runs as its own statement after the claim has committed, so that it sees every change that the claimed revision
    /// stands for.
    fn current(&self, source: Arc<Source>, key: Key) -> Sourced<'_, Outgoing>;

    /// Writes an audit entry about a source, and its event. In a separate transaction, so that an installation runs
    /// exactly the planned SQL and nothing else.
    fn audit(&self, draft: Draft, event: Event) -> Pending<'_, ()>;

    /// Records in an item that there was nothing to send. `was` is the item's earlier action, see [`Delivered::was`].
    fn skipped(&self, queue: QueueId, seq: Seq, was: Option<String>) -> Pending<'_, ()>;

    /// Returns keys behind `after`, each with its current row and its delivered state, as of one instant.
    fn walk(
        &self,
        source: Arc<Source>,
        queue: QueueId,
        walk: Walk,
        after: Option<String>,
        limit: u32,
    ) -> Sourced<'_, Vec<KeyState>>;
}
