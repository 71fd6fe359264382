//! Bugs to switch on, one at a time: a checker that has never failed proves nothing.
//!
//! Each one is a bug of a store or of the drive around the decisions, most of them met in somebody's real
//! queue. The rules in `turno_core` stay as they are.

/// One bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sabotage {
    /// How the program calls it.
    pub name: &'static str,
    /// Checkers that may notice it.
    pub expected: &'static [&'static str],
    pub(crate) bug: Bug,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The settlement finds the item whatever its fence.
    SettleIgnoresFence,
    /// The heartbeat renews whoever's lease it is.
    BeatIgnoresFence,
    /// The release frees whoever's lease it is.
    ReleaseIgnoresFence,
    /// The release of a page that was left frees what its reload has claimed.
    ReleaseFreesNewerClaim,
    /// The clock is read, and then the lock waited for.
    ClockBeforeLock,
    /// A resource never seen is read, decided and written without ever being locked.
    AbsentRowNotInserted,
    /// Each decision takes the wall clock as it is.
    GuardOff,
    /// The highest time decided with is read when an instance starts, and never again.
    MarkOnlyAtStart,
    /// The sweeper writes back what it read earlier.
    SweepUnconditional,
    /// One statement claims and joins: the data are those of its snapshot.
    ClaimJoinsData,
    /// Enqueue and settle do not lock the lane.
    NoStripes,
    /// Enqueue sees that somebody is in process and waits for no lock; when that one ends, nobody wakes the new item.
    WakeMissed,
    /// Due heads are chosen without being locked.
    HeadsUnlocked,
    /// The ack does not compare revisions.
    AckSwallowsChange,
    /// The attempt is counted when it fails, not when it is handed out.
    AttemptNotCounted,
    /// Numbers start a little earlier after a restart, as with cached blocks.
    NumbersReused,
    /// Ids are remembered in memory.
    DedupeForgotten,
    /// The id of a change that an item took in is not looked for.
    AbsorbedForgotten,
    /// Only unfinished items are searched for the id.
    AckedReinserted,
    /// A retry takes along what arrived after the first hand-out.
    GroupNotFrozen,
    /// The last of the lane is woken instead of the first.
    SuccessorWrongOrder,
    /// An ended ownership is not written into the history.
    HistoryMissing,
    /// An ended ownership is written with an end after the next one's beginning.
    HistoryOverlaps,
    /// The claim does not look at the window.
    WindowIgnored,
    /// The waiting line is read last come, first served.
    LineReversed,
    /// The server does not look at the idle time.
    IdleIgnored,
    /// Heartbeats go on past the rolling timeout.
    RollingIgnored,
    /// A heartbeat after the expiry is good if nobody has claimed since.
    BeatRevivesExpired,
    /// A heartbeat always writes now plus half a ttl.
    BeatShortens,
    /// The holder's claim starts a new ownership's times.
    ReclaimRestarts,
    /// An expired lease is held until a sweeper removes it.
    ExpiryNeedsSweeper,
    /// The look at a lease ends it whether or not it was extended since it was found due.
    LookUnconditional,
    /// No decision sets when a lease is looked at.
    LookNotSet,
    /// A look announces an expiry also if somebody else has announced it.
    LookAnnouncesAgain,
    /// A failed group is given up as a whole.
    PoisonTakesNeighbours,
    /// The history line of an acked item is lost.
    AckedDisappears,
    /// An exhausted item's errors are cleaned up.
    ErrorsForgotten,
    /// A change does not reset the attempts of its key.
    ChangeKeepsAttempts,
    /// The key's unfinished item is not found.
    CoalescingBlind,
    /// The row of a coalesced item keeps the revision it was handed out with before.
    RevisionGoesBack,
    /// A failed item is counted as waiting.
    CountsWrong,
    /// A repeated settlement is only told that it is stale.
    RepeatForgotten,
    /// That work came back is forgotten when somebody else takes it.
    ReturnForgotten,
    /// Two finalizes of a task apply the same line at the same time.
    LineUnlocked,
    /// The effect of a line is committed before the line is marked as applied.
    EffectApart,
    /// A line is applied whoever has the lock.
    LineIgnoresFence,
    /// The lock is looked at in a transaction before that of the line.
    FenceCheckedEarlier,
    /// What was moved before a line failed stays moved.
    FailureKeepsEffect,
    /// A finalize applies what is applied.
    AppliedAgain,
    /// Whoever takes a lease does not look whether somebody is finishing something under it.
    PinIgnored,
    /// A finalize ends as completed although lines failed.
    FailedCompletes,
    /// An applied line leaves the task in the status that it had.
    LineKeepsStatus,
    /// The line of a task is written back as it was before the task ended.
    LineOutlivesTask,
    /// A repeated finalize is answered with what it found this time.
    FinalizeForgotten,
    /// An override is not written into the audit.
    OverrideUnaudited,
    /// Retrying and cancelling an item is not written into the audit.
    ManageUnaudited,
    /// The audit goes on from a head that nobody locked.
    HeadUnlocked,
    /// Events are read on from the highest number seen, which they got while their transaction ran.
    EventsByNumber,
    /// Two sequencers at the same time.
    SequencerUnlocked,
    /// The sequencer usually looks only a little way back: what it finds later comes too late for the order.
    SequencerFloor,
    /// A listener that resumes begins at the newest event and says nothing.
    ResumeSkips,
    /// A listener goes on behind what was purged and says nothing.
    ResetUntold,
    /// An event is visible before the transaction that it is about has committed.
    EventBeforeCommit,
    /// What an instance remembers about the database survives a failover.
    MemoryKept,
    /// After a failover numbers go on where the standby was.
    NumbersFallBack,
}

/// Every bug there is.
pub const ALL: &[Sabotage] = &[
    sabotage(Bug::SettleIgnoresFence, "settle-ignores-fence", &["Q6"]),
    sabotage(Bug::BeatIgnoresFence, "beat-ignores-fence", &["L3"]),
    sabotage(Bug::ReleaseIgnoresFence, "release-ignores-fence", &["L10"]),
    sabotage(Bug::ReleaseFreesNewerClaim, "release-frees-newer-claim", &["L10"]),
    sabotage(Bug::ClockBeforeLock, "clock-before-lock", &["T3"]),
    sabotage(Bug::AbsentRowNotInserted, "absent-row-not-inserted", &["L1", "T3"]),
    sabotage(Bug::GuardOff, "clock-guard-off", &["T3", "K2"]),
    sabotage(Bug::MarkOnlyAtStart, "mark-only-at-start", &["T3", "K2"]),
    sabotage(Bug::SweepUnconditional, "sweep-unconditional", &["Q7"]),
    sabotage(Bug::ClaimJoinsData, "claim-joins-data", &["S1"]),
    sabotage(Bug::NoStripes, "no-stripes", &["Q14", "Q1", "Q2", "Q10", "S3", "S4", "T3"]),
    sabotage(Bug::WakeMissed, "wake-missed", &["Q14", "Q1", "Q10", "T3"]),
    sabotage(Bug::HeadsUnlocked, "heads-unlocked", &["Q3"]),
    sabotage(Bug::AckSwallowsChange, "ack-swallows-change", &["S2"]),
    sabotage(Bug::AttemptNotCounted, "attempt-not-counted", &["Q8"]),
    sabotage(Bug::NumbersReused, "numbers-reused", &["L2", "Q8", "Q1", "Q3", "S3", "S4"]),
    sabotage(Bug::DedupeForgotten, "dedupe-forgotten", &["Q12"]),
    sabotage(Bug::AbsorbedForgotten, "absorbed-forgotten", &["Q12"]),
    sabotage(Bug::AckedReinserted, "acked-reinserted", &["Q12"]),
    sabotage(Bug::GroupNotFrozen, "group-not-frozen", &["Q11"]),
    sabotage(Bug::SuccessorWrongOrder, "successor-wrong-order", &["Q1"]),
    sabotage(Bug::HistoryMissing, "history-missing", &["L12"]),
    sabotage(Bug::HistoryOverlaps, "history-overlaps", &["L12"]),
    sabotage(Bug::WindowIgnored, "window-ignored", &["Q10"]),
    sabotage(Bug::LineReversed, "line-reversed", &["L14"]),
    sabotage(Bug::IdleIgnored, "idle-ignored", &["L8"]),
    sabotage(Bug::RollingIgnored, "rolling-ignored", &["L7"]),
    sabotage(Bug::BeatRevivesExpired, "beat-revives-expired", &["L5"]),
    sabotage(Bug::BeatShortens, "beat-shortens", &["L6"]),
    sabotage(Bug::ReclaimRestarts, "reclaim-restarts", &["L9"]),
    sabotage(Bug::ExpiryNeedsSweeper, "expiry-needs-sweeper", &["L13", "L3"]),
    sabotage(Bug::LookUnconditional, "look-unconditional", &["L3"]),
    sabotage(Bug::LookNotSet, "look-not-set", &["L16"]),
    sabotage(Bug::LookAnnouncesAgain, "look-announces-again", &["L16"]),
    sabotage(Bug::PoisonTakesNeighbours, "poison-takes-neighbours", &["Q17", "Q6"]),
    sabotage(Bug::AckedDisappears, "acked-disappears", &["Q5"]),
    sabotage(Bug::ErrorsForgotten, "errors-forgotten", &["Q9", "Q16"]),
    sabotage(Bug::ChangeKeepsAttempts, "change-keeps-attempts", &["S6"]),
    sabotage(Bug::CoalescingBlind, "coalescing-blind", &["S3"]),
    sabotage(Bug::RevisionGoesBack, "revision-goes-back", &["S4"]),
    sabotage(Bug::CountsWrong, "counts-wrong", &["Q15"]),
    sabotage(Bug::RepeatForgotten, "repeat-forgotten", &["Q16"]),
    sabotage(Bug::ReturnForgotten, "return-forgotten", &["Q16"]),
    sabotage(Bug::LineUnlocked, "line-unlocked", &["K1"]),
    sabotage(Bug::EffectApart, "effect-apart", &["K1", "K3"]),
    sabotage(Bug::LineIgnoresFence, "line-ignores-fence", &["K2"]),
    sabotage(Bug::FenceCheckedEarlier, "fence-checked-earlier", &["K2"]),
    sabotage(Bug::FailureKeepsEffect, "failure-keeps-effect", &["K3"]),
    sabotage(Bug::AppliedAgain, "applied-again", &["K1"]),
    sabotage(Bug::PinIgnored, "pin-ignored", &["K2"]),
    sabotage(Bug::FailedCompletes, "failed-completes", &["K1"]),
    sabotage(Bug::LineKeepsStatus, "line-keeps-status", &["K5"]),
    sabotage(Bug::LineOutlivesTask, "line-outlives-task", &["K4"]),
    sabotage(Bug::FinalizeForgotten, "finalize-forgotten", &["K1"]),
    sabotage(Bug::OverrideUnaudited, "override-unaudited", &["L11"]),
    sabotage(Bug::ManageUnaudited, "manage-unaudited", &["U1"]),
    sabotage(Bug::HeadUnlocked, "head-unlocked", &["U2"]),
    sabotage(Bug::EventsByNumber, "events-by-number", &["V1"]),
    sabotage(Bug::SequencerUnlocked, "sequencer-unlocked", &["V1"]),
    sabotage(Bug::SequencerFloor, "sequencer-floor", &["V1"]),
    sabotage(Bug::ResumeSkips, "resume-skips", &["V1"]),
    sabotage(Bug::ResetUntold, "reset-untold", &["V1"]),
    sabotage(Bug::EventBeforeCommit, "event-before-commit", &["V1"]),
    sabotage(Bug::MemoryKept, "memory-kept", &["Q1", "Q2", "Q14", "S3"]),
    sabotage(Bug::NumbersFallBack, "numbers-fall-back", &["L2", "Q8", "K1"]),
];

const fn sabotage(bug: Bug, name: &'static str, expected: &'static [&'static str]) -> Sabotage {
    Sabotage { name, expected, bug }
}

/// Finds a bug by its name.
pub fn named(name: &str) -> Option<Sabotage> {
    ALL.iter().copied().find(|sabotage| sabotage.name == name)
}
