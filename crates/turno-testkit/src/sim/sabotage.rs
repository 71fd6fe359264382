//! Bugs to switch on, one at a time, because a checker that has never failed proves nothing.
//!
//! Each is a bug of a store or of the code around the decisions. Most of them occurred in real queues. The rules in
//! `turno_core` stay unchanged.

/// One bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sabotage {
    /// The name on the command line.
    pub name: &'static str,
    /// The invariants whose checkers may notice the bug.
    pub expected: &'static [&'static str],
    pub(crate) bug: Bug,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A settlement ignores the fence.
    SettleIgnoresFence,
    /// A heartbeat ignores the fence.
    BeatIgnoresFence,
    /// A release ignores the fence.
    ReleaseIgnoresFence,
    /// The release of a closed page frees the newer claim of its reload.
    ReleaseFreesNewerClaim,
    /// The clock is read before the lock is waited for.
    ClockBeforeLock,
    /// An unknown resource is read, decided and written without a lock.
    AbsentRowNotInserted,
    /// Each decision uses the wall clock unguarded.
    GuardOff,
    /// The highest decided time is read only when an instance starts.
    MarkOnlyAtStart,
    /// The sweeper writes back what it read earlier, without a condition.
    SweepUnconditional,
    /// One statement claims and joins the payloads, which then come from an old snapshot.
    ClaimJoinsData,
    /// Enqueue and settle do not lock the lane.
    NoStripes,
    /// An enqueue sees a delivery in process without a lock. When that ends, the new item is never woken.
    WakeMissed,
    /// Due heads are chosen without being locked.
    HeadsUnlocked,
    /// The ack does not compare revisions.
    AckSwallowsChange,
    /// The attempt is counted when it fails, not when it is handed out.
    AttemptNotCounted,
    /// Numbers start a little earlier after a restart, as with cached sequence blocks.
    NumbersReused,
    /// Ids are remembered only in memory.
    DedupeForgotten,
    /// Ids of coalesced changes are not checked.
    AbsorbedForgotten,
    /// Only unfinished items are checked for a duplicate id.
    AckedReinserted,
    /// A retry includes items that arrived after the first delivery.
    GroupNotFrozen,
    /// The last item of the lane is promoted instead of the first.
    SuccessorWrongOrder,
    /// An ended ownership is not written into the history.
    HistoryMissing,
    /// An ended ownership is written with an end after the start of the next one.
    HistoryOverlaps,
    /// A claim ignores the window.
    WindowIgnored,
    /// The waiting line is served last come, first served.
    LineReversed,
    /// The engine ignores the idle time.
    IdleIgnored,
    /// Heartbeats go on past the rolling timeout.
    RollingIgnored,
    /// A heartbeat after the expiry is accepted if no claim came since.
    BeatRevivesExpired,
    /// A heartbeat always writes now plus half a ttl.
    BeatShortens,
    /// The holder's own claim restarts the times of the ownership.
    ReclaimRestarts,
    /// An expired lease is held until a sweeper removes it.
    ExpiryNeedsSweeper,
    /// A due look ends the lease even if it was extended since.
    LookUnconditional,
    /// No decision sets `look_at`.
    LookNotSet,
    /// A look announces an expiry that was already announced.
    LookAnnouncesAgain,
    /// A failed group is exhausted as a whole.
    PoisonTakesNeighbours,
    /// The finished row of an acked item is lost.
    AckedDisappears,
    /// The errors of an exhausted item are deleted.
    ErrorsForgotten,
    /// A change does not reset the attempts of its key.
    ChangeKeepsAttempts,
    /// An enqueue does not find the key's unfinished item.
    CoalescingBlind,
    /// The row of a coalesced item keeps its old revision.
    RevisionGoesBack,
    /// A failed item is counted as waiting.
    CountsWrong,
    /// A repeated settlement is answered as stale.
    RepeatForgotten,
    /// A return is forgotten when the item is handed out again.
    ReturnForgotten,
    /// Two finalizes of a task apply the same line at the same time.
    LineUnlocked,
    /// The effect of a line is committed before the line is marked as applied.
    EffectApart,
    /// A line is applied without checking the fence.
    LineIgnoresFence,
    /// The fence is checked in a transaction before that of the line.
    FenceCheckedEarlier,
    /// The effect of a failed line is not rolled back.
    FailureKeepsEffect,
    /// A finalize applies a line that is already applied.
    AppliedAgain,
    /// A claim ignores that a finalize pins the lease.
    PinIgnored,
    /// A finalize ends as completed although lines failed.
    FailedCompletes,
    /// An applied line does not change the task's status.
    LineKeepsStatus,
    /// A line is written back with the state from before the task ended.
    LineOutlivesTask,
    /// A repeated finalize is answered with a new result.
    FinalizeForgotten,
    /// An override has no audit entry.
    OverrideUnaudited,
    /// Retries and cancellations of items have no audit entry.
    ManageUnaudited,
    /// The audit chain continues from a head that was read without a lock.
    HeadUnlocked,
    /// Listeners read events by the number taken during the transaction, instead of by position.
    EventsByNumber,
    /// Two sequencers run at the same time.
    SequencerUnlocked,
    /// The sequencer usually scans only from a recent number, so it finds older events too late for the order.
    SequencerFloor,
    /// A listener that resumes starts at the newest event without a reset.
    ResumeSkips,
    /// A listener continues behind purged events without a reset.
    ResetUntold,
    /// An event is visible before its transaction commits.
    EventBeforeCommit,
    /// An instance's cache survives a failover.
    MemoryKept,
    /// After a failover numbers continue where the standby was.
    NumbersFallBack,
}

/// All bugs.
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
    sabotage(Bug::LineOutlivesTask, "line-outlives-task", &["K4", "L14"]),
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
