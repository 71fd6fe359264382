//! Synchronisation: sources, which are application tables whose changes are sent to a destination.
//!
//! A [`Source`] describes the table, its key, the columns to send, and the conditions. A trigger on the table marks the
//! keys that may have changed, and the marks become items of a sync queue. A mark contains no data: when a worker
//! receives the item, the engine reads the table and decides what to send for the key ([`Source::decide_outgoing`]).
//!
//! - If a row is current and takes part, it is sent as an update.
//! - If there is no such row, the key is deactivated.
//! - If the key's current row has only stopped taking part, [`OnLeave`] says whether the key is deactivated.
//!
//! So the destination always gets the newest state. Neither the order of changes within a transaction nor a row that
//! was never current can lead to a wrong final state.
//!
//! This module contains neither SQL (the store generates the trigger) nor the sending (the server does that).

mod change;
mod compare;
mod condition;
mod quote;
mod refused;
mod siper;

pub use change::{Content, UNREADABLE_WAIT, has_content, wait_for_row};
pub use compare::{Difference, KeyState};
pub use condition::{Column, PlainCondition, columns_read};
pub use quote::{BadIdent, IDENT_MAX, dollar_quote, fit_ident, quote_ident, quote_literal};
pub use refused::SourceRefused;

use crate::id::QueueName;
use std::fmt;

/// A table or a view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    /// The schema, if one was given.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
}

impl Relation {
    /// Parses `NAME` or `SCHEMA.NAME`, without quotes.
    pub fn parse(text: &str) -> Relation {
        match text.split_once('.') {
            Some((schema, name)) => Relation { schema: Some(schema.to_owned()), name: name.to_owned() },
            None => Relation { schema: None, name: text.to_owned() },
        }
    }

    /// Returns the schema, by default `public`. The search path is not used, because it depends on the session that
    /// installs the source.
    pub fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }

    /// Renders the name for people, without quotes.
    pub fn display(&self) -> String {
        self.schema.as_ref().map_or_else(|| self.name.clone(), |schema| format!("{schema}.{}", self.name))
    }

    /// Renders the quoted name for a statement.
    pub fn quoted(&self) -> Result<String, BadIdent> {
        Ok(format!("{}.{}", quote_ident(self.schema())?, quote_ident(&self.name)?))
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display())
    }
}

/// The effect of a row that stops taking part, that is, stops meeting `enqueue_when`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLeave {
    /// Nothing is sent. The row is counted and shown.
    Ignore,
    /// The key is marked, and deactivated at the destination.
    Deactivate,
}

/// What to send to the destination for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// An update with the columns of the key's row, as JSON.
    Update(String),
    /// A deactivation, because the key has no current row that takes part.
    Deactivate,
    /// Nothing, because the key's row has stopped taking part and the source ignores that.
    Nothing,
}

impl Outgoing {
    /// Returns the data of an update.
    pub fn into_data(self) -> Option<String> {
        match self {
            Outgoing::Update(data) => Some(data),
            Outgoing::Deactivate | Outgoing::Nothing => None,
        }
    }
}

/// The action of an item for which nothing was sent.
pub const NOTHING: &str = "nothing_to_do";

/// An application's table whose changes are sent to a destination.
///
/// A row is *current* if it meets `current_when`, and it *takes part* if it meets `enqueue_when`. A condition that is
/// null counts as not met. A change of a row marks
///
/// - the key of the old row, if that row was current and took part, and it was deleted, got another key, is not current
///   any more, or, with [`OnLeave::Deactivate`], does not take part any more;
/// - the key of the old row, if that row was current without taking part, it was deleted, got another key or is not
///   current any more, and the key is active at the destination or has an item under way;
/// - the key of the new row, if that row is current and takes part, and the row is new, the value of a watched column
///   changed, or the row was not current or did not take part before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name of the source.
    pub name: String,
    /// The sync queue for its changes.
    pub queue: QueueName,
    /// The table.
    pub table: Relation,
    /// The column with the key.
    pub key: String,
    /// The columns whose changes mark the key.
    pub watch: Vec<String>,
    /// The condition of current rows, as SQL. `None` if every row is current.
    pub current_when: Option<String>,
    /// The condition of rows that take part, as SQL. `None` if every row takes part.
    pub enqueue_when: Option<String>,
    /// The effect of a row that stops taking part.
    pub on_leave: OnLeave,
    /// Install a unique index that allows one current row per key.
    pub one_current_per_key: bool,
    /// The name of the trigger.
    pub trigger: String,
    /// The view that shows the queue to users of the database.
    pub view: Option<Relation>,
    /// The destination's name for an update.
    pub update: String,
    /// The destination's name for a deactivation.
    pub deactivate: String,
    /// The columns that are sent.
    pub payload: Vec<String>,
}

impl Source {
    /// Returns the name of the trigger's function in the engine's schema.
    pub fn function(&self) -> String {
        fit_ident("sync_", &self.name, "")
    }

    /// Returns the name of the trigger for TRUNCATE. The trigger for rows cannot handle TRUNCATE.
    pub fn truncate_trigger(&self) -> String {
        fit_ident("", &self.trigger, "_truncate")
    }

    /// Returns the name of the index that allows one current row per key.
    pub fn index(&self) -> String {
        fit_ident("turno_", &self.name, "_one_current")
    }

    /// Returns all columns that must exist, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = vec![&self.key];
        for column in self.watch.iter().chain(&self.payload) {
            if !columns.contains(&column.as_str()) {
                columns.push(column);
            }
        }
        columns
    }

    /// Decides what to send for a key. `row` is the data of its current row that takes part. `left` means that a
    /// current row exists but does not take part.
    pub fn decide_outgoing(&self, row: Option<String>, left: bool) -> Outgoing {
        match row {
            Some(row) => Outgoing::Update(row),
            None if left && self.on_leave == OnLeave::Ignore => Outgoing::Nothing,
            None => Outgoing::Deactivate,
        }
    }

    /// Returns the destination's name for the action: an update if the key has a row, otherwise a deactivation.
    pub fn action(&self, row_exists: bool) -> &str {
        if row_exists { &self.update } else { &self.deactivate }
    }
}

/// Hashes the data of an update, to compare it with the last delivery.
pub fn digest(data: &str) -> [u8; 32] {
    *blake3::hash(data.as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        let watch = vec!["nombre".to_owned(), "idper".to_owned()];
        Source { watch, payload: vec!["mail".to_owned(), "nombre".to_owned()], ..Source::siper() }
    }

    #[test]
    fn relation_without_a_schema_is_in_public() {
        assert_eq!(Relation::parse("t").quoted(), Ok("\"public\".\"t\"".to_owned()));
        assert_eq!(Relation::parse("a.t").quoted(), Ok("\"a\".\"t\"".to_owned()));
        assert_eq!(
            (Relation::parse("t").display(), Relation::parse("a.t").display()),
            ("t".to_owned(), "a.t".to_owned())
        );
    }

    #[test]
    fn generated_names_fit_and_differ() {
        let long = |last: &str| Source { name: format!("{}{last}", "ñ".repeat(99)), ..source() };
        for made in [Source::function, Source::index] {
            let (one, other) = (made(&long("a")), made(&long("b")));
            assert!(one.len() <= IDENT_MAX && other.len() <= IDENT_MAX, "{one}");
            assert_ne!(one, other, "names that differ only after the cut get different hashes");
        }
        assert_eq!(source().function(), "sync_usuarios");
        let trigger = "t".repeat(IDENT_MAX);
        let cut = Source { trigger: trigger.clone(), ..source() }.truncate_trigger();
        assert!(cut.len() <= IDENT_MAX && cut != trigger, "{cut}");
    }

    #[test]
    fn columns_are_listed_once_and_a_row_decides_the_action() {
        assert_eq!(source().columns(), ["idper", "nombre", "mail"]);
        assert_eq!((source().action(true), source().action(false)), ("ACTUALIZAR", "DESACTIVAR"));
    }

    #[test]
    fn row_that_left_is_deactivated_only_if_configured_and_a_deleted_row_always() {
        let say = |on_leave, row: Option<&str>, left| {
            Source { on_leave, ..source() }.decide_outgoing(row.map(str::to_owned), left)
        };
        assert_eq!(say(OnLeave::Ignore, Some("{}"), true), Outgoing::Update("{}".to_owned()), "another row is current");
        assert_eq!(say(OnLeave::Ignore, None, true), Outgoing::Nothing);
        assert_eq!(say(OnLeave::Deactivate, None, true), Outgoing::Deactivate);
        assert_eq!(say(OnLeave::Ignore, None, false), Outgoing::Deactivate);
    }
}
