//! A finding of `turno check` in words: which row, and what is wrong with it.

use jiff::Timestamp;
use turno::store::{Finding, Problem, Subject};

use crate::texts::causes;
use crate::texts::message::Message;

/// Names the row: the queue and the key, the task and the line, …
pub(super) fn subject(subject: &Subject) -> Message {
    let part = |(noun, name): (&str, String)| match noun {
        "queue" => Message::new("check-queue").text("name", name),
        "key" => Message::new("check-key").text("name", name),
        "item" => Message::new("check-item").text("name", name),
        "lane" => Message::new("check-lane").text("name", name),
        "place" => Message::new("check-place").text("name", name),
        "task" => Message::new("check-task").text("name", name),
        "line" => Message::new("check-line").text("name", name),
        "article" => Message::new("check-article").text("name", name),
        "position" => Message::new("check-position").text("name", name),
        "token" => Message::new("check-token").text("name", name),
        _ => Message::verbatim(name),
    };
    let parts: Vec<Message> = subject.parts().into_iter().map(part).collect();
    if parts.is_empty() {
        return Message::new("check-audit");
    }
    Message::new("check-subject").list("parts", parts, ", ")
}

/// Says what is wrong.
pub(super) fn problem(finding: &Finding) -> Message {
    match &finding.problem {
        Problem::SeveralHeads { count } => Message::new("check-several-heads").number("count", *count),
        Problem::HeadNotFirst => Message::new("check-head-not-first"),
        Problem::SeveralDeliveries { count } => Message::new("check-several-deliveries").number("count", *count),
        Problem::GroupSize { fence, size, count } => {
            Message::new("check-group-size").text("fence", fence).number("size", *size).number("count", *count)
        }
        Problem::FinishedTwice => Message::new("check-finished-twice"),
        Problem::NoRow => Message::new("check-no-row"),
        Problem::NoContents => Message::new("check-no-contents"),
        Problem::FinishedWithoutContents => Message::new("check-finished-without-contents"),
        Problem::Contradiction => Message::new("check-contradiction"),
        Problem::NoError => Message::new("check-no-error"),
        Problem::Unreachable => Message::new("check-unreachable"),
        Problem::SyncDoubles { count } => Message::new("check-sync-doubles").number("count", *count),
        Problem::RevisionAhead { handed, newest } => {
            Message::new("check-revision-ahead").text("handed", handed).text("newest", newest)
        }
        Problem::BeyondSequence { number, newest } => {
            Message::new("check-beyond-sequence").text("number", number).text("newest", newest)
        }
        Problem::FenceNotNewer { fence, ended } => {
            Message::new("check-fence-not-newer").text("fence", fence).text("ended", ended)
        }
        Problem::Overlap { fence, began, ended } => {
            let message = Message::new("check-overlap").text("fence", fence);
            message.text("began", time(*began)).text("ended", time(*ended))
        }
        Problem::FenceNeverHeld { fence } => Message::new("check-fence-never-held").text("fence", fence),
        Problem::MovedUnapplied => Message::new("check-moved-unapplied"),
        Problem::CompletedUnapplied => Message::new("check-completed-unapplied"),
        Problem::StockDiffers { quantity, moved, serials, named } => {
            let message = Message::new("check-stock-differs").number("quantity", *quantity).number("moved", *moved);
            message.number("serials", *serials).number("named", *named)
        }
        Problem::Gap { next } => Message::new("check-gap").text("next", next),
        Problem::NotAHash => Message::new("check-not-a-hash"),
        Problem::AuditBroken(broken) => causes::message(broken),
        other => Message::verbatim(format!("{other:?}")),
    }
}

/// Shows a time of the database, also one that no calendar has.
fn time(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map_or_else(|_| millis.to_string(), |at| at.to_string())
}
