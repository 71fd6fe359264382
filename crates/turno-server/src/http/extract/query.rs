//! Reads the fields of a query string or a form.

use std::borrow::Cow;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};

use super::fault::{Asked, BadValue};

/// Reads the fields. The error names the field, if it belongs to one.
pub(super) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, (Option<String>, BadValue)> {
    let mut fields = Fields { pairs: form_urlencoded::parse(text), value: None, field: None };
    T::deserialize(MapAccessDeserializer::new(&mut fields)).map_err(|bad| {
        let field = bad.named().map(str::to_owned).or(fields.field);
        (field, bad)
    })
}

/// The fields that are not read yet, and the one that is being read.
struct Fields<'a> {
    pairs: form_urlencoded::Parse<'a>,
    value: Option<Cow<'a, str>>,
    field: Option<String>,
}

impl<'de> MapAccess<'de> for &mut Fields<'de> {
    type Error = BadValue;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, BadValue> {
        let Some((name, value)) = self.pairs.next() else {
            self.field = None;
            return Ok(None);
        };
        (self.value, self.field) = (Some(value), Some(name.to_string()));
        let name: CowStrDeserializer<'_, BadValue> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, BadValue> {
        seed.deserialize(Text(self.value.take().unwrap_or_default()))
    }
}

/// The text of one field.
struct Text<'de>(Cow<'de, str>);

macro_rules! parse {
    ($($asked:ident: $($method:ident $visit:ident)*;)*) => {$($(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadValue> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(BadValue::Type(Some(Asked::$asked))),
            }
        }
    )*)*};
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = BadValue;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadValue> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadValue> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, BadValue> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, BadValue> {
        let text: CowStrDeserializer<'_, BadValue> = self.0.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    parse! {
        Boolean: deserialize_bool visit_bool;
        Integer: deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64;
        Unsigned: deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32
            deserialize_u64 visit_u64;
        Number: deserialize_f32 visit_f32 deserialize_f64 visit_f64;
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
