//! Reads values strictly and reports errors as data.
//!
//! [`Objects`] wraps a deserializer and everything that is read from it. It buffers nothing and changes two things:
//!
//! - An array where an object is expected is refused. Derived `Deserialize` impls also accept an array of an object's
//!   values in field order.
//! - The error is a [`BadValue`]. The parser below has its own error type, so the wrapper keeps the `BadValue` in a
//!   cell while the parser's error passes through, and takes it out again on the other side. If the parser itself
//!   refuses a value, the value has the wrong type; the caller tells syntax errors apart by parsing again.
//!
//! A traced reading also collects the path of the bad value. It copies every text, so it happens only after an error. It
//! is the same code as an untraced one, because every type of body would be compiled twice otherwise.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::fault::{Asked, BadValue};

/// The result of a reading: the error that passes through the parser and, if the reading is traced, its path.
#[derive(Default)]
pub(super) struct Kept {
    error: RefCell<Option<BadValue>>,
    trace: Option<RefCell<Trace>>,
}

#[derive(Default)]
struct Trace {
    /// The last text that was read. After a key was read, it is the key.
    text: Option<String>,
    /// The path of the error, innermost part first.
    path: Vec<String>,
}

impl Kept {
    /// Keeps the path of the error too.
    pub(super) fn traced() -> Kept {
        Kept { trace: Some(RefCell::default()), ..Kept::default() }
    }

    /// Returns the path of the error, for example `entries[1].fence`. It is empty for the whole value.
    pub(super) fn path(self) -> String {
        let parts = self.trace.map(RefCell::into_inner).unwrap_or_default().path;
        let path: String = parts.iter().rev().map(String::as_str).collect();
        path.strip_prefix('.').map_or(path.clone(), str::to_owned)
    }

    fn text(&self, text: &str) {
        if let Some(trace) = &self.trace {
            trace.borrow_mut().text = Some(text.to_owned());
        }
    }

    /// Returns the last text as a part of the path.
    fn key(&self) -> Option<String> {
        let text = self.trace.as_ref()?.borrow_mut().text.take()?;
        Some(format!(".{text}"))
    }

    fn within(&self, part: impl FnOnce() -> Option<String>) {
        if let Some(trace) = &self.trace {
            trace.borrow_mut().path.extend(part());
        }
    }
}

/// A wrapped deserializer, visitor or seed.
pub(super) struct Objects<'k, T> {
    inner: T,
    kept: &'k Kept,
}

impl<'k, T> Objects<'k, T> {
    pub(super) fn new(inner: T, kept: &'k Kept) -> Objects<'k, T> {
        Objects { inner, kept }
    }
}

/// A wrapped access to the parts of a value, with the part that is being read.
pub(super) struct Parts<'k, A, P> {
    inner: A,
    kept: &'k Kept,
    part: P,
}

/// Keeps the error and returns a parser's error in its place.
fn keep<E: Error>(kept: &Kept, error: BadValue) -> E {
    *kept.error.borrow_mut() = Some(error);
    E::custom("")
}

/// Returns the kept error in place of the parser's.
fn take<E: Error>(kept: &Kept, _: E) -> BadValue {
    kept.error.borrow_mut().take().unwrap_or(BadValue::Type(None))
}

/// A visitor of an object's fields. It implements no `visit_seq`, so an array is refused.
struct Fields<'k, V>(Objects<'k, V>);

impl<'de, V: Visitor<'de>> Visitor<'de> for Fields<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(map)
    }
}

macro_rules! deserialize {
    ($($asked:ident: $($method:ident($($name:ident: $type:ty),*))*;)*) => {$($(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, BadValue> {
            let kept = self.kept;
            let read = self.inner.$method($($name,)* Objects::new(visitor, kept));
            read.map_err(|error| take(kept, error).asked(Asked::$asked))
        }
    )*)*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<'_, D> {
    type Error = BadValue;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, BadValue> {
        let kept = self.kept;
        let read = self.inner.deserialize_struct(name, fields, Fields(Objects::new(visitor, kept)));
        read.map_err(|error| take(kept, error).asked(Asked::Object))
    }

    deserialize! {
        Any: deserialize_any() deserialize_unit() deserialize_option() deserialize_ignored_any()
            deserialize_unit_struct(name: &'static str) deserialize_newtype_struct(name: &'static str);
        Boolean: deserialize_bool();
        Integer: deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128();
        Unsigned: deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128();
        Number: deserialize_f32() deserialize_f64();
        Text: deserialize_char() deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf()
            deserialize_identifier();
        List: deserialize_seq() deserialize_tuple(len: usize)
            deserialize_tuple_struct(name: &'static str, len: usize);
        Object: deserialize_map();
        Word: deserialize_enum(name: &'static str, variants: &'static [&'static str]);
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($($type:ty)?))*) => {$(
        visit!(one $method $($type)?);
    )*};
    (one $method:ident $type:ty) => {
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value).map_err(|error| keep(self.kept, error))
        }
    };
    (one $method:ident) => {
        fn $method<E: Error>(self) -> Result<V::Value, E> {
            self.inner.$method().map_err(|error| keep(self.kept, error))
        }
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.kept.text(value);
        self.inner.visit_str(value).map_err(|error| keep(self.kept, error))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.kept.text(value);
        self.inner.visit_borrowed_str(value).map_err(|error| keep(self.kept, error))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<V::Value, E> {
        self.kept.text(&value);
        self.inner.visit_string(value).map_err(|error| keep(self.kept, error))
    }

    // The JSON parser calls no other methods for numbers.
    visit! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128) visit_f64(f64)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>) visit_none() visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Objects::new(inner, self.kept)).map_err(|error| keep(self.kept, error))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Objects::new(inner, self.kept)).map_err(|error| keep(self.kept, error))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let parts = Parts { inner: seq, kept: self.kept, part: 0 };
        self.inner.visit_seq(parts).map_err(|error| keep(self.kept, error))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let parts = Parts { inner: map, kept: self.kept, part: None };
        self.inner.visit_map(parts).map_err(|error| keep(self.kept, error))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, one: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(Objects::new(one, self.kept)).map_err(|error| keep(self.kept, error))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Objects::new(deserializer, self.kept)).map_err(|error| keep(self.kept, error))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Parts<'_, A, usize> {
    type Error = BadValue;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, BadValue> {
        let (kept, index) = (self.kept, self.part);
        self.part += 1;
        self.inner.next_element_seed(Objects::new(seed, kept)).map_err(|error| {
            kept.within(|| Some(format!("[{index}]")));
            take(kept, error)
        })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Parts<'_, A, Option<String>> {
    type Error = BadValue;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, BadValue> {
        let read = self.inner.next_key_seed(Objects::new(seed, self.kept)).map_err(|error| take(self.kept, error));
        self.part = self.kept.key();
        read
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, BadValue> {
        let (kept, key) = (self.kept, &mut self.part);
        self.inner.next_value_seed(Objects::new(seed, kept)).map_err(|error| {
            kept.within(|| key.take());
            take(kept, error)
        })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'k, A: EnumAccess<'de>> EnumAccess<'de> for Objects<'k, A> {
    type Error = BadValue;
    type Variant = Parts<'k, A::Variant, Option<String>>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), BadValue> {
        let kept = self.kept;
        let read = self.inner.variant_seed(Objects::new(seed, kept)).map_err(|error| take(kept, error));
        read.map(|(value, inner)| (value, Parts { inner, kept, part: kept.key() }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Parts<'_, A, Option<String>> {
    type Error = BadValue;

    fn unit_variant(self) -> Result<(), BadValue> {
        self.inner.unit_variant().map_err(|error| take(self.kept, error))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, BadValue> {
        let Parts { inner, kept, part } = self;
        inner.newtype_variant_seed(Objects::new(seed, kept)).map_err(|error| {
            kept.within(|| part);
            take(kept, error)
        })
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, BadValue> {
        let Parts { inner, kept, part } = self;
        inner.tuple_variant(len, Objects::new(visitor, kept)).map_err(|error| {
            kept.within(|| part);
            take(kept, error)
        })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, BadValue> {
        let Parts { inner, kept, part } = self;
        inner.struct_variant(fields, Fields(Objects::new(visitor, kept))).map_err(|error| {
            kept.within(|| part);
            take(kept, error)
        })
    }
}
