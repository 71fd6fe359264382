//! A trace for people, recorded only when a seed is replayed, because a replay is exact.

use super::message::{Ask, Reply};
use super::tx::{Committed, Tx};
use crate::db::Db;
use std::fmt::Write;

/// A trace line about one resource, key or item. Without a subject it concerns the whole world.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) subject: String,
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) struct History {
    lines: Option<Vec<Line>>,
}

impl History {
    pub(crate) fn new(record: bool) -> History {
        History { lines: record.then(Vec::new) }
    }

    pub(crate) fn lines(&self) -> &[Line] {
        self.lines.as_deref().unwrap_or_default()
    }

    pub(crate) fn note(&mut self, time: i64, text: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(Line { subject: String::new(), text: format!("{time:>7} ms  {}", text()) });
        }
    }

    pub(crate) fn commit(&mut self, time: i64, tx: &Tx, committed: &Committed, db: &Db) {
        let Some(lines) = &mut self.lines else {
            return;
        };
        let now = committed.answered.now.0;
        let mut say = |subject: String, text: String| {
            let text = format!("{time:>7} ms  tx {} on {} at {now}: {subject}: {text}", tx.id, tx.instance);
            lines.push(Line { subject, text });
        };
        for (call, reply) in tx.calls.iter().zip(&committed.answered.replies) {
            match (&call.ask, reply) {
                (Ask::Lease(command), Reply::Lease { answer, view }) => {
                    let instance = command.who.instance.as_ref().map_or("", |name| name.as_str());
                    let mut text = format!("{}{instance} {:?} -> ", command.who.user, command.action);
                    let _ = match answer {
                        Ok(outcome) => write!(text, "{outcome:?}"),
                        Err(refused) => write!(text, "refused {refused:?}"),
                    };
                    let _ = write!(
                        text,
                        "\n             row: {:?} line {:?} offer {:?}",
                        view.grant, view.line, view.offer
                    );
                    say(command.resource.to_string(), text);
                }
                (Ask::Enqueue(enqueue), Reply::Enqueue(accepted)) => {
                    for (item, outcome) in enqueue.items.iter().zip(accepted) {
                        let key = item.key.as_ref().map_or(item.id.as_str(), |key| key.as_str());
                        let text =
                            format!("enqueue {} {} delay {} -> {outcome:?}", item.id, item.payload, item.delay.0);
                        say(format!("{}/{key}", enqueue.queue.0), text);
                    }
                }
                (Ask::Claim { want, .. }, Reply::Claim(work)) => {
                    for one in work {
                        say(
                            subject(db, one.delivery.seq),
                            format!("{} claims {:?}", want.taker.instance(), one.delivery),
                        );
                    }
                }
                (Ask::Settle(settle), reply) => {
                    say(
                        subject(db, settle.reference.seq),
                        format!("{:?} {:?} -> {reply:?}", settle.reference, settle.act),
                    );
                }
                (Ask::Manage(group), reply) => {
                    let seq = db.ids.get(&(group.queue, group.id.clone()));
                    let at = seq.map_or_else(|| format!("{}/{}", group.queue.0, group.id), |seq| subject(db, *seq));
                    say(at, format!("{:?} {} -> {reply:?}", group.wish, group.id));
                }
                (Ask::Task(command), Reply::Task(outcome)) => {
                    let id = command.task.or(outcome.task.as_ref().map(|task| task.id)).unwrap_or_default();
                    let (who, action) = (&command.who.user, &command.action);
                    let row = format!("\n             row: {:?} {:?}", outcome.task, outcome.lease.grant);
                    say(id.resource().to_string(), format!("{who} {action:?} -> {:?}{row}", outcome.answer));
                }
                (Ask::Apply(apply), Reply::Line(step)) => {
                    let text = format!("{} applies {} under {} -> ", apply.who.user, apply.number, apply.fence.0);
                    say(apply.task.resource().to_string(), format!("{text}{step:?} {:?}", committed.line));
                }
                (Ask::Typing { queue, key }, _) => say(format!("{queue}/{key}"), "typing".to_owned()),
                _ => {}
            }
        }
        for item in committed.changes.iter().flat_map(|changes| changes.insert.iter().chain(&changes.update)) {
            say(subject(db, item.seq), format!("  row {item:?}"));
        }
        for done in committed.changes.iter().flat_map(|changes| &changes.done) {
            say(subject(db, done.seq), format!("  {done:?}"));
        }
    }
}

/// Returns the subject of a line about an item: its key, or its id in an inbox.
pub(crate) fn subject(db: &Db, seq: turno_core::id::Seq) -> String {
    match db.bodies.get(&seq) {
        Some(body) => {
            let name = body.key.as_ref().map_or(body.id.as_str(), |key| key.as_str());
            format!("{}/{name}", body.queue.0)
        }
        None => format!("#{}", seq.0),
    }
}
