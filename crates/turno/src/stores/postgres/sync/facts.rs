//! What the catalogue says about a table, and the kind of its key.

use super::super::call::Call;
use super::super::connection::Link;
use super::super::error::TripError;
use super::super::row::{garbled, get};
use super::super::sql;
use turno_core::sync::{Column, Source, SourceRefused};

/// A table as described by the catalogue.
pub(super) struct Facts {
    /// The owner of the engine's schema, and so of the function and the view.
    pub(super) owner: String,
    /// The owner of the table.
    pub(super) table_owner: String,
    /// The kind of the key.
    pub(super) key: KeyKind,
    /// The key's declared type, for use in a statement.
    pub(super) key_type: String,
    /// All columns of the table.
    pub(super) columns: Vec<Column>,
    /// The number of the source's queue, which the trigger writes. Queues are never removed, so that it stays. `None`
    /// if the queue does not exist yet.
    pub(super) queue: Option<i32>,
}

/// Types that can be a key: their text does not depend on session settings, and they have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Int2,
    Int4,
    Int8,
    Numeric,
    Text,
    Uuid,
    Enum,
}

impl KeyKind {
    fn from_type(name: &str, is_enum: bool) -> Option<KeyKind> {
        Some(match name {
            _ if is_enum => KeyKind::Enum,
            "int2" => KeyKind::Int2,
            "int4" => KeyKind::Int4,
            "int8" => KeyKind::Int8,
            "numeric" => KeyKind::Numeric,
            "text" | "varchar" | "bpchar" => KeyKind::Text,
            "uuid" => KeyKind::Uuid,
            _ => return None,
        })
    }

    /// Renders the conversion of a key's text to its type; null for a text that is no value of it. The queue may hold
    /// such keys, because callers of the API choose them freely.
    pub(super) fn typed(self, text: &str) -> String {
        let whole = |least: &str, most: &str, kind: &str| {
            format!(
                "case when {text} ~ '^-?[0-9]{{1,19}}$' then case when {text}::numeric between {least} and {most} \
                 then {text}::{kind} end end"
            )
        };
        match self {
            KeyKind::Int2 => whole("-32768", "32767", "int2"),
            KeyKind::Int4 => whole("-2147483648", "2147483647", "int4"),
            KeyKind::Int8 => whole("-9223372036854775808", "9223372036854775807", "int8"),
            KeyKind::Numeric => {
                format!("case when {text} ~ '^-?[0-9]{{1,150}}([.][0-9]{{1,40}})?$' then {text}::numeric end")
            }
            KeyKind::Uuid => {
                format!(
                    "case when {text} ~ '^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$' then {text}::uuid end"
                )
            }
            KeyKind::Text | KeyKind::Enum => text.to_owned(),
        }
    }

    /// Renders the condition that the text of a key can be an item's id, which `turno.is_name` checks in general. That
    /// function is too slow for every changed row, and most types need no check.
    pub(super) fn is_name(self, text: &str) -> String {
        match self {
            KeyKind::Int2 | KeyKind::Int4 | KeyKind::Int8 | KeyKind::Uuid => "true".to_owned(),
            KeyKind::Numeric => format!("char_length({text}) <= 200"),
            KeyKind::Text | KeyKind::Enum => {
                format!("char_length({text}) between 1 and 200 and {text} !~ '[\\u0001-\\u001f\\u007f-\\u009f]'")
            }
        }
    }

    /// Renders the condition that a column is the key with this text, such that an index on the column can be used.
    pub(super) fn matches(self, column: &str, text: &str) -> String {
        match self {
            KeyKind::Enum => format!("{column}::text = {text}"),
            KeyKind::Text => format!("{column} = {text} and {column}::text = {text}"),
            _ => format!("{column} = ({}) and {column}::text = {text}", self.typed(text)),
        }
    }
}

impl Facts {
    /// Reads the catalogue, in a transaction whose search path is `pg_catalog`.
    pub(super) async fn read(link: &mut Link, source: &Source) -> Result<Result<Facts, SourceRefused>, TripError> {
        let call = Call::new(&sql::SYNC_TABLE)
            .text(source.table.schema())
            .text(&source.table.name)
            .text(&source.key)
            .texts(source.columns().into_iter())
            .text(source.queue.as_str());
        let rows = link.trip(&[call]).await?.pop().unwrap_or_default();
        let row = rows.first().ok_or_else(|| garbled("no look at the table"))?;
        let table = source.table.display();
        let kind: Option<String> = get(row, 1)?;
        let refused = match kind.as_deref() {
            None => Some(SourceRefused::NoTable(table.clone())),
            Some("r" | "p") => None,
            Some(_) => Some(SourceRefused::NotATable(table.clone())),
        };
        if let Some(refused) = refused {
            return Ok(Err(refused));
        }
        let owner: String = get(row, 0)?;
        let columns: Vec<String> = get(row, 3)?;
        if !columns.is_empty() {
            return Ok(Err(SourceRefused::NoColumns { table, columns }));
        }
        if !get::<bool>(row, 6)? {
            return Ok(Err(SourceRefused::Unreadable { table, role: owner }));
        }
        if get::<bool>(row, 7)? {
            return Ok(Err(SourceRefused::Hidden { table, role: owner }));
        }
        let (base, is_enum): (String, bool) = (get(row, 4)?, get(row, 5)?);
        let Some(key) = KeyKind::from_type(&base, is_enum) else {
            return Ok(Err(SourceRefused::KeyType { column: source.key.clone(), kind: base }));
        };
        let (names, plain): (Vec<String>, Vec<bool>) = (get(row, 9)?, get(row, 10)?);
        let columns = names.into_iter().zip(plain).map(|(name, plain)| Column { name, plain }).collect();
        let (table_owner, key_type, queue) = (get(row, 2)?, get(row, 8)?, get(row, 11)?);
        Ok(Ok(Facts { owner, table_owner, key, key_type, columns, queue }))
    }
}
