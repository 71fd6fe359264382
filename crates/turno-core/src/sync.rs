//! Synchronisation: a table whose changes are carried elsewhere, as a description.
//!
//! It is *level-triggered*. A change of the table only marks keys; what is sent for a key is decided from the table
//! when the event is handed out: a row that speaks for it (current and taking part) is sent, and where there is none
//! the key is deactivated, unless its row has only left and that is to be ignored. So neither the order inside a
//! transaction nor a row that never spoke for its key can give a wrong last word. Which keys a change marks is said by
//! [`Source`]'s fields and carried out by the trigger, which a store writes.
//!
//! Left out on purpose: SQL (a store's), and where changes are sent (the server's).

mod compare;
mod quote;
mod refused;
mod siper;

pub use compare::{Difference, Kept};
pub use quote::{BadIdent, IDENT_MAX, dollar_quote, fitting, quote_ident, quote_literal};
pub use refused::SourceRefused;

use crate::id::QueueName;
use std::fmt;

/// A table or a view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    /// Its schema, if one was named.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
}

impl Relation {
    /// Reads `NAME` or `SCHEMA.NAME`, without quotes.
    pub fn of(text: &str) -> Relation {
        match text.split_once('.') {
            Some((schema, name)) => Relation { schema: Some(schema.to_owned()), name: name.to_owned() },
            None => Relation { schema: None, name: text.to_owned() },
        }
    }

    /// The schema it is in. Where none was named it is `public`: whoever installs must not decide it by a setting of
    /// their session.
    pub fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }

    /// As people write it.
    pub fn shown(&self) -> String {
        self.schema.as_ref().map_or_else(|| self.name.clone(), |schema| format!("{schema}.{}", self.name))
    }

    /// As it is written in a statement.
    pub fn quoted(&self) -> Result<String, BadIdent> {
        Ok(format!("{}.{}", quote_ident(self.schema())?, quote_ident(&self.name)?))
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// What happens when a row stops meeting `enqueue_when`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLeave {
    /// Nothing; it is counted and shown.
    Ignore,
    /// Its key is marked, and so deactivated at the destination.
    Deactivate,
}

/// What a destination is to be told of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
    /// This row speaks for it and takes part: its columns, as JSON.
    Update(String),
    /// Nobody speaks for it.
    Deactivate,
    /// Its row does not take part any more, and the destination is not to hear of that.
    Nothing,
}

impl Say {
    /// What is sent of the row, if one is.
    pub fn into_data(self) -> Option<String> {
        match self {
            Say::Update(data) => Some(data),
            Say::Deactivate | Say::Nothing => None,
        }
    }
}

/// The action of an event that ended with nothing to be told.
pub const NOTHING: &str = "nothing_to_do";

/// A table whose changes are carried elsewhere.
///
/// A row *speaks* for its key if it meets `current_when`, and it *takes part* if it meets `enqueue_when`; what is
/// unknown (null) counts as no. A change marks
///
/// - the old row's key, if that row spoke and took part, and it was deleted, has another key now, does not speak any
///   more, or, with [`OnLeave::Deactivate`], does not take part any more;
/// - the old row's key, if that row spoke without taking part, it was deleted, has another key now or does not speak
///   any more, and the destination was last told that the key is active, or is being told something;
/// - the new row's key, if that row speaks and takes part, and it is new, a watched column is really another one, or it
///   did not speak or take part before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What people call it.
    pub name: String,
    /// The queue that carries its changes.
    pub queue: QueueName,
    /// The table.
    pub table: Relation,
    /// The column that names what is synchronised.
    pub key: String,
    /// The columns whose change matters.
    pub watch: Vec<String>,
    /// Which row speaks for its key; nothing if every row does.
    pub current_when: Option<String>,
    /// Which rows take part; nothing if all do.
    pub enqueue_when: Option<String>,
    /// What happens when a row stops taking part.
    pub on_leave: OnLeave,
    /// Whether a unique index allows one current row per key.
    pub one_current_per_key: bool,
    /// The trigger's name.
    pub trigger: String,
    /// The view that shows the queue to people of the database.
    pub view: Option<Relation>,
    /// What the destination calls an update.
    pub update: String,
    /// What the destination calls a deactivation.
    pub deactivate: String,
    /// The columns that are sent.
    pub payload: Vec<String>,
}

impl Source {
    /// The name of the trigger's function, in the engine's schema.
    pub fn function(&self) -> String {
        fitting("sync_", &self.name, "")
    }

    /// The name of the trigger for TRUNCATE, which cannot be the one for rows.
    pub fn truncate_trigger(&self) -> String {
        fitting("", &self.trigger, "_truncate")
    }

    /// The name of the index that allows one current row per key.
    pub fn index(&self) -> String {
        fitting("turno_", &self.name, "_one_current")
    }

    /// All columns that must exist, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = vec![&self.key];
        for column in self.watch.iter().chain(&self.payload) {
            if !columns.contains(&column.as_str()) {
                columns.push(column);
            }
        }
        columns
    }

    /// What is to be told of a key: `row` speaks for it and takes part; or one has `left`, which speaks and does not.
    /// Who left is deactivated only where that is wished: the row is neither gone nor without its current one.
    pub fn say(&self, row: Option<String>, left: bool) -> Say {
        match row {
            Some(row) => Say::Update(row),
            None if left && self.on_leave == OnLeave::Ignore => Say::Nothing,
            None => Say::Deactivate,
        }
    }

    /// What the destination is told to do: a row that speaks for the key is sent, otherwise it is deactivated.
    pub fn action(&self, row_exists: bool) -> &str {
        if row_exists { &self.update } else { &self.deactivate }
    }
}

/// What two deliveries of the same data have in common, and different data do not.
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
    fn a_relation_without_a_schema_is_in_public() {
        assert_eq!(Relation::of("t").quoted(), Ok("\"public\".\"t\"".to_owned()));
        assert_eq!(Relation::of("a.t").quoted(), Ok("\"a\".\"t\"".to_owned()));
        assert_eq!((Relation::of("t").shown(), Relation::of("a.t").shown()), ("t".to_owned(), "a.t".to_owned()));
    }

    #[test]
    fn every_name_that_is_made_fits_and_stays_apart_from_others() {
        let long = |last: &str| Source { name: format!("{}{last}", "ñ".repeat(99)), ..source() };
        for made in [Source::function, Source::index] {
            let (one, other) = (made(&long("a")), made(&long("b")));
            assert!(one.len() <= IDENT_MAX && other.len() <= IDENT_MAX, "{one}");
            assert_ne!(one, other, "what differs behind the cut stays apart");
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
    fn who_left_is_deactivated_only_where_that_is_wished_and_who_is_gone_always() {
        let say = |on_leave, row: Option<&str>, left| Source { on_leave, ..source() }.say(row.map(str::to_owned), left);
        assert_eq!(say(OnLeave::Ignore, Some("{}"), true), Say::Update("{}".to_owned()), "another row speaks");
        assert_eq!(say(OnLeave::Ignore, None, true), Say::Nothing);
        assert_eq!(say(OnLeave::Deactivate, None, true), Say::Deactivate);
        assert_eq!(say(OnLeave::Ignore, None, false), Say::Deactivate);
    }
}
