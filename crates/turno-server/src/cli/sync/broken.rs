//! One source that cannot be served must not hide the others: they go on, and the end says which ones failed.

use serde_json::{Value, json};

use crate::cli::output::talk;
use crate::failure::Failure;

/// The sources that failed, among so many.
#[derive(Debug)]
pub(super) struct Broken {
    among: usize,
    failed: Vec<(String, Failure)>,
}

impl Broken {
    pub(super) fn among(count: usize) -> Broken {
        Broken { among: count, failed: Vec::new() }
    }

    /// Says what is wrong with a source; answers the same for programs.
    pub(super) fn note(&mut self, source: &str, failure: Failure) -> Value {
        if self.among > 1 {
            talk(&format!("{source}: {}; {}", failure.cause, failure.next));
        }
        let view = json!({ "name": source, "problem": failure.cause, "next": failure.next });
        self.failed.push((source.to_owned(), failure));
        view
    }

    /// The failure of the only source there is, or which ones have failed.
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
    fn the_end_names_those_that_failed_and_only_those() {
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
        assert_eq!(only.end().unwrap_err().cause, "there is no table t", "by itself it is not counted");
    }
}
