//! A seeded simulation: people, clerks, workers, listeners and several instances of Turno on one simulated database.
//!
//! The simulation runs the real decisions of `turno::store` under faults: interleaved transactions, crashes, lost and
//! doubled messages, pauses longer than a lease, clock steps, and failovers that lose the newest commits. Checkers
//! outside the engine watch the history. The seed determines everything, so a failure can be replayed.
//!
//! Left out: real SQL (the conformance cases run it), the engine's own queues and waits, and access.

mod check;
mod clients;
mod history;
mod memory;
mod message;
mod rng;
pub mod sabotage;
mod setup;
#[cfg(test)]
mod tests;
mod tx;
mod world;

use sabotage::Sabotage;
use setup::Setup;
use std::fmt;
use world::World;

/// How to run a world.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of client calls before the faults stop and all work is finished.
    pub operations: u64,
    /// The bug to switch on, if any.
    pub sabotage: Option<Sabotage>,
    /// Whether to record a trace.
    pub record: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { operations: 3_000, sabotage: None, record: false }
    }
}

/// Counts of the injected faults.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Instances that crashed.
    pub crashes: u64,
    /// Transactions that were aborted by a crash.
    pub aborted: u64,
    /// Answers that were lost after the commit.
    pub lost_answers: u64,
    /// Calls that arrived twice.
    pub doubled: u64,
    /// Calls that arrived late.
    pub delayed: u64,
    /// Instances that paused inside a transaction.
    pub stalls: u64,
    /// Forward steps of the database's clock.
    pub steps_forward: u64,
    /// Backward steps of the database's clock.
    pub steps_back: u64,
    /// Failovers to a standby that lacked the newest commits.
    pub failovers: u64,
    /// Commits that were lost by a failover.
    pub lost_commits: u64,
}

/// Counts of what happened in one world or in many.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Simulated worlds.
    pub seeds: u64,
    /// Client calls.
    pub operations: u64,
    /// Transactions that committed.
    pub commits: u64,
    /// Waits of a transaction for a lock.
    pub waits: u64,
    /// Transactions that were repeated because another transaction inserted the same new id.
    pub redone: u64,
    /// Finalizes of tasks that were answered, refusals included.
    pub finalizes: u64,
    /// Lines of tasks that were applied.
    pub lines_applied: u64,
    /// Lines of tasks that failed.
    pub lines_failed: u64,
    /// Calls that were answered "pinned" because a line was being applied.
    pub pinned: u64,
    /// Events that got a position.
    pub events: u64,
    /// Resets that listeners received because of a gap.
    pub resets: u64,
    /// Simulated time that passed.
    pub simulated_ms: u64,
    /// Injected faults.
    pub faults: Faults,
}

impl Tally {
    /// Adds the counts of another world.
    pub fn add(&mut self, other: &Tally) {
        self.seeds += other.seeds;
        self.operations += other.operations;
        self.commits += other.commits;
        self.waits += other.waits;
        self.redone += other.redone;
        self.finalizes += other.finalizes;
        self.lines_applied += other.lines_applied;
        self.lines_failed += other.lines_failed;
        self.pinned += other.pinned;
        self.events += other.events;
        self.resets += other.resets;
        self.simulated_ms += other.simulated_ms;
        let (faults, more) = (&mut self.faults, &other.faults);
        faults.crashes += more.crashes;
        faults.aborted += more.aborted;
        faults.lost_answers += more.lost_answers;
        faults.doubled += more.doubled;
        faults.delayed += more.delayed;
        faults.stalls += more.stalls;
        faults.steps_forward += more.steps_forward;
        faults.steps_back += more.steps_back;
        faults.failovers += more.failovers;
        faults.lost_commits += more.lost_commits;
    }
}

/// A broken invariant.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The id of the invariant, as in `docs/internals/invariants.md`.
    pub id: &'static str,
    /// The resource, or the queue and the key.
    pub subject: String,
    /// A description of the violation.
    pub message: String,
    /// The step at which the violation was seen.
    pub step: u64,
    /// The seed that replays the violation.
    pub seed: u64,
    /// The last trace lines about the subject.
    pub excerpt: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} violated for {} (seed {}, step {})", self.id, self.subject, self.seed, self.step)?;
        writeln!(f, "  {}", self.message)?;
        self.excerpt.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Runs one world.
pub fn run(seed: u64, options: &Options) -> (Tally, Option<Violation>) {
    let setup = Setup::new();
    let (mut tally, _, violation) = World::new(seed, options, &setup).live(options.operations);
    tally.seeds = 1;
    (tally, violation.map(|violation| explain(seed, options, violation)))
}

/// Runs one world and returns its whole trace.
pub fn trace(seed: u64, options: &Options) -> (Vec<String>, Option<Violation>) {
    let setup = Setup::new();
    let options = Options { record: true, ..*options };
    let (_, history, violation) = World::new(seed, &options, &setup).live(options.operations);
    let lines = history.lines().iter().map(|line| line.text.clone()).collect();
    (lines, violation.map(|violation| explain(seed, &options, violation)))
}

/// Runs the world again and records the trace lines that concern the violation.
fn explain(seed: u64, options: &Options, violation: Violation) -> Violation {
    const LINES: usize = 40;
    let setup = Setup::new();
    let options = Options { record: true, ..*options };
    let (_, history, _) = World::new(seed, &options, &setup).live(options.operations);
    let about = history
        .lines()
        .iter()
        .filter(|line| line.subject.is_empty() || line.subject == violation.subject)
        .map(|line| line.text.clone());
    let all: Vec<String> = about.collect();
    let excerpt = all[all.len().saturating_sub(LINES)..].to_vec();
    Violation { seed, excerpt, ..violation }
}
