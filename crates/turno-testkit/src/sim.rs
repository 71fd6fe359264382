//! A seeded simulation: people, clerks, workers, listeners and several instances of Turno on one simulated database.
//!
//! It drives the real decisions of `turno::store` through everything that can come in between: interleaved
//! transactions, crashes, lost and doubled messages, pauses longer than a lease, a clock that steps, a failover that loses
//! the newest commits. Checkers
//! outside the engine watch the history. One number, the seed, decides everything, so a failure replays.
//!
//! Left out: real SQL (the conformance cases run it), the engine's own queues and waits, and access.

mod check;
mod clients;
mod db;
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
    /// How many client calls before the faults stop and everything is finished.
    pub operations: u64,
    /// Which bug to switch on.
    pub sabotage: Option<Sabotage>,
    /// Whether to write down what happens.
    pub record: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { operations: 3_000, sabotage: None, record: false }
    }
}

/// What went wrong on purpose.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Instances that died.
    pub crashes: u64,
    /// Transactions that died with them.
    pub aborted: u64,
    /// Answers that never arrived although everything had happened.
    pub lost_answers: u64,
    /// Calls that arrived twice.
    pub doubled: u64,
    /// Calls that arrived late.
    pub delayed: u64,
    /// Instances that stood still in a transaction.
    pub stalls: u64,
    /// Steps of the database's clock forwards.
    pub steps_forward: u64,
    /// Steps of the database's clock back.
    pub steps_back: u64,
    /// Failovers to a standby that lacked the newest commits.
    pub failovers: u64,
    /// Commits that such failovers lost.
    pub lost_commits: u64,
}

/// What a world, or many of them, did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Worlds.
    pub seeds: u64,
    /// Client calls.
    pub operations: u64,
    /// Transactions that committed.
    pub commits: u64,
    /// Times that a transaction waited for a lock.
    pub waits: u64,
    /// Transactions that were redone because the same new id came in between.
    pub redone: u64,
    /// Finalizes of tasks that were answered, also with a refusal.
    pub finalizes: u64,
    /// Lines of tasks that were applied.
    pub lines_applied: u64,
    /// Lines of tasks that failed.
    pub lines_failed: u64,
    /// Times that somebody had to ask again because a line was being applied.
    pub pinned: u64,
    /// Events that got a position.
    pub events: u64,
    /// Listeners who were told of a gap.
    pub resets: u64,
    /// How much time passed in the worlds.
    pub simulated_ms: u64,
    /// What went wrong on purpose.
    pub faults: Faults,
}

impl Tally {
    /// Adds another world's figures.
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

/// A broken promise.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The invariant, as in the list of promises.
    pub id: &'static str,
    /// The resource, or queue and key.
    pub subject: String,
    /// What was seen.
    pub message: String,
    /// The event at which it was seen.
    pub step: u64,
    /// The world in which it happens again.
    pub seed: u64,
    /// The last lines about the subject.
    pub excerpt: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} violated for {} (seed {}, step {})", self.id, self.subject, self.seed, self.step)?;
        writeln!(f, "  {}", self.message)?;
        self.excerpt.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Lives one world through.
pub fn run(seed: u64, options: &Options) -> (Tally, Option<Violation>) {
    let setup = Setup::new();
    let (mut tally, _, violation) = World::new(seed, options, &setup).live(options.operations);
    tally.seeds = 1;
    (tally, violation.map(|violation| explain(seed, options, violation)))
}

/// The whole story of one world.
pub fn trace(seed: u64, options: &Options) -> (Vec<String>, Option<Violation>) {
    let setup = Setup::new();
    let options = Options { record: true, ..*options };
    let (_, history, violation) = World::new(seed, &options, &setup).live(options.operations);
    let lines = history.lines().iter().map(|line| line.text.clone()).collect();
    (lines, violation.map(|violation| explain(seed, &options, violation)))
}

/// Lives the world through once more, this time writing down what concerns the violation.
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
