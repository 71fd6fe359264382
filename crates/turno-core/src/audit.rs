//! The audit: who did what with more than ordinary rights, in a chain that shows tampering.
//!
//! An entry is written in the transaction of its effect, so there is never one without the other. Each entry's
//! hash covers the one before it; whoever has kept an old head elsewhere can tell whether anything up to it
//! was changed, removed or slipped in. The head is locked before an entry is made, hence the chain never
//! forks.
//!
//! Deliberately not here: secrets. What goes into an entry may be read by everybody who may read the audit.

use crate::event::{Event, Topic};
use crate::id::UserId;
use crate::text::kept;
use crate::time::Time;
use serde_json::{Map, Value};
use std::fmt;

/// Every action that is written down, as a stable word: for whoever offers a choice of them or says them otherwise. An
/// entry of an action that is not here is not made.
pub const ACTIONS: &[&str] = &[
    "lock_force_claim",
    "lock_force_release",
    "item_retry",
    "item_edit",
    "item_cancel",
    "lane_clear",
    "database_life",
    "queue_put",
    "queue_pause",
    "queue_resume",
    "queue_purge",
    "queue_repair",
    "sync_install",
    "sync_remove",
    "sync_resync",
    "sync_revived",
    "task_cancel",
    "user_add",
    "user_change",
    "user_remove",
    "token_create",
    "token_revoke",
    "session_open",
    "session_mint",
    "link_make",
    "link_redeem",
];

/// Who acts, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Whose action it is.
    pub user: UserId,
    /// The account that spoke for them, if it was not themselves.
    pub via: Option<UserId>,
}

impl Actor {
    /// Turno itself, or a program that embeds it and has not said who acts.
    pub fn system() -> Actor {
        Actor { user: UserId::new("system").expect("a plain word is a name"), via: None }
    }

    /// Somebody who speaks for themselves.
    pub fn user(user: UserId) -> Actor {
        Actor { user, via: None }
    }
}

/// What is to be written down, before it has its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Who.
    pub actor: Actor,
    /// What, as a stable word: `lock_force_release`.
    pub action: &'static str,
    /// To what.
    pub resource: String,
    /// How and why: a JSON object.
    pub detail: String,
}

impl Draft {
    /// An entry about `resource`, with no details yet. The action is one of [`ACTIONS`].
    pub fn new(actor: Actor, action: &'static str, resource: impl Into<String>) -> Draft {
        debug_assert!(ACTIONS.contains(&action), "{action} is not among the actions");
        Draft { actor, action, resource: resource.into(), detail: "{}".to_owned() }
    }

    /// With one more detail.
    #[must_use]
    pub fn and(mut self, name: &str, value: Value) -> Draft {
        if let Ok(Value::Object(mut details)) = serde_json::from_str(&self.detail) {
            details.insert(name.to_owned(), value);
            self.detail = Value::Object(details).to_string();
        }
        self
    }

    /// With details, in the given order; free text is bounded.
    pub fn with<'a>(mut self, details: impl IntoIterator<Item = (&'a str, Value)>) -> Draft {
        let bounded = |value| match value {
            Value::String(text) => Value::String(kept(&text)),
            other => other,
        };
        let details: Map<String, Value> =
            details.into_iter().map(|(name, value)| (name.to_owned(), bounded(value))).collect();
        self.detail = Value::Object(details).to_string();
        self
    }
}

/// A hash in the chain.
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
    /// Reads 64 hexadecimal digits.
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

/// The end of the chain: how many entries there are, and the hash that covers all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The number of the last entry; 0 if there is none.
    pub n: i64,
    /// Its hash; zeros if there is none.
    pub hash: Hash,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.n, self.hash)
    }
}

impl std::str::FromStr for Head {
    type Err = String;
    fn from_str(text: &str) -> Result<Head, String> {
        let parsed =
            text.split_once(':').and_then(|(n, hash)| Some(Head { n: n.parse().ok()?, hash: Hash::parse(hash)? }));
        parsed.ok_or_else(|| {
            format!("{text:?} is not a head of the audit; expected NUMBER:HASH as `audit verify` prints it")
        })
    }
}

/// One entry in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1 without gaps.
    pub n: i64,
    /// When.
    pub at: Time,
    /// Who.
    pub actor: Actor,
    /// What.
    pub action: String,
    /// To what.
    pub resource: String,
    /// How and why: a JSON object.
    pub detail: String,
    /// Covers this entry and, through the one before, all earlier ones.
    pub hash: Hash,
}

impl Entry {
    /// The name of the event that tells about an entry.
    pub const EVENT: &str = "audit.recorded";

    /// What the live stream tells about it: what and to whom, not how.
    pub fn event(&self) -> Event {
        Event {
            topic: Topic::Audit,
            name: Entry::EVENT.into(),
            resource: self.resource.as_str().into(),
            key: None,
            at: self.at,
            fence: None,
            by: Some(self.actor.user.clone()),
            detail: Some(self.action.clone()),
        }
    }

    /// The hash that this entry must have behind `before`. Every field with its length, so that no two entries
    /// can be told as one.
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

/// Gives the drafts their places behind `head`, which was locked, and moves it on.
pub fn chain(head: &mut Head, at: Time, drafts: Vec<Draft>) -> Vec<Entry> {
    let place = |draft: Draft| {
        let Draft { actor, action, resource, detail } = draft;
        let mut entry =
            Entry { n: head.n + 1, at, actor, action: action.to_owned(), resource, detail, hash: Hash::default() };
        entry.hash = entry.hash_behind(head.hash);
        *head = Head { n: entry.n, hash: entry.hash };
        entry
    };
    drafts.into_iter().map(place).collect()
}

/// What is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A number is missing, doubled or out of order.
    #[error("entry {found} stands where entry {expected} belongs")]
    Gap {
        /// The number that belongs here.
        expected: i64,
        /// The number that stands here.
        found: i64,
    },
    /// The hash does not cover what the entry says now.
    #[error("entry {0} is not what it was when it was written")]
    Altered(i64),
    /// The chain ends before or behind its recorded head.
    #[error("the chain ends at entry {found}, its head says {expected}")]
    Cut {
        /// Where the head says it ends.
        expected: i64,
        /// Where it ends.
        found: i64,
    },
    /// The entry of a head that was kept elsewhere has another hash now: the chain was rewritten.
    #[error("entry {0} has another hash than the head kept elsewhere; the chain was rewritten")]
    Rewritten(i64),
}

/// Follows a chain from its beginning.
#[derive(Clone, Debug, Default)]
pub struct Verifier {
    head: Head,
    kept: Option<Head>,
}

impl Verifier {
    /// A verifier that also knows a head kept elsewhere.
    pub fn against(kept: Option<Head>) -> Verifier {
        Verifier { head: Head::default(), kept }
    }

    /// The last entry that was found good.
    pub fn head(&self) -> Head {
        self.head
    }

    /// The next entry in order.
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

    /// After the last entry: the chain must end at its recorded head, and not before the one kept elsewhere.
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
            let draft =
                Draft::new(actor("ana", (n % 2 == 0).then_some("portal")), "lock_force_claim", format!("task:{n}"))
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
    fn an_untouched_chain_is_good_from_any_kept_head() {
        let (head, entries) = written();
        assert_eq!(verify(&entries, head, None), Ok(()));
        let kept = Head { n: entries[2].n, hash: entries[2].hash };
        assert_eq!(verify(&entries, head, Some(kept)), Ok(()));
        assert_eq!(kept.to_string().parse(), Ok(kept));
    }

    #[test]
    fn every_single_change_of_an_entry_is_noticed() {
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
    fn removing_inserting_swapping_and_cutting_are_noticed() {
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
    fn a_chain_that_was_rewritten_as_a_whole_is_only_noticed_by_a_head_kept_elsewhere() {
        let (kept, _) = written();
        let mut head = Head::default();
        let drafts = (0..5).map(|_| Draft::new(actor("eva", None), "queue_put", "queue")).collect();
        let entries = chain(&mut head, Time(1), drafts);
        assert_eq!(verify(&entries, head, None), Ok(()), "consistent in itself");
        assert_eq!(verify(&entries, head, Some(kept)), Err(Broken::Rewritten(5)));
        assert_eq!(verify(&[], Head::default(), Some(kept)), Err(Broken::Cut { expected: 5, found: 0 }));
    }

    #[test]
    #[should_panic(expected = "is not among the actions")]
    fn an_action_that_nobody_could_choose_or_translate_is_noticed_in_every_test_that_writes_it() {
        Draft::new(actor("eva", None), "something_new", "queue");
    }

    #[test]
    fn fields_cannot_flow_into_each_other() {
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
