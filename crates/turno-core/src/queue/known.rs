//! Ids that were accepted before: how long they count as duplicates, and whether a repeat has the same content.
//!
//! An id belongs to an item, or to a change that replaced the content of an unfinished sync item. It counts as a
//! duplicate until its retention is over. The cleanup of old rows has no influence on that.

use super::{NewItem, Policy};
use crate::id::{Key, Seq};
use crate::time::Time;
use blake3::Hasher;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many levels of JSON are compared by value. Deeper parts are compared as text.
const DEPTH: u32 = 64;

/// An id that was accepted before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// The id of an item.
    Item {
        /// The item.
        seq: Seq,
        /// The item's key.
        key: Option<Key>,
        /// The payload that was accepted under the id. The item may carry a newer one by now.
        payload: Arc<str>,
        /// When the item was processed or cancelled. The retention counts from here.
        over_at: Option<Time>,
    },
    /// The id of a change that replaced the content of an unfinished item.
    Absorbed {
        /// The digest of the accepted key and payload.
        digest: Digest,
        /// When the change was accepted. The retention counts from here.
        at: Time,
    },
}

impl Known {
    /// Returns whether the retention is over, so that the id can be accepted again.
    pub fn is_outlived(&self, policy: &Policy, now: Time) -> bool {
        let since = match self {
            Known::Item { over_at, .. } => *over_at,
            Known::Absorbed { at, .. } => Some(*at),
        };
        // The same comparison as in the cleanup statements, so that both always agree.
        since.is_some_and(|at| at.0 < now.0.saturating_sub(policy.retention.0))
    }

    /// Returns whether `new` has another key or another JSON value than was accepted under the id.
    pub(super) fn differs(&self, new: &NewItem) -> bool {
        match self {
            Known::Item { key, .. } if *key != new.key => true,
            Known::Item { payload, .. } if *payload == new.payload => false,
            Known::Item { key, payload, .. } => {
                Digest::compute(key.as_ref(), payload) != Digest::compute(new.key.as_ref(), &new.payload)
            }
            Known::Absorbed { digest, .. } => *digest != Digest::compute(new.key.as_ref(), &new.payload),
        }
    }
}

/// A hash of a key and a JSON value. Equal values have equal digests, even if their JSON is written differently. It
/// only detects that a caller used an id twice by mistake, so eight bytes are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub i64);

impl Digest {
    /// Computes the digest of a key and a JSON text.
    pub fn compute(key: Option<&Key>, payload: &str) -> Digest {
        let mut hasher = Hasher::new();
        hasher.update(&[u8::from(key.is_some())]);
        hash_text(&mut hasher, key.map_or("", Key::as_str));
        hash_value(&mut hasher, payload.trim_matches([' ', '\t', '\r', '\n']), 0);
        let hash = hasher.finalize();
        let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
        Digest(i64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// Hashes a text with its length, so that two different lists of texts never hash the same bytes.
fn hash_text(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_be_bytes());
    hasher.update(text.as_bytes());
}

/// Hashes one JSON value, given without surrounding spaces. Text that is not valid JSON is hashed as it is.
fn hash_value(hasher: &mut Hasher, text: &str, depth: u32) {
    let tag = text.as_bytes().first().copied().filter(|_| depth < DEPTH);
    let done = match tag {
        Some(b'{') => serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(text).ok().map(|members| {
            hasher.update(b"{");
            hasher.update(&(members.len() as u64).to_be_bytes());
            for (name, member) in members {
                hash_text(hasher, &name);
                hash_value(hasher, member.get(), depth + 1);
            }
        }),
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(text).ok().map(|members| {
            hasher.update(b"[");
            hasher.update(&(members.len() as u64).to_be_bytes());
            members.iter().for_each(|member| hash_value(hasher, member.get(), depth + 1));
        }),
        Some(b'"') => serde_json::from_str::<Cow<'_, str>>(text).ok().map(|string| {
            hasher.update(b"\"");
            hash_text(hasher, &string);
        }),
        Some(b'-' | b'0'..=b'9') => parse_number(text).map(|(negative, digits, exponent)| {
            hasher.update(if negative { b"-" } else { b"+" });
            hash_text(hasher, &digits);
            hasher.update(&exponent.to_be_bytes());
        }),
        _ => None,
    };
    if done.is_none() {
        hasher.update(b"?");
        hash_text(hasher, text);
    }
}

/// Parses a number into its sign, its digits without zeros at either end, and a power of ten. This is exact. A float is
/// not: ids of other systems can be larger than a float can represent.
fn parse_number(text: &str) -> Option<(bool, String, i64)> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let power = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    Some((negative, significant.to_owned(), power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        Digest::compute(None, a) == Digest::compute(None, b)
    }

    #[test]
    fn equal_json_values_have_equal_digests_however_they_are_written() {
        assert!(same(r#"{"a":1,"b":[true,null]}"#, r#" { "b" : [ true, null ] , "a" : 1.0 } "#));
        assert!(same("100", "1e2") && same("1E+2", "100.00") && same("0.10", "1e-1") && same("-0", "0.0"));
        assert!(same(r#""ñ/""#, r#""\u00f1\/""#));
        assert!(same(r#"{"a":1,"a":2}"#, r#"{"a":2}"#), "of two members with one name, the last one counts");
        assert!(same("9007199254740993", "9007199254740993.0"));
    }

    #[test]
    fn different_json_values_have_different_digests() {
        for (a, b) in [
            ("1", "2"),
            ("1", "-1"),
            ("1", "10"),
            ("1", "\"1\""),
            ("9007199254740992", "9007199254740993"),
            ("[1,2]", "[2,1]"),
            ("[[1],2]", "[[1,2]]"),
            (r#"{"a":"bc"}"#, r#"{"ab":"c"}"#),
            ("null", "false"),
            ("[]", "{}"),
            ("{}", "null"),
        ] {
            assert!(!same(a, b), "{a} and {b}");
        }
        let ana = Key::new("ana").ok();
        assert_ne!(Digest::compute(ana.as_ref(), "1"), Digest::compute(None, "1"));
    }

    #[test]
    fn invalid_or_deeply_nested_json_is_compared_as_text() {
        assert!(same("{", "{") && !same("{", "["));
        assert!(same("1e99999999999999999999", "1e99999999999999999999"));
        let deep = |middle: &str| format!("{}{middle}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(same(&deep("1"), &deep("1")) && !same(&deep("1"), &deep("2")));
    }
}
