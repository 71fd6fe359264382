//! Comparing what a source says with what was delivered.

use super::digest;

/// A key as it is now, read in one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The key.
    pub key: String,
    /// What the row that speaks for it would send; nothing if no row takes part and speaks.
    pub data: Option<String>,
    /// A row speaks for it that does not take part.
    pub left: bool,
    /// What was delivered last: the data's digest, or nothing if it was deactivated. Nothing at all if it never was.
    pub delivered: Option<Option<[u8; 32]>>,
    /// An event of it is on its way.
    pub waiting: bool,
    /// An event of it has no attempts left.
    pub exhausted: bool,
}

/// What is wrong with a key at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Difference {
    /// It was never delivered.
    Missing,
    /// Something else was delivered last.
    Differs,
    /// It was delivered, and no row speaks for it any more.
    Gone,
}

impl Difference {
    /// For programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Difference::Missing => "missing",
            Difference::Differs => "differs",
            Difference::Gone => "gone",
        }
    }
}

impl Kept {
    /// How the destination differs from the source, if it does. What is on its way is no difference; what has no
    /// attempts left is one. A row that has left without the destination being told is as it was wished.
    pub fn difference(&self) -> Option<Difference> {
        if self.waiting { None } else { self.apart() }
    }

    /// How the destination differs for as long as an event of the key is on its way: it will bring it in line.
    pub fn on_its_way(&self) -> Option<Difference> {
        if self.waiting { self.apart() } else { None }
    }

    fn apart(&self) -> Option<Difference> {
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
    fn a_key_differs_unless_the_last_delivery_had_exactly_its_data() {
        let kept = |data: Option<&str>, delivered: Option<Option<&str>>| Kept {
            key: "7".to_owned(),
            data: data.map(str::to_owned),
            delivered: delivered.map(|data| data.map(digest)),
            ..Kept::default()
        };
        assert_eq!(kept(Some("a"), Some(Some("a"))).difference(), None);
        assert_eq!(kept(Some("a"), Some(Some("b"))).difference(), Some(Difference::Differs));
        assert_eq!(kept(Some("a"), Some(None)).difference(), Some(Difference::Differs), "deactivated, and back");
        assert_eq!(kept(Some("a"), None).difference(), Some(Difference::Missing));
        assert_eq!(kept(None, Some(Some("a"))).difference(), Some(Difference::Gone));
        assert_eq!(kept(None, Some(None)).difference(), None, "it is deactivated, as it should be");
        assert_eq!(kept(None, None).difference(), None);
    }

    #[test]
    fn what_is_on_its_way_is_no_difference_and_what_is_exhausted_is() {
        let kept = Kept { key: "7".to_owned(), data: Some("a".to_owned()), waiting: true, ..Kept::default() };
        assert_eq!((kept.difference(), kept.on_its_way()), (None, Some(Difference::Missing)));
        let same = Kept { delivered: Some(Some(digest("a"))), ..kept.clone() };
        assert_eq!((same.difference(), same.on_its_way()), (None, None), "an event that brings nothing new");
        assert_eq!(Kept { waiting: false, exhausted: true, ..kept }.difference(), Some(Difference::Missing));
    }

    #[test]
    fn who_left_without_the_destination_being_told_is_no_difference() {
        let kept = Kept { key: "7".to_owned(), left: true, delivered: Some(Some(digest("a"))), ..Kept::default() };
        assert_eq!(kept.difference(), None);
    }
}
