//! The unmodified system violates no invariant, and a checker catches every bug that is switched on.

use super::{Options, Tally, run, sabotage, trace};
use std::collections::BTreeSet;

/// The number of operations within which a bug must be caught.
const BOUND: u64 = 60_000;

/// The operations of one world.
const WORLD: u64 = 3_000;

/// Declares one test per bug: the test's name, the bug, and the operations of a world, if not [`WORLD`]. A macro, so that
/// the bugs are tested in parallel.
macro_rules! caught {
    ($(fn $test:ident: $bug:literal $(in $operations:literal)?;)*) => {
        $(#[test]
        fn $test() {
            is_caught($bug, [$($operations,)? WORLD][0]);
        })*

        const TESTED: &[&str] = &[$($bug),*];
    };
}

caught! {
    fn ignoring_the_fence_on_settle_is_caught: "settle-ignores-fence";
    fn ignoring_the_fence_of_a_lease_is_caught: "beat-ignores-fence";
    fn ignoring_the_fence_on_release_is_caught: "release-ignores-fence";
    fn a_release_that_frees_a_newer_claim_is_caught: "release-frees-newer-claim";
    fn reading_the_clock_before_the_lock_is_caught: "clock-before-lock";
    fn not_inserting_an_absent_lease_is_caught: "absent-row-not-inserted" in 100;
    fn an_unguarded_clock_is_caught: "clock-guard-off";
    fn reading_the_mark_only_at_the_start_is_caught: "mark-only-at-start";
    fn a_sweeper_without_its_condition_is_caught: "sweep-unconditional";
    fn a_look_without_its_condition_is_caught: "look-unconditional";
    fn a_lease_without_a_look_at_is_caught: "look-not-set" in 200;
    fn announcing_an_expiry_twice_is_caught: "look-announces-again";
    fn returning_older_data_with_a_newer_revision_is_caught: "claim-joins-data";
    fn enqueue_and_settle_without_the_lane_lock_is_caught: "no-stripes";
    fn an_item_that_is_never_woken_is_caught: "wake-missed";
    fn claiming_heads_without_a_lock_is_caught: "heads-unlocked";
    fn swallowing_a_change_is_caught: "ack-swallows-change";
    fn not_counting_an_attempt_is_caught: "attempt-not-counted";
    fn reused_numbers_are_caught: "numbers-reused";
    fn memory_that_survives_a_failover_is_caught: "memory-kept";
    fn fences_that_repeat_after_a_failover_are_caught: "numbers-fall-back";
    fn forgetting_ids_is_caught: "dedupe-forgotten";
    fn forgetting_absorbed_ids_is_caught: "absorbed-forgotten";
    fn inserting_an_acked_item_again_is_caught: "acked-reinserted";
    fn adding_new_items_to_a_retry_is_caught: "group-not-frozen";
    fn promoting_the_wrong_successor_is_caught: "successor-wrong-order";
    fn a_missing_line_of_history_is_caught: "history-missing";
    fn overlapping_ownerships_in_the_history_are_caught: "history-overlaps";
    fn ignoring_the_window_is_caught: "window-ignored";
    fn serving_the_line_backwards_is_caught: "line-reversed";
    fn renewing_for_an_idle_person_is_caught: "idle-ignored";
    fn beating_past_the_rolling_timeout_is_caught: "rolling-ignored";
    fn a_heartbeat_that_revives_an_expired_lease_is_caught: "beat-revives-expired";
    fn a_heartbeat_that_shortens_the_lease_is_caught: "beat-shortens";
    fn a_claim_that_restarts_the_holders_times_is_caught: "reclaim-restarts";
    fn an_expired_lease_that_waits_for_a_sweeper_is_caught: "expiry-needs-sweeper";
    fn exhausting_a_whole_failed_group_is_caught: "poison-takes-neighbours";
    fn an_item_that_disappears_is_caught: "acked-disappears";
    fn forgetting_the_errors_of_an_exhausted_item_is_caught: "errors-forgotten";
    fn a_change_that_keeps_old_attempts_is_caught: "change-keeps-attempts";
    fn two_unfinished_items_of_one_sync_key_are_caught: "coalescing-blind";
    fn a_revision_that_does_not_grow_is_caught: "revision-goes-back";
    fn counters_that_differ_from_the_rows_are_caught: "counts-wrong";
    fn a_repeated_settlement_that_is_only_called_stale_is_caught: "repeat-forgotten";
    fn forgetting_a_return_after_a_later_delivery_is_caught: "return-forgotten" in 6_000;
    fn two_finalizes_that_apply_the_same_line_are_caught: "line-unlocked";
    fn an_effect_that_is_not_in_the_lines_transaction_is_caught: "effect-apart";
    fn applying_a_line_under_any_fence_is_caught: "line-ignores-fence";
    fn checking_the_fence_in_an_earlier_transaction_is_caught: "fence-checked-earlier";
    fn a_failed_line_that_keeps_its_effect_is_caught: "failure-keeps-effect";
    fn applying_a_line_again_is_caught: "applied-again";
    fn taking_a_pinned_lease_is_caught: "pin-ignored";
    fn completing_a_task_with_failed_lines_is_caught: "failed-completes";
    fn an_applied_line_that_keeps_the_tasks_status_is_caught: "line-keeps-status";
    fn a_line_that_outlives_its_task_is_caught: "line-outlives-task" in 6_000;
    fn answering_a_repeated_finalize_with_a_new_result_is_caught: "finalize-forgotten";
    fn an_override_without_its_audit_entry_is_caught: "override-unaudited";
    fn a_retry_without_its_audit_entry_is_caught: "manage-unaudited";
    fn an_audit_that_is_chained_from_an_unlocked_head_is_caught: "head-unlocked";
    fn reading_events_by_the_number_of_their_insert_is_caught: "events-by-number";
    fn two_sequencers_at_the_same_time_are_caught: "sequencer-unlocked";
    fn a_sequencer_that_scans_from_a_recent_number_is_caught: "sequencer-floor";
    fn resuming_at_the_newest_event_is_caught: "resume-skips";
    fn a_missing_reset_after_a_purge_is_caught: "reset-untold";
    fn an_event_before_its_commit_is_caught: "event-before-commit";
}

/// Runs worlds with a bug until a checker catches it. Requires that the violated invariant is an expected one.
fn is_caught(name: &str, operations: u64) {
    let bug = sabotage::named(name).expect("the bug is in the list");
    let options = Options { operations, sabotage: Some(bug), record: false };
    let mut done = 0;
    for seed in 1.. {
        let (tally, violation) = run(seed, &options);
        done += tally.operations;
        if let Some(violation) = violation {
            assert!(bug.expected.contains(&violation.id), "{:?} was expected, not {violation}", bug.expected);
            println!("{name}: {} after {done} operations", violation.id);
            return;
        }
        assert!(done < BOUND, "{name} was not noticed in {done} operations");
    }
}

#[test]
fn the_unmodified_system_violates_no_invariant() {
    let mut all = Tally::default();
    for seed in 1_000.. {
        let (tally, violation) = run(seed, &Options::default());
        assert!(violation.is_none(), "{}", violation.expect("a violation was found"));
        all.add(&tally);
        if all.operations >= 300_000 {
            break;
        }
    }
    // An invariant about something that never happens would hold trivially.
    let seen = [all.finalizes, all.lines_applied, all.lines_failed, all.pinned, all.events, all.resets];
    assert!(seen.iter().all(|count| *count > 300), "{all:?}");
    assert!(all.faults.failovers > 50 && all.faults.lost_commits > 500, "{all:?}");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let options = Options { operations: 1_000, ..Options::default() };
    let (once, _) = trace(7, &options);
    let (again, _) = trace(7, &options);
    assert!(once.len() > 1_000);
    assert!(once == again);
    assert!(once != trace(8, &options).0);
}

#[test]
fn every_bug_has_its_own_name_and_a_test() {
    let names: BTreeSet<_> = sabotage::ALL.iter().map(|sabotage| sabotage.name).collect();
    assert_eq!(names.len(), sabotage::ALL.len());
    assert_eq!(names, TESTED.iter().copied().collect());
}
