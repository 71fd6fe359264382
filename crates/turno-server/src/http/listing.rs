//! Pagination: `?limit=&cursor=` in, `{"items":[…],"next_cursor":…}` out.
//!
//! A cursor is the position of the last item, in hexadecimal. It is opaque, so that clients do not depend on its
//! content, and is validated like any input.

use serde::{Deserialize, Serialize};
use turno::core::fault::Fault;
use turno::queue::{ItemPage, ItemRecord};

use super::problem::Problem;

/// The default page size.
const LIMIT_USUAL: u32 = 50;
/// The largest page size.
pub(super) const LIMIT_MAX: u32 = 1_000;

/// A page of a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Page<T> {
    /// The items of the page.
    pub(crate) items: Vec<T>,
    /// The cursor of the next page. Null on the last page.
    pub(crate) next_cursor: Option<String>,
}

/// The requested page. Each list query repeats the two fields, because serde cannot flatten a struct and refuse unknown
/// fields at the same time.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) limit: u32,
    /// The position after which the page begins.
    pub(crate) after: Option<String>,
}

impl Wanted {
    pub(crate) fn new(limit: Option<u32>, cursor: Option<&str>) -> Result<Wanted, Problem> {
        let limit = limit.unwrap_or(LIMIT_USUAL);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(Problem::query("limit", Fault::OutOfBounds { min: 1, max: LIMIT_MAX.into() }));
        }
        let after = cursor.map(|cursor| decode_cursor(cursor).ok_or_else(bad_cursor)).transpose()?;
        Ok(Wanted { limit, after })
    }

    /// Parses the position, for example as a number.
    pub(crate) fn after<T: std::str::FromStr>(&self) -> Result<Option<T>, Problem> {
        self.after.as_deref().map(|after| after.parse().map_err(|_| bad_cursor())).transpose()
    }

    /// Returns the cursor of a position.
    pub(crate) fn cursor(position: &str) -> String {
        cursor(position)
    }

    /// Returns the number of items to read. One more than the page size shows whether there is another page.
    pub(crate) fn one_more(&self) -> u32 {
        self.limit + 1
    }

    /// Builds the page from the items that were read with [`Wanted::one_more`].
    pub(crate) fn page<T>(&self, mut items: Vec<T>, position: impl Fn(&T) -> String) -> Page<T> {
        let more = items.len() > self.limit as usize;
        items.truncate(self.limit as usize);
        let next_cursor = items.last().filter(|_| more).map(|last| cursor(&position(last)));
        Page { items, next_cursor }
    }
}

impl Page<ItemRecord> {
    /// Builds the page of items that the library returned.
    pub(crate) fn of_items(page: ItemPage) -> Page<ItemRecord> {
        let next_cursor = page.items.last().filter(|_| page.more).map(|last| cursor(&last.body.seq.0.to_string()));
        Page { items: page.items, next_cursor }
    }
}

impl<T> Page<T> {
    /// Converts the items of the page.
    pub(crate) fn map<U>(self, show: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(show).collect(), next_cursor: self.next_cursor }
    }
}

/// The query of lists without filters.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Number of items per page, 1 to 1000. Default: 50.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

impl PageQuery {
    pub(crate) fn wanted(&self) -> Result<Wanted, Problem> {
        Wanted::new(self.limit, self.cursor.as_deref())
    }
}

fn bad_cursor() -> Problem {
    Problem::query("cursor", Fault::Cursor)
}

pub(super) fn cursor(position: &str) -> String {
    position.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn decode_cursor(cursor: &str) -> Option<String> {
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
    fn cursor_decodes_to_its_position() {
        for text in ["caja:3", "á/ñ", "17"] {
            assert_eq!(decode_cursor(&cursor(text)).as_deref(), Some(text));
        }
        for bad in ["", "1", "zz", "ff", "+1+1"] {
            assert_eq!(decode_cursor(bad), None, "{bad}");
        }
    }

    #[test]
    fn next_cursor_exists_only_if_there_are_more_items() {
        let wanted = Wanted::new(Some(2), None).expect("within bounds");
        assert_eq!(wanted.page(vec![1, 2, 3], i32::to_string).next_cursor, Some(cursor("2")));
        assert_eq!(wanted.page(vec![1, 2], i32::to_string).next_cursor, None);
        assert!(Wanted::new(Some(0), None).is_err() && Wanted::new(Some(LIMIT_MAX + 1), None).is_err());
    }
}
