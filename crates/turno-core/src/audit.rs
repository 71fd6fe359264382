//! The audit: a log of privileged actions (overrides, retries, changes of access), chained by hashes.
//!
//! An entry is written in the same transaction as its effect, so there is never one without the other. The hash of each
//! entry covers the hash of the entry before it. So an auditor who keeps a copy of the *head* (the number and hash of
//! the last entry) can detect later whether any entry up to it was changed, removed or inserted. The store locks the
//! head before it adds an entry, so the chain never forks.
//!
//! An entry never contains a secret, because every user with `audit.read` can read it.

mod action;

pub use action::{AuditAction, UnknownAction};

use crate::event::{Event, EventName, Topic};
use crate::id::UserId;
use crate::text::clip_text;
use crate::time::Time;
use serde_json::{Map, Value};
use std::fmt;

/// The user who acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The user.
    pub user: UserId,
    /// The account that acts on behalf of the user, if it is another one.
    pub via: Option<UserId>,
}

impl Actor {
    /// Returns the actor `system`: Turno itself, or a program that embeds it and names no user.
    pub fn system() -> Actor {
        Actor { user: UserId::new("system").expect("a plain word is a name"), via: None }
    }

    /// Returns a user who acts directly.
    pub fn user(user: UserId) -> Actor {
        Actor { user, via: None }
    }
}

/// An entry that has no place in the chain yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The user who acts.
    pub actor: Actor,
    /// The action.
    pub action: AuditAction,
    /// The resource, item, user or queue of the action.
    pub resource: String,
    /// The details, as a JSON object.
    pub detail: String,
}

impl Draft {
    /// Makes an entry about `resource` without details.
    pub fn new(actor: Actor, action: AuditAction, resource: impl Into<String>) -> Draft {
        Draft { actor, action, resource: resource.into(), detail: "{}".to_owned() }
    }

    /// Adds one detail.
    #[must_use]
    pub fn and(mut self, name: &str, value: Value) -> Draft {
        if let Ok(Value::Object(mut details)) = serde_json::from_str(&self.detail) {
            details.insert(name.to_owned(), value);
            self.detail = Value::Object(details).to_string();
        }
        self
    }

    /// Sets the details, in the given order. Long texts are cut.
    pub fn with<'a>(mut self, details: impl IntoIterator<Item = (&'a str, Value)>) -> Draft {
        let bounded = |value| match value {
            Value::String(text) => Value::String(clip_text(&text)),
            other => other,
        };
        let details: Map<String, Value> =
            details.into_iter().map(|(name, value)| (name.to_owned(), bounded(value))).collect();
        self.detail = Value::Object(details).to_string();
        self
    }
}

/// A hash of 32 bytes: of an audit entry, of a payload, or of the secret of a token or link.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Hash {
    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Hash> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Hash(bytes))
    }
}

/// The end of the chain: the number of entries, and the hash that covers all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The number of the last entry, or 0 if there is none.
    pub n: i64,
    /// The hash of the last entry, or zeros if there is none.
    pub hash: Hash,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.n, self.hash)
    }
}

/// The text is not the head of an audit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a head of the audit; expected NUMBER:HASH as `audit verify` prints it")]
pub struct BadHead(pub String);

impl std::str::FromStr for Head {
    type Err = BadHead;
    fn from_str(text: &str) -> Result<Head, BadHead> {
        let parsed =
            text.split_once(':').and_then(|(n, hash)| Some(Head { n: n.parse().ok()?, hash: Hash::parse(hash)? }));
        parsed.ok_or_else(|| BadHead(text.to_owned()))
    }
}

/// One entry of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The number, from 1 without gaps.
    pub n: i64,
    /// When the action happened.
    pub at: Time,
    /// The user who acted.
    pub actor: Actor,
    /// The stable name of the action. A newer program may have stored a name that is no [`AuditAction`] here.
    pub action: String,
    /// The resource, item, user or queue of the action.
    pub resource: String,
    /// The details, as a JSON object.
    pub detail: String,
    /// The hash of this entry and of all earlier ones.
    pub hash: Hash,
}

impl Entry {
    /// Returns the event that announces the entry. It omits the details.
    pub fn event(&self) -> Event {
        Event {
            topic: Topic::Audit,
            name: EventName::AuditRecorded,
            resource: self.resource.as_str().into(),
            key: None,
            queue: None,
            at: self.at,
            fence: None,
            by: Some(self.actor.user.clone()),
            detail: Some(self.action.clone()),
            to: Vec::new(),
        }
    }

    /// Computes the hash of this entry after an entry with the hash `before`. Each field is hashed with its length, so
    /// that two different entries never hash the same bytes.
    fn hash_behind(&self, before: Hash) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(b"turno audit 1")
            .update(&before.0)
            .update(&self.n.to_le_bytes())
            .update(&self.at.0.to_le_bytes());
        let via = self.actor.via.as_ref().map_or("", UserId::as_str);
        for field in [self.actor.user.as_str(), via, &self.action, &self.resource, &self.detail] {
            hasher.update(&(field.len() as u64).to_le_bytes()).update(field.as_bytes());
        }
        Hash(*hasher.finalize().as_bytes())
    }
}

/// Appends the drafts after `head` and updates `head`. The store has locked the head.
pub fn chain(head: &mut Head, at: Time, drafts: Vec<Draft>) -> Vec<Entry> {
    let append = |draft: Draft| {
        let Draft { actor, action, resource, detail } = draft;
        let mut entry =
            Entry { n: head.n + 1, at, actor, action: action.to_string(), resource, detail, hash: Hash::default() };
        entry.hash = entry.hash_behind(head.hash);
        *head = Head { n: entry.n, hash: entry.hash };
        entry
    };
    drafts.into_iter().map(append).collect()
}

/// The damage that a verification has found in a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A number is missing, repeated or out of order.
    #[error("entry {found} stands where entry {expected} belongs")]
    Gap {
        /// The expected number.
        expected: i64,
        /// The number that was found.
        found: i64,
    },
    /// The hash of the entry does not match its contents.
    #[error("entry {0} is not what it was when it was written")]
    Altered(i64),
    /// The chain does not end at its recorded head.
    #[error("the chain ends at entry {found}, its head says {expected}")]
    Cut {
        /// The number in the head.
        expected: i64,
        /// The number of the last entry.
        found: i64,
    },
    /// The entry has another hash than in a head that was kept elsewhere, so the chain was rewritten.
    #[error("entry {0} has another hash than the head kept elsewhere; the chain was rewritten")]
    Rewritten(i64),
}

/// Verifies a chain, entry by entry from its beginning.
#[derive(Clone, Debug, Default)]
pub struct Verifier {
    head: Head,
    kept: Option<Head>,
}

impl Verifier {
    /// Makes a verifier. `kept` is a head that was kept outside the database.
    pub fn against(kept: Option<Head>) -> Verifier {
        Verifier { head: Head::default(), kept }
    }

    /// Returns the head up to which the chain is verified.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Verifies the next entry.
    pub fn follow(&mut self, entry: &Entry) -> Result<(), Broken> {
        if entry.n != self.head.n + 1 {
            return Err(Broken::Gap { expected: self.head.n + 1, found: entry.n });
        }
        if entry.hash != entry.hash_behind(self.head.hash) {
            return Err(Broken::Altered(entry.n));
        }
        self.head = Head { n: entry.n, hash: entry.hash };
        match self.kept {
            Some(kept) if kept.n == entry.n && kept.hash != entry.hash => Err(Broken::Rewritten(entry.n)),
            _ => Ok(()),
        }
    }

    /// Verifies the end of the chain: it must end at its recorded head, and not before the head kept elsewhere.
    pub fn end(&self, recorded: Head) -> Result<(), Broken> {
        let found = self.head.n;
        match self.kept {
            Some(kept) if kept.n > found => return Err(Broken::Cut { expected: kept.n, found }),
            _ => {}
        }
        if recorded.n != found {
            return Err(Broken::Cut { expected: recorded.n, found });
        }
        if recorded.hash != self.head.hash { Err(Broken::Altered(found)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actor(user: &str, via: Option<&str>) -> Actor {
        let name = |text: &str| UserId::new(text).expect("valid");
        Actor { user: name(user), via: via.map(name) }
    }

    fn written() -> (Head, Vec<Entry>) {
        let mut head = Head::default();
        let mut entries = Vec::new();
        for n in 0..5_i64 {
            let draft = Draft::new(
                actor("ana", (n % 2 == 0).then_some("portal")),
                AuditAction::LockForceClaim,
                format!("task:{n}"),
            )
            .with([("reason", Value::from("se fue")), ("fence", Value::from(n))]);
            entries.extend(chain(&mut head, Time(1_000 + n), vec![draft]));
        }
        (head, entries)
    }

    fn verify(entries: &[Entry], recorded: Head, kept: Option<Head>) -> Result<(), Broken> {
        let mut verifier = Verifier::against(kept);
        entries.iter().try_for_each(|entry| verifier.follow(entry))?;
        verifier.end(recorded)
    }

    #[test]
    fn unchanged_chain_is_verified_against_any_kept_head() {
        let (head, entries) = written();
        assert_eq!(verify(&entries, head, None), Ok(()));
        let kept = Head { n: entries[2].n, hash: entries[2].hash };
        assert_eq!(verify(&entries, head, Some(kept)), Ok(()));
        assert_eq!(kept.to_string().parse(), Ok(kept));
    }

    #[test]
    fn change_of_any_audit_field_is_detected() {
        let (head, good) = written();
        let changes: [fn(&mut Entry); 6] = [
            |entry| entry.at.0 += 1,
            |entry| entry.actor = actor("eva", None),
            |entry| entry.actor.via = None,
            |entry| entry.action.push('x'),
            |entry| entry.resource = "task:9".to_owned(),
            |entry| entry.detail = "{}".to_owned(),
        ];
        for change in changes {
            let mut entries = good.clone();
            change(&mut entries[2]);
            assert_eq!(verify(&entries, head, None), Err(Broken::Altered(3)));
        }
    }

    #[test]
    fn removed_inserted_swapped_and_cut_audit_entries_are_detected() {
        let (head, good) = written();
        let mut entries = good.clone();
        entries.remove(1);
        assert!(verify(&entries, head, None).is_err());
        let mut entries = good.clone();
        entries.insert(1, good[1].clone());
        assert!(verify(&entries, head, None).is_err());
        let mut entries = good.clone();
        entries.swap(1, 2);
        assert!(verify(&entries, head, None).is_err());
        assert_eq!(verify(&good[..4], head, None), Err(Broken::Cut { expected: 5, found: 4 }));
    }

    #[test]
    fn completely_rewritten_chain_is_detected_only_with_a_kept_head() {
        let (kept, _) = written();
        let mut head = Head::default();
        let drafts = (0..5).map(|_| Draft::new(actor("eva", None), AuditAction::QueuePut, "queue")).collect();
        let entries = chain(&mut head, Time(1), drafts);
        assert_eq!(verify(&entries, head, None), Ok(()), "the rewritten chain is consistent");
        assert_eq!(verify(&entries, head, Some(kept)), Err(Broken::Rewritten(5)));
        assert_eq!(verify(&[], Head::default(), Some(kept)), Err(Broken::Cut { expected: 5, found: 0 }));
    }

    #[test]
    fn action_is_parsed_from_its_exact_name_only() {
        for action in AuditAction::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        assert_eq!("Queue_put".parse::<AuditAction>(), Err(UnknownAction("Queue_put".to_owned())));
    }

    #[test]
    fn hash_depends_on_the_boundaries_between_fields() {
        let entry = |action: &str, resource: &str| Entry {
            n: 1,
            at: Time(0),
            actor: actor("a", None),
            action: action.to_owned(),
            resource: resource.to_owned(),
            detail: String::new(),
            hash: Hash::default(),
        };
        assert_ne!(entry("ab", "c").hash_behind(Hash::default()), entry("a", "bc").hash_behind(Hash::default()));
    }
}
