//! Collects the failures of sources. A failed source does not stop the others, and the end lists the failed ones.

use serde_json::{Value, json};

use crate::cli::output::talk;
use crate::failure::Failure;

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
        if self.among > 1 {
            talk(&format!("{source}: {}; {}", failure.cause, failure.next));
        }
        let view = json!({ "name": source, "problem": failure.cause, "next": failure.next });
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
        let cause = format!("{} of {} sources failed: {}", names.len(), self.among, names.join(", "));
        Err(Failure::failed(cause, "what is wrong with each is said above; the others were served"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_names_the_failed_sources() {
        assert!(Broken::among(2).end().is_ok());
        let mut broken = Broken::among(3);
        broken.note("a", Failure::failed("there is no table t", "create it"));
        broken.note("c", Failure::failed("there is no table u", "create it"));
        assert_eq!(broken.end().unwrap_err().cause, "2 of 3 sources failed: a, c");
        let mut only = Broken::among(1);
        assert_eq!(
            only.note("a", Failure::failed("there is no table t", "create it"))["problem"],
            "there is no table t"
        );
        assert_eq!(only.end().unwrap_err().cause, "there is no table t", "a single source fails with its own cause");
    }
}
