//! Compares a source with its last deliveries.

use super::digest;
use crate::named::named;

/// The state of a key: in the table, at the destination and in the queue, read at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyState {
    /// The key.
    pub key: String,
    /// The data of the key's current row. `None` if the key has no current row that takes part.
    pub data: Option<String>,
    /// The key has a current row that does not take part.
    pub left: bool,
    /// The last delivery: the digest of an update, or `Some(None)` for a deactivation. `None` if there was none.
    pub delivered: Option<Option<[u8; 32]>>,
    /// The key has an unfinished item.
    pub waiting: bool,
    /// The key has an exhausted item.
    pub exhausted: bool,
}

named! {
    /// How a key differs between the source and the destination.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Difference {
        /// The key was never delivered.
        Missing = "missing",
        /// The last delivery had other data.
        Differs = "differs",
        /// The key is active at the destination, but has no current row any more.
        Gone = "gone",
    }
}

impl KeyState {
    /// Returns how the destination differs from the source. Returns `None` while the key has an unfinished item, but
    /// not for an exhausted one. A row that stopped taking part is no difference, because the source may ignore that.
    pub fn difference(&self) -> Option<Difference> {
        if self.waiting { None } else { self.compare() }
    }

    /// Returns the difference that the key's unfinished item will resolve.
    pub fn on_its_way(&self) -> Option<Difference> {
        if self.waiting { self.compare() } else { None }
    }

    fn compare(&self) -> Option<Difference> {
        match (&self.data, &self.delivered) {
            (Some(_), None) => Some(Difference::Missing),
            (Some(data), Some(delivered)) => (*delivered != Some(digest(data))).then_some(Difference::Differs),
            (None, Some(Some(_))) if !self.left => Some(Difference::Gone),
            (None, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_differs_unless_the_last_delivery_had_its_data() {
        let kept = |data: Option<&str>, delivered: Option<Option<&str>>| KeyState {
            key: "7".to_owned(),
            data: data.map(str::to_owned),
            delivered: delivered.map(|data| data.map(digest)),
            ..KeyState::default()
        };
        assert_eq!(kept(Some("a"), Some(Some("a"))).difference(), None);
        assert_eq!(kept(Some("a"), Some(Some("b"))).difference(), Some(Difference::Differs));
        assert_eq!(
            kept(Some("a"), Some(None)).difference(),
            Some(Difference::Differs),
            "deactivated, and active again in the table"
        );
        assert_eq!(kept(Some("a"), None).difference(), Some(Difference::Missing));
        assert_eq!(kept(None, Some(Some("a"))).difference(), Some(Difference::Gone));
        assert_eq!(kept(None, Some(None)).difference(), None, "correctly deactivated");
        assert_eq!(kept(None, None).difference(), None);
    }

    #[test]
    fn unfinished_item_hides_the_difference_and_an_exhausted_one_does_not() {
        let kept = KeyState { key: "7".to_owned(), data: Some("a".to_owned()), waiting: true, ..KeyState::default() };
        assert_eq!((kept.difference(), kept.on_its_way()), (None, Some(Difference::Missing)));
        let same = KeyState { delivered: Some(Some(digest("a"))), ..kept.clone() };
        assert_eq!((same.difference(), same.on_its_way()), (None, None), "the item brings nothing new");
        assert_eq!(KeyState { waiting: false, exhausted: true, ..kept }.difference(), Some(Difference::Missing));
    }

    #[test]
    fn row_that_stopped_taking_part_is_no_difference() {
        let kept =
            KeyState { key: "7".to_owned(), left: true, delivered: Some(Some(digest("a"))), ..KeyState::default() };
        assert_eq!(kept.difference(), None);
    }
}
