//! Lists in pages: `?limit=&cursor=` in, `{"items":[…],"next_cursor":…}` out.
//!
//! A cursor is the place behind which to go on, as text in hexadecimal: opaque, so that nobody builds on its inside,
//! and validated like any input.

use serde::{Deserialize, Serialize};

use super::problem::Problem;

/// Items of a page unless asked otherwise.
const LIMIT_USUAL: u32 = 50;
/// Items of a page at most.
pub(super) const LIMIT_MAX: u32 = 1_000;

/// A page of a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Page<T> {
    /// What is on it.
    pub(crate) items: Vec<T>,
    /// Where the next page begins; null on the last.
    pub(crate) next_cursor: Option<String>,
}

/// Which page. Every list has these beside its own filters, so each query repeats the two fields (serde cannot flatten
/// and refuse unknown ones at the same time) and hands them here.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) limit: u32,
    /// The place behind which to go on.
    pub(crate) after: Option<String>,
}

impl Wanted {
    pub(crate) fn new(limit: Option<u32>, cursor: Option<&str>) -> Result<Wanted, Problem> {
        let limit = limit.unwrap_or(LIMIT_USUAL);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(Problem::query("limit", format_args!("between 1 and {LIMIT_MAX}")));
        }
        let after = cursor.map(|cursor| place(cursor).ok_or_else(bad_cursor)).transpose()?;
        Ok(Wanted { limit, after })
    }

    /// The place as what it was, say a number.
    pub(crate) fn after<T: std::str::FromStr>(&self) -> Result<Option<T>, Problem> {
        self.after.as_deref().map(|after| after.parse().map_err(|_| bad_cursor())).transpose()
    }

    /// A place as it stands in an address.
    pub(crate) fn cursor(place: &str) -> String {
        cursor(place)
    }

    /// What to ask for: one more than wanted tells whether there is another page.
    pub(crate) fn one_more(&self) -> u32 {
        self.limit + 1
    }

    /// The page of what was found when [`Wanted::one_more`] was asked for.
    pub(crate) fn page<T>(&self, mut items: Vec<T>, place: impl Fn(&T) -> String) -> Page<T> {
        let more = items.len() > self.limit as usize;
        items.truncate(self.limit as usize);
        let next_cursor = items.last().filter(|_| more).map(|last| cursor(&place(last)));
        Page { items, next_cursor }
    }
}

impl<T> Page<T> {
    /// The same page, shown otherwise.
    pub(crate) fn map<U>(self, show: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(show).collect(), next_cursor: self.next_cursor }
    }
}

/// The two fields of every list, for those that have no filters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Items per page, 1 to 1000 [default: 50].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

impl PageQuery {
    pub(crate) fn wanted(&self) -> Result<Wanted, Problem> {
        Wanted::new(self.limit, self.cursor.as_deref())
    }
}

fn bad_cursor() -> Problem {
    Problem::query("cursor", "pass on the next_cursor of the page before, unchanged")
}

pub(super) fn cursor(place: &str) -> String {
    place.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn place(cursor: &str) -> Option<String> {
    let digits = cursor.as_bytes();
    if digits.is_empty()
        || !digits.len().is_multiple_of(2)
        || digits.len() > 4_096
        || !digits.iter().all(u8::is_ascii_hexdigit)
    {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_place() {
        for text in ["caja:3", "á/ñ", "17"] {
            assert_eq!(place(&cursor(text)).as_deref(), Some(text));
        }
        for bad in ["", "1", "zz", "ff", "+1+1"] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }

    #[test]
    fn there_is_a_next_page_only_if_something_is_on_it() {
        let wanted = Wanted::new(Some(2), None).expect("within bounds");
        assert_eq!(wanted.page(vec![1, 2, 3], i32::to_string).next_cursor, Some(cursor("2")));
        assert_eq!(wanted.page(vec![1, 2], i32::to_string).next_cursor, None);
        assert!(Wanted::new(Some(0), None).is_err() && Wanted::new(Some(LIMIT_MAX + 1), None).is_err());
    }
}
