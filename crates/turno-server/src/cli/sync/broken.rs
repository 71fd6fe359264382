//! Collects the failures of sources. A failed source does not stop the others, and the end lists the failed ones.

use serde_json::{Value, json};

use crate::cli::output::talk;
use crate::failure::Failure;
use crate::texts::message::Message;

/// The failed sources, and the number of all sources.
#[derive(Debug)]
pub(super) struct Broken {
    among: usize,
    failed: Vec<(String, Failure)>,
}

impl Broken {
    pub(super) fn among(count: usize) -> Broken {
        Broken { among: count, failed: Vec::new() }
    }

    /// Reports the failure of a source. Returns the failure as JSON.
    pub(super) fn note(&mut self, source: &str, failure: Failure) -> Value {
        let (cause, next) = (failure.cause(), failure.next());
        if self.among > 1 {
            talk(&failure.message_about(source));
        }
        let view = json!({ "name": source, "problem": cause, "next": next });
        self.failed.push((source.to_owned(), failure));
        view
    }

    /// Fails with the failure of the only source, or with the names of the failed ones.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        if self.among == 1
            && let Some((_, failure)) = self.failed.pop()
        {
            return Err(failure);
        }
        if self.failed.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = self.failed.iter().map(|(name, _)| name.as_str()).collect();
        let message = Message::new("sync-failed").number("failed", names.len()).number("all", self.among);
        Err(Failure::failed(message.text("names", names.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_names_the_failed_sources() {
        assert!(Broken::among(2).end().is_ok());
        let mut broken = Broken::among(3);
        broken.note("a", Failure::failed(Message::verbatim("there is no table t")));
        broken.note("c", Failure::failed(Message::verbatim("there is no table u")));
        assert_eq!(broken.end().unwrap_err().cause(), "2 of 3 sources failed: a, c");
        let mut only = Broken::among(1);
        assert_eq!(
            only.note("a", Failure::failed(Message::verbatim("there is no table t")))["problem"],
            "there is no table t"
        );
        assert_eq!(only.end().unwrap_err().cause(), "there is no table t", "a single source fails with its own cause");
    }
}
