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

/// Declares the bugs: for each its name and the invariants whose checkers may notice it.
macro_rules! bugs {
    ($($(#[$doc:meta])* $bug:ident = $name:literal, [$($invariant:literal),*];)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Bug { $($(#[$doc])* $bug,)* }

        /// All bugs.
        pub const ALL: &[Sabotage] =
            &[$(Sabotage { name: $name, expected: &[$($invariant),*], bug: Bug::$bug }),*];
    };
}

bugs! {
    /// A settlement ignores the fence.
    SettleIgnoresFence = "settle-ignores-fence", ["Q6"];
    /// A heartbeat ignores the fence.
    BeatIgnoresFence = "beat-ignores-fence", ["L3"];
    /// A release ignores the fence.
    ReleaseIgnoresFence = "release-ignores-fence", ["L10"];
    /// The release of a closed page frees the newer claim of its reload.
    ReleaseFreesNewerClaim = "release-frees-newer-claim", ["L10"];
    /// The clock is read before the lock is waited for.
    ClockBeforeLock = "clock-before-lock", ["T3"];
    /// An unknown resource is read, decided and written without a lock.
    AbsentRowNotInserted = "absent-row-not-inserted", ["L1", "T3"];
    /// Each decision uses the wall clock unguarded.
    GuardOff = "clock-guard-off", ["T3", "K2"];
    /// The highest decided time is read only when an instance starts.
    MarkOnlyAtStart = "mark-only-at-start", ["T3", "K2"];
    /// The sweeper writes back what it read earlier, without a condition.
    SweepUnconditional = "sweep-unconditional", ["Q7"];
    /// One statement claims and joins the payloads, which then come from an old snapshot.
    ClaimJoinsData = "claim-joins-data", ["S1"];
    /// Enqueue and settle do not lock the lane.
    NoStripes = "no-stripes", ["Q14", "Q1", "Q2", "Q10", "S3", "S4", "T3"];
    /// An enqueue sees a delivery in process without a lock. When that ends, the new item is never woken.
    WakeMissed = "wake-missed", ["Q14", "Q1", "Q10", "T3"];
    /// Due heads are chosen without being locked.
    HeadsUnlocked = "heads-unlocked", ["Q3"];
    /// The ack does not compare revisions.
    AckSwallowsChange = "ack-swallows-change", ["S2"];
    /// The attempt is counted when it fails, not when it is handed out.
    AttemptNotCounted = "attempt-not-counted", ["Q8"];
    /// Numbers start a little earlier after a restart, as with cached sequence blocks.
    NumbersReused = "numbers-reused", ["L2", "Q8", "Q1", "Q3", "S3", "S4"];
    /// Ids are remembered only in memory.
    DedupeForgotten = "dedupe-forgotten", ["Q12"];
    /// Ids of coalesced changes are not checked.
    AbsorbedForgotten = "absorbed-forgotten", ["Q12"];
    /// Only unfinished items are checked for a duplicate id.
    AckedReinserted = "acked-reinserted", ["Q12"];
    /// A retry includes items that arrived after the first delivery.
    GroupNotFrozen = "group-not-frozen", ["Q11"];
    /// The last item of the lane is promoted instead of the first.
    SuccessorWrongOrder = "successor-wrong-order", ["Q1"];
    /// An ended ownership is not written into the history.
    HistoryMissing = "history-missing", ["L12"];
    /// An ended ownership is written with an end after the start of the next one.
    HistoryOverlaps = "history-overlaps", ["L12"];
    /// A claim ignores the window.
    WindowIgnored = "window-ignored", ["Q10"];
    /// The waiting line is served last come, first served.
    LineReversed = "line-reversed", ["L14"];
    /// The engine ignores the idle time.
    IdleIgnored = "idle-ignored", ["L8"];
    /// Heartbeats go on past the rolling timeout.
    RollingIgnored = "rolling-ignored", ["L7"];
    /// A heartbeat after the expiry is accepted if no claim came since.
    BeatRevivesExpired = "beat-revives-expired", ["L5"];
    /// A heartbeat always writes now plus half a ttl.
    BeatShortens = "beat-shortens", ["L6"];
    /// The holder's own claim restarts the times of the ownership.
    ReclaimRestarts = "reclaim-restarts", ["L9"];
    /// An expired lease is held until a sweeper removes it.
    ExpiryNeedsSweeper = "expiry-needs-sweeper", ["L13", "L3"];
    /// A due look ends the lease even if it was extended since.
    LookUnconditional = "look-unconditional", ["L3"];
    /// No decision sets `look_at`.
    LookNotSet = "look-not-set", ["L16"];
    /// A look announces an expiry that was already announced.
    LookAnnouncesAgain = "look-announces-again", ["L16"];
    /// A failed group is exhausted as a whole.
    PoisonTakesNeighbours = "poison-takes-neighbours", ["Q17", "Q6"];
    /// The finished row of an acked item is lost.
    AckedDisappears = "acked-disappears", ["Q5"];
    /// The errors of an exhausted item are deleted.
    ErrorsForgotten = "errors-forgotten", ["Q9", "Q16"];
    /// A change does not reset the attempts of its key.
    ChangeKeepsAttempts = "change-keeps-attempts", ["S6"];
    /// An enqueue does not find the key's unfinished item.
    CoalescingBlind = "coalescing-blind", ["S3"];
    /// The row of a coalesced item keeps its old revision.
    RevisionGoesBack = "revision-goes-back", ["S4"];
    /// A failed item is counted as waiting.
    CountsWrong = "counts-wrong", ["Q15"];
    /// A repeated settlement is answered as stale.
    RepeatForgotten = "repeat-forgotten", ["Q16"];
    /// A return is forgotten when the item is handed out again.
    ReturnForgotten = "return-forgotten", ["Q16"];
    /// Two finalizes of a task apply the same line at the same time.
    LineUnlocked = "line-unlocked", ["K1"];
    /// The effect of a line is committed before the line is marked as applied.
    EffectApart = "effect-apart", ["K1", "K3"];
    /// A line is applied without checking the fence.
    LineIgnoresFence = "line-ignores-fence", ["K2"];
    /// The fence is checked in a transaction before that of the line.
    FenceCheckedEarlier = "fence-checked-earlier", ["K2"];
    /// The effect of a failed line is not rolled back.
    FailureKeepsEffect = "failure-keeps-effect", ["K3"];
    /// A finalize applies a line that is already applied.
    AppliedAgain = "applied-again", ["K1"];
    /// A claim ignores that a finalize pins the lease.
    PinIgnored = "pin-ignored", ["K2"];
    /// A finalize ends as completed although lines failed.
    FailedCompletes = "failed-completes", ["K1"];
    /// An applied line does not change the task's status.
    LineKeepsStatus = "line-keeps-status", ["K5"];
    /// A line is written back with the state from before the task ended.
    LineOutlivesTask = "line-outlives-task", ["K4", "L14"];
    /// A repeated finalize is answered with a new result.
    FinalizeForgotten = "finalize-forgotten", ["K1"];
    /// An override has no audit entry.
    OverrideUnaudited = "override-unaudited", ["L11"];
    /// Retries and cancellations of items have no audit entry.
    ManageUnaudited = "manage-unaudited", ["U1"];
    /// The audit chain continues from a head that was read without a lock.
    HeadUnlocked = "head-unlocked", ["U2"];
    /// Listeners read events by the number taken during the transaction, instead of by position.
    EventsByNumber = "events-by-number", ["V1"];
    /// Two sequencers run at the same time.
    SequencerUnlocked = "sequencer-unlocked", ["V1"];
    /// The sequencer usually scans only from a recent number, so it finds older events too late for the order.
    SequencerFloor = "sequencer-floor", ["V1"];
    /// A listener that resumes starts at the newest event without a reset.
    ResumeSkips = "resume-skips", ["V1"];
    /// A listener continues behind purged events without a reset.
    ResetUntold = "reset-untold", ["V1"];
    /// An event is visible before its transaction commits.
    EventBeforeCommit = "event-before-commit", ["V1"];
    /// An instance's cache survives a failover.
    MemoryKept = "memory-kept", ["Q1", "Q2", "Q14", "S3"];
    /// After a failover numbers continue where the standby was.
    NumbersFallBack = "numbers-fall-back", ["L2", "Q8", "K1"];
}

/// Finds a bug by its name.
pub fn named(name: &str) -> Option<Sabotage> {
    ALL.iter().copied().find(|sabotage| sabotage.name == name)
}
