//! The content of a change: what a delivery of a source carries, and how long a delivery waits whose row cannot be read.

use super::{Outgoing, Source};
use crate::queue::{Act, AttemptError};
use crate::text::clip_text;
use crate::time::{Span, Time};
use std::sync::Arc;

/// The longest wait until an unreadable row is read again, so that delivery goes on soon after the table is repaired.
pub const UNREADABLE_WAIT: Span = Span::from_secs(60);

/// The action of a change, by its name at the destination, and the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The destination's name for the action.
    pub action: String,
    /// The row as JSON. `None` for a deactivation.
    pub data: Option<Arc<str>>,
}

impl Source {
    /// Returns the content of a change that was read from the table. `None` if there is nothing to send.
    pub fn content(&self, outgoing: Outgoing) -> Option<Content> {
        let data = match outgoing {
            Outgoing::Update(row) => Some(row.into()),
            Outgoing::Deactivate => None,
            Outgoing::Nothing => return None,
        };
        Some(Content { action: self.action(data.is_some()).to_owned(), data })
    }

    /// Returns the content of a change that has no table to be read from: the item's own action and payload. Without
    /// an action, a payload is an update, and `null` is a deactivation.
    pub fn enqueued_content(&self, action: Option<&str>, payload: &Arc<str>) -> Content {
        let data = Some(payload.clone()).filter(|payload| &**payload != "null");
        let action = action.unwrap_or_else(|| self.action(data.is_some())).to_owned();
        Content { data: data.filter(|_| action != self.deactivate), action }
    }
}

/// Returns whether an item has an action or a payload of its own. A trigger's mark has neither.
pub fn has_content(action: Option<&str>, payload: &str) -> bool {
    action.is_some() || payload != "null"
}

/// Decides how a delivery waits whose row cannot be read. No attempt is spent, because no call was made.
///
/// `last` is the item's newest error. An error that repeats it is not stored again, so that a long outage does not fill
/// the history. The wait begins with `backoff` and doubles: an error that has lasted for a minute waits for a minute.
pub fn wait_for_row(error: &str, last: Option<&AttemptError>, backoff: Span, now: Time) -> Act {
    let error = clip_text(error);
    let lasted = last.filter(|last| last.attempt == 0 && last.error == error).map(|last| last.at.until(now));
    let retry_in = lasted.map_or(backoff, |lasted| lasted.max(backoff)).min(UNREADABLE_WAIT);
    Act::Defer { error: lasted.is_none().then_some(error), retry_in }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Fence, Seq};

    #[test]
    fn content_is_the_row_a_deactivation_or_nothing() {
        let content = |outgoing| Source::siper().content(outgoing).map(|content| (content.action, content.data));
        let row: Arc<str> = r#"{"nombre":"Ana"}"#.into();
        assert_eq!(content(Outgoing::Update(row.to_string())), Some(("ACTUALIZAR".to_owned(), Some(row))));
        assert_eq!(content(Outgoing::Deactivate), Some(("DESACTIVAR".to_owned(), None)));
        assert_eq!(content(Outgoing::Nothing), None);
    }

    #[test]
    fn content_without_a_table_is_the_enqueued_one() {
        let content = |action, payload: &str| {
            let content = Source::siper().enqueued_content(action, &payload.into());
            (content.action, content.data.map(|data| data.to_string()))
        };
        let update = ("ACTUALIZAR".to_owned(), Some(r#"{"a":1}"#.to_owned()));
        assert_eq!(content(None, r#"{"a":1}"#), update);
        for deactivation in [content(Some("DESACTIVAR"), r#"{"a":1}"#), content(None, "null")] {
            assert_eq!(deactivation, ("DESACTIVAR".to_owned(), None));
        }
        assert!(has_content(Some("DESACTIVAR"), "null") && has_content(None, "1"));
        assert!(!has_content(None, "null"), "a trigger's mark has no content");
    }

    #[test]
    fn unreadable_row_stores_its_error_once_and_waits_longer_each_time() {
        let (backoff, at) = (Span(500), Time(10_000));
        let failed = |attempt, error: &str| AttemptError {
            seq: Seq(1),
            attempt,
            fence: Fence(2),
            at,
            error: error.to_owned(),
            retry_at: None,
            holder: None,
            handed_at: None,
            expired: false,
        };
        let first = |last: Option<AttemptError>| wait_for_row("no column", last.as_ref(), backoff, at);
        let stored = Act::Defer { error: Some("no column".to_owned()), retry_in: backoff };
        assert_eq!(first(None), stored);
        assert_eq!(first(Some(failed(0, "no table"))), stored, "another error is stored");
        assert_eq!(first(Some(failed(1, "no column"))), stored, "the error of a call is another one");
        let again = |now| wait_for_row("no column", Some(&failed(0, "no column")), backoff, Time(now));
        let waits = |retry_in| Act::Defer { error: None, retry_in: Span(retry_in) };
        assert_eq!((again(10_100), again(13_000)), (waits(500), waits(3_000)));
        assert_eq!(again(999_000), Act::Defer { error: None, retry_in: UNREADABLE_WAIT });
    }
}
