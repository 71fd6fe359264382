//! Synchronisation: what a store keeps of deliveries, and what it can do with an application's own tables.

use super::Pending;
use std::sync::Arc;
use turno_core::audit::Draft;
use turno_core::event::Event;
use turno_core::id::{Key, QueueId, Seq};
use turno_core::sync::{Kept, Say, Source, SourceRefused};
use turno_core::time::Time;

/// A delivery that the destination has confirmed: what it knows of a key from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The queue.
    pub queue: QueueId,
    /// The item that carried it.
    pub seq: Seq,
    /// Whose it is.
    pub key: Key,
    /// The change that was handed out; an older one than the one that is kept changes nothing.
    pub revision: i64,
    /// What the destination was told to do.
    pub action: String,
    /// What the item said to do when it was handed out, if it said so: a newer change may say something else by now, which
    /// is not to be lost.
    pub was: Option<String>,
    /// The data's digest; nothing if there were none, and the key was deactivated.
    pub digest: Option<[u8; 32]>,
    /// When.
    pub at: Time,
}

/// One thing that belongs to a source in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// `function`, `trigger`, `index` or `view`.
    pub what: &'static str,
    /// Its name, as people write it.
    pub name: String,
    /// How it is.
    pub state: PartState,
}

/// How a part of a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartState {
    /// As the configuration says.
    Good,
    /// Not there.
    Missing,
    /// There, but not as the configuration says.
    Differs,
    /// There, but switched off.
    Disabled,
    /// Of this source, but the configuration does not name it any more.
    Stale,
    /// This, which is not of the source, has its name: nothing is installed before it is out of the way.
    Taken(&'static str),
}

impl PartState {
    /// For programs.
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

/// What a source is like in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLook {
    /// What belongs to it.
    pub parts: Vec<Part>,
    /// Marks that could not become an event, because the key cannot be one.
    pub refused: i64,
    /// Keys that were delivered and whose row has stopped taking part since, without the destination being told; counted
    /// up to [`SourceLook::MOST`]. Nothing if it was not asked for: it goes through all that was delivered.
    pub left: Option<i64>,
    /// Keys that the destination believes active, that no row speaks for, and that have no event on its way; counted
    /// together with `left`. Nothing if it was not asked for.
    pub gone: Option<i64>,
}

impl SourceLook {
    /// So many are counted and no more.
    pub const MOST: i64 = 100_000;
}

/// In which order keys are walked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Those of rows that speak for them, in the order of the column.
    Rows,
    /// Those that were delivered and not deactivated, byte by byte.
    Delivered,
}

/// The answer of a store, or why the source is refused.
pub type Sourced<'a, T> = Pending<'a, Result<T, SourceRefused>>;

/// What a store can do with tables of applications.
pub trait SourceTables: Send + Sync {
    /// Exactly the SQL that [`SourceTables::install`] runs, with its transaction.
    fn plan(&self, source: Arc<Source>) -> Sourced<'_, String>;

    /// Installs the trigger with all that belongs to it; again and again with the same end.
    fn install(&self, source: Arc<Source>) -> Sourced<'_, ()>;

    /// Removes what was installed for the source of this name, and nothing else; answers what that was.
    fn remove(&self, source: Arc<Source>) -> Sourced<'_, Vec<String>>;

    /// What is installed, and whether it is what the source says; counts who has left or is gone only if asked to.
    fn look(&self, source: Arc<Source>, queue: QueueId, count_unmatched: bool) -> Sourced<'_, SourceLook>;

    /// How many keys have a row that speaks for them and takes part, counted up to [`SourceLook::MOST`].
    fn size(&self, source: Arc<Source>) -> Sourced<'_, i64>;

    /// Texts as the column of the key has them: `0100` is the key `100` of a column of numbers. One that is no value of it is
    /// refused.
    fn keys(&self, source: Arc<Source>, given: Vec<String>) -> Sourced<'_, Vec<String>>;

    /// What the table says about a key, and so what is to be told of it; see [`Source::say`].
    ///
    /// By a statement of its own: asked after the claim has committed, it sees every change that the claimed revision
    /// stands for.
    fn current(&self, source: Arc<Source>, key: Key) -> Sourced<'_, Say>;

    /// Writes down who did what to a source, and tells it. By itself: what is installed is exactly what was planned, and
    /// nothing besides.
    fn audit(&self, draft: Draft, told: Event) -> Pending<'_, ()>;

    /// Keeps with an item that there was nothing to do for it; `was` is what it said before, see [`Delivered::was`].
    fn skipped(&self, queue: QueueId, seq: Seq, was: Option<String>) -> Pending<'_, ()>;

    /// Some keys behind `after`, each with what speaks for it now and what was delivered, as of one instant.
    fn walk(
        &self,
        source: Arc<Source>,
        queue: QueueId,
        walk: Walk,
        after: Option<String>,
        limit: u32,
    ) -> Sourced<'_, Vec<Kept>>;
}
