//! Ids that were accepted before: until when they are refused, and whether the same was sent again.
//!
//! An id belongs to an item, or to a change that an unfinished item took in and that left nothing else behind. It
//! is refused for as long as the retention lasts, whether or not somebody has tidied up meanwhile.

use super::{NewItem, Policy};
use crate::id::{Key, Seq};
use crate::time::Time;
use blake3::Hasher;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deep values are compared; what is below counts as the same only if it is written the same way.
const DEPTH: u32 = 64;

/// An id that was accepted before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It is the id of an item.
    Item {
        /// Which.
        seq: Seq,
        /// Whose it is.
        key: Option<Key>,
        /// What was accepted under the id, whatever the item carries by now.
        payload: Arc<str>,
        /// Since when it may be forgotten: it was processed or cancelled then.
        over_at: Option<Time>,
    },
    /// It came with a change that an unfinished item took in.
    Absorbed {
        /// What was accepted.
        digest: Digest,
        /// When.
        at: Time,
    },
}

impl Known {
    /// The retention is over: as if it had never been accepted.
    pub fn is_outlived(&self, policy: &Policy, now: Time) -> bool {
        let since = match self {
            Known::Item { over_at, .. } => *over_at,
            Known::Absorbed { at, .. } => Some(*at),
        };
        // As whoever tidies up compares, so that both always agree.
        since.is_some_and(|at| at.0 < now.0.saturating_sub(policy.retention.0))
    }

    /// Something else is sent under the id than was accepted.
    pub(super) fn differs(&self, new: &NewItem) -> bool {
        match self {
            Known::Item { key, .. } if *key != new.key => true,
            Known::Item { payload, .. } if *payload == new.payload => false,
            Known::Item { key, payload, .. } => {
                Digest::of(key.as_ref(), payload) != Digest::of(new.key.as_ref(), &new.payload)
            }
            Known::Absorbed { digest, .. } => *digest != Digest::of(new.key.as_ref(), &new.payload),
        }
    }
}

/// What an item says: equal for equal keys and equal JSON values, however they are written. It only tells a repeat from
/// a mix-up, so that eight bytes are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub i64);

impl Digest {
    /// Of an item with this key and this JSON.
    pub fn of(key: Option<&Key>, payload: &str) -> Digest {
        let mut hasher = Hasher::new();
        hasher.update(&[u8::from(key.is_some())]);
        part(&mut hasher, key.map_or("", Key::as_str));
        value(&mut hasher, payload.trim_matches([' ', '\t', '\r', '\n']), 0);
        let hash = hasher.finalize();
        let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
        Digest(i64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// A text with its length, so that no two lists of texts read the same.
fn part(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_be_bytes());
    hasher.update(text.as_bytes());
}

/// One value without its outer spaces. What cannot be understood counts as it is written.
fn value(hasher: &mut Hasher, text: &str, depth: u32) {
    let tag = text.as_bytes().first().copied().filter(|_| depth < DEPTH);
    let done = match tag {
        Some(b'{') => serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(text).ok().map(|members| {
            hasher.update(b"{");
            hasher.update(&(members.len() as u64).to_be_bytes());
            for (name, member) in members {
                part(hasher, &name);
                value(hasher, member.get(), depth + 1);
            }
        }),
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(text).ok().map(|members| {
            hasher.update(b"[");
            hasher.update(&(members.len() as u64).to_be_bytes());
            members.iter().for_each(|member| value(hasher, member.get(), depth + 1));
        }),
        Some(b'"') => serde_json::from_str::<Cow<'_, str>>(text).ok().map(|string| {
            hasher.update(b"\"");
            part(hasher, &string);
        }),
        Some(b'-' | b'0'..=b'9') => number(text).map(|(negative, digits, exponent)| {
            hasher.update(if negative { b"-" } else { b"+" });
            part(hasher, &digits);
            hasher.update(&exponent.to_be_bytes());
        }),
        _ => None,
    };
    if done.is_none() {
        hasher.update(b"?");
        part(hasher, text);
    }
}

/// A number as its sign, its digits without zeros at either end, and a power of ten: exact, unlike a float, since ids
/// of other systems are larger than what a float can tell apart.
fn number(text: &str) -> Option<(bool, String, i64)> {
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
        Digest::of(None, a) == Digest::of(None, b)
    }

    #[test]
    fn the_same_value_written_in_another_way_is_the_same() {
        assert!(same(r#"{"a":1,"b":[true,null]}"#, r#" { "b" : [ true, null ] , "a" : 1.0 } "#));
        assert!(same("100", "1e2") && same("1E+2", "100.00") && same("0.10", "1e-1") && same("-0", "0.0"));
        assert!(same(r#""ñ/""#, r#""\u00f1\/""#));
        assert!(same(r#"{"a":1,"a":2}"#, r#"{"a":2}"#), "the last of a name counts, as in every reader");
        assert!(same("9007199254740993", "9007199254740993.0"));
    }

    #[test]
    fn another_value_is_another_value() {
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
        assert_ne!(Digest::of(ana.as_ref(), "1"), Digest::of(None, "1"));
    }

    #[test]
    fn what_is_no_json_or_too_deep_counts_as_it_is_written() {
        assert!(same("{", "{") && !same("{", "["));
        assert!(same("1e99999999999999999999", "1e99999999999999999999"));
        let deep = |middle: &str| format!("{}{middle}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(same(&deep("1"), &deep("1")) && !same(&deep("1"), &deep("2")));
    }
}
