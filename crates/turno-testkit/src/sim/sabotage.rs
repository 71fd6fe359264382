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

macro_rules! bugs {
    ($($(#[$doc:meta])* $bug:ident $name:literal => [$($id:literal),+];)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Bug { $($(#[$doc])* $bug,)+ }

        /// Every bug there is.
        pub const ALL: &[Sabotage] = &[$(Sabotage { name: $name, expected: &[$($id),+], bug: Bug::$bug },)+];
    };
}

bugs! {
    /// The settlement finds the item whatever its fence.
    SettleIgnoresFence "settle-ignores-fence" => ["Q6"];
    /// The heartbeat renews whoever's lease it is.
    BeatIgnoresFence "beat-ignores-fence" => ["L3", "L5"];
    /// The release frees whoever's lease it is.
    ReleaseIgnoresFence "release-ignores-fence" => ["L10", "L3"];
    /// The release of a page that was left frees what its reload has claimed.
    ReleaseFreesNewerClaim "release-frees-newer-claim" => ["L10"];
    /// The clock is read, and then the lock waited for.
    ClockBeforeLock "clock-before-lock" => ["T3", "L1", "L12"];
    /// A resource never seen is read, decided and written without ever being locked.
    AbsentRowNotInserted "absent-row-not-inserted" => ["L1", "L2", "L12"];
    /// Each decision takes the wall clock as it is.
    GuardOff "clock-guard-off" => ["T3"];
    /// The highest time decided with is read when an instance starts, and never again.
    MarkOnlyAtStart "mark-only-at-start" => ["T3"];
    /// The sweeper writes back what it read earlier.
    SweepUnconditional "sweep-unconditional" => ["Q7", "Q4", "Q6"];
    /// One statement claims and joins: the data are those of its snapshot.
    ClaimJoinsData "claim-joins-data" => ["S1"];
    /// Enqueue and settle do not lock the lane.
    NoStripes "no-stripes" => ["Q14", "Q1", "Q2", "Q6", "T3"];
    /// Due heads are chosen without being locked.
    HeadsUnlocked "heads-unlocked" => ["Q2", "Q3"];
    /// The ack does not compare revisions.
    AckSwallowsChange "ack-swallows-change" => ["S2"];
    /// The attempt is counted when it fails, not when it is handed out.
    AttemptNotCounted "attempt-not-counted" => ["Q8"];
    /// Numbers start a little earlier after a restart, as with cached blocks.
    NumbersReused "numbers-reused" => ["L2", "Q8", "Q1"];
    /// Ids are remembered in memory.
    DedupeForgotten "dedupe-forgotten" => ["Q12"];
    /// Only unfinished items are searched for the id.
    AckedReinserted "acked-reinserted" => ["Q12"];
    /// A retry takes along what arrived after the first hand-out.
    GroupNotFrozen "group-not-frozen" => ["Q11"];
    /// The last of the lane is woken instead of the first.
    SuccessorWrongOrder "successor-wrong-order" => ["Q1"];
    /// An ended ownership is not written into the history.
    HistoryMissing "history-missing" => ["L12"];
    /// An ended ownership is written with an end after the next one's beginning.
    HistoryOverlaps "history-overlaps" => ["L12"];
    /// The claim does not look at the window.
    WindowIgnored "window-ignored" => ["Q10"];
    /// The waiting line is read last come, first served.
    LineReversed "line-reversed" => ["L14"];
    /// The server does not look at the idle time.
    IdleIgnored "idle-ignored" => ["L8"];
    /// Heartbeats go on past the rolling timeout.
    RollingIgnored "rolling-ignored" => ["L7"];
    /// A heartbeat after the expiry is good if nobody has claimed since.
    BeatRevivesExpired "beat-revives-expired" => ["L5"];
    /// A heartbeat always writes now plus half a ttl.
    BeatShortens "beat-shortens" => ["L6"];
    /// The holder's claim starts a new ownership's times.
    ReclaimRestarts "reclaim-restarts" => ["L9"];
    /// An expired lease is held until a sweeper removes it.
    ExpiryNeedsSweeper "expiry-needs-sweeper" => ["L13"];
    /// A failed group is given up as a whole.
    PoisonTakesNeighbours "poison-takes-neighbours" => ["Q17", "Q8"];
    /// The history line of an acked item is lost.
    AckedDisappears "acked-disappears" => ["Q5"];
    /// An exhausted item's errors are cleaned up.
    ErrorsForgotten "errors-forgotten" => ["Q9"];
    /// A change does not reset the attempts of its key.
    ChangeKeepsAttempts "change-keeps-attempts" => ["S6", "Q8"];
    /// The key's unfinished item is not found.
    CoalescingBlind "coalescing-blind" => ["S3"];
    /// The row of a coalesced item keeps the revision it was handed out with before.
    RevisionGoesBack "revision-goes-back" => ["S4", "S2"];
    /// A failed item is counted as waiting.
    CountsWrong "counts-wrong" => ["Q15"];
    /// A repeated settlement is only told that it is stale.
    RepeatForgotten "repeat-forgotten" => ["Q16"];
}

/// Finds a bug by its name.
pub fn named(name: &str) -> Option<Sabotage> {
    ALL.iter().copied().find(|sabotage| sabotage.name == name)
}
