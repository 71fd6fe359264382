//! Calls: a statement with its parameters, as data.
//!
//! A trip is a list of calls. Parameters carry their types, so that the same call can be sent as a prepared statement
//! or, behind a pooler that keeps none, as text.

use super::sql::Sql;
use std::borrow::Cow;
use std::error::Error;
// Imported from the path that the macro `to_sql_checked` uses, so that one type needs no dependency of its own.
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

/// A parameter and its type.
pub(super) type Param<'a> = (Box<dyn ToSql + Sync + Send + 'a>, Type);

/// A statement with its parameters, in order.
pub(super) struct Call<'a> {
    pub(super) sql: &'static Sql,
    pub(super) params: Vec<Param<'a>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(sql: &'static Sql) -> Call<'a> {
        Call { sql, params: Vec::new() }
    }

    fn with(mut self, value: impl ToSql + Sync + Send + 'a, kind: Type) -> Call<'a> {
        self.params.push((Box::new(value), kind));
        self
    }

    pub(super) fn int(self, value: i32) -> Call<'a> {
        self.with(value, Type::INT4)
    }

    pub(super) fn big(self, value: i64) -> Call<'a> {
        self.with(value, Type::INT8)
    }

    pub(super) fn flag(self, value: bool) -> Call<'a> {
        self.with(value, Type::BOOL)
    }

    pub(super) fn text(self, value: &'a str) -> Call<'a> {
        self.with(value, Type::TEXT)
    }

    pub(super) fn maybe_text(self, value: Option<&'a str>) -> Call<'a> {
        self.with(value, Type::TEXT)
    }

    pub(super) fn made_text(self, value: Option<String>) -> Call<'a> {
        self.with(value, Type::TEXT)
    }

    pub(super) fn maybe_big(self, value: Option<i64>) -> Call<'a> {
        self.with(value, Type::INT8)
    }

    pub(super) fn bytes(self, value: &'a [u8]) -> Call<'a> {
        self.with(value, Type::BYTEA)
    }

    pub(super) fn maybe_bytes(self, value: Option<&'a [u8]>) -> Call<'a> {
        self.with(value, Type::BYTEA)
    }

    pub(super) fn many_bytes(self, values: impl Iterator<Item = &'a [u8]>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::BYTEA_ARRAY)
    }

    pub(super) fn maybe_ints(self, values: impl Iterator<Item = Option<i32>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT4_ARRAY)
    }

    pub(super) fn smalls(self, values: impl Iterator<Item = i16>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT2_ARRAY)
    }

    pub(super) fn maybe_smalls(self, values: impl Iterator<Item = Option<i16>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT2_ARRAY)
    }

    pub(super) fn ints(self, values: impl Iterator<Item = i32>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT4_ARRAY)
    }

    pub(super) fn bigs(self, values: impl Iterator<Item = i64>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT8_ARRAY)
    }

    pub(super) fn maybe_bigs(self, values: impl Iterator<Item = Option<i64>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT8_ARRAY)
    }

    pub(super) fn flags(self, values: impl Iterator<Item = bool>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::BOOL_ARRAY)
    }

    pub(super) fn maybe_flags(self, values: impl Iterator<Item = Option<bool>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::BOOL_ARRAY)
    }

    pub(super) fn texts(self, values: impl Iterator<Item = &'a str>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::TEXT_ARRAY)
    }

    pub(super) fn maybe_texts(self, values: impl Iterator<Item = Option<&'a str>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::TEXT_ARRAY)
    }

    /// Texts that the call owns.
    pub(super) fn made_texts(self, values: impl Iterator<Item = Option<String>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::TEXT_ARRAY)
    }
}

/// A value sent as text, which the server reads as the type that it infers. So an index is used whatever its type.
#[derive(Debug)]
pub(super) struct AsText<'a>(pub(super) Option<Cow<'a, str>>);

impl ToSql for AsText<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Some(text) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}
