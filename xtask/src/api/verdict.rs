//! Judges a run of made-up requests from outside: statuses, log, memory, and whether the caller still has its rights.
//!
//! Pure, so that tests can show every failure.

use std::collections::BTreeMap;

/// The most memory that an unoptimised server may have used, in KiB. An idle one uses about 50 MiB.
pub(super) const MEMORY_MAX_KIB: u64 = 400 * 1024;

/// The observations of a server after the requests of one role.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// Status to number of answers. The hooks count a 503 other than an overload as 500.
    pub(super) statuses: BTreeMap<u16, u64>,
    /// The server's log so far.
    pub(super) log: String,
    /// `VmHWM` and `VmRSS` of the process in KiB. `None` if the process ended.
    pub(super) memory: Option<Memory>,
    /// The status of `GET /v1/me` with the caller's own token, after the requests.
    pub(super) me: Option<u16>,
}

/// The resident memory of a process in KiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory {
    pub(super) peak: u64,
    pub(super) now: u64,
}

impl Observed {
    /// Returns the number of answers.
    pub(super) fn requests(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Returns what is wrong. `me` is the status that `GET /v1/me` must have.
    pub(super) fn problems(&self, me: u16) -> Vec<String> {
        let mut problems = Vec::new();
        if self.requests() == 0 {
            problems.push("no request was answered".to_owned());
        }
        for (status, count) in self.statuses.iter().filter(|(status, _)| **status >= 500 && **status != 503) {
            problems.push(format!("{count} answers with status {status}"));
        }
        for line in self.log.lines().filter(|line| line.contains("panicked")) {
            problems.push(format!("the log has `{line}`"));
        }
        match self.memory {
            None => problems.push("the server ended".to_owned()),
            Some(memory) if memory.peak > MEMORY_MAX_KIB => {
                problems.push(format!("{} of memory, more than {}", mebibytes(memory.peak), mebibytes(MEMORY_MAX_KIB)));
            }
            Some(_) => {}
        }
        match self.me {
            Some(status) if status == me => {}
            // Without this, a token that was revoked on the way would turn the rest of the run into 401.
            other => problems.push(format!("`GET /v1/me` answers {other:?} at the end, not {me}")),
        }
        problems
    }

    /// Returns the figures in one line.
    pub(super) fn figures(&self) -> String {
        let statuses: Vec<String> = self.statuses.iter().map(|(status, count)| format!("{status}×{count}")).collect();
        let memory = self.memory.map_or_else(
            || "no memory: the server ended".to_owned(),
            |memory| format!("{} at most, {} now", mebibytes(memory.peak), mebibytes(memory.now)),
        );
        format!("{} requests ({}), {memory}", self.requests(), statuses.join(" "))
    }
}

fn mebibytes(kibibytes: u64) -> String {
    format!("{} MiB", kibibytes / 1024)
}

/// Parses the lines `STATUS COUNT` of the hooks.
pub(super) fn parse_statuses(text: &str) -> BTreeMap<u16, u64> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(status, count)| Some((status.parse().ok()?, count.trim().parse().ok()?))).collect()
}

/// Parses `/proc/PID/status`. Returns `None` for a process that has ended, because it has no memory.
pub(super) fn parse_memory(status: &str) -> Option<Memory> {
    let value = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()
    };
    Some(Memory { peak: value("VmHWM")?, now: value("VmRSS")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> Observed {
        Observed {
            statuses: parse_statuses("200 12\n404 3\n503 1\n"),
            log: "{\"level\":\"WARN\",\"message\":\"a slow statement\"}\n".to_owned(),
            memory: parse_memory("Name:\tturno\nVmHWM:\t   51200 kB\nVmRSS:\t   40960 kB\n"),
            me: Some(200),
        }
    }

    #[test]
    fn a_healthy_server_passes_and_its_figures_are_printed() {
        assert_eq!(healthy().problems(200), Vec::<String>::new());
        assert_eq!(healthy().figures(), "16 requests (200×12 404×3 503×1), 50 MiB at most, 40 MiB now");
    }

    #[test]
    fn a_server_error_is_found() {
        let observed = Observed { statuses: parse_statuses("200 1\n500 2\n502 1\n"), ..healthy() };
        assert_eq!(observed.problems(200), ["2 answers with status 500", "1 answers with status 502"]);
    }

    #[test]
    fn a_panic_in_the_log_is_found() {
        let line = "thread 'tokio-runtime-worker' panicked at crates/turno/src/lib.rs:1:1:";
        let observed = Observed { log: format!("{}{line}\nindex out of bounds\n", healthy().log), ..healthy() };
        assert_eq!(observed.problems(200), [format!("the log has `{line}`")]);
    }

    #[test]
    fn memory_above_the_bound_is_found_even_if_it_was_freed_again() {
        let memory = |peak| Observed { memory: Some(Memory { peak, now: 40_000 }), ..healthy() }.problems(200);
        assert!(memory(MEMORY_MAX_KIB).is_empty());
        assert_eq!(memory(450 * 1024), ["450 MiB of memory, more than 400 MiB"]);
    }

    #[test]
    fn a_server_that_ended_a_run_without_requests_and_a_lost_token_are_found() {
        // A process that ended and was not waited for has a status without memory.
        let ended = Observed { memory: parse_memory("Name:\tturno\nState:\tZ (zombie)\n"), ..healthy() };
        assert_eq!(ended.problems(200), ["the server ended"]);
        let silent = Observed { statuses: parse_statuses(""), ..healthy() };
        assert_eq!(silent.problems(200), ["no request was answered"]);
        let revoked = Observed { me: Some(401), ..healthy() };
        assert_eq!(revoked.problems(200).len(), 1);
        assert!(revoked.problems(401).is_empty(), "an anonymous caller has no account");
    }
}
