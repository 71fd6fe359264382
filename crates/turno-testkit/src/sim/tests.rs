//! The unmodified system violates no invariant, and a checker catches every bug that is switched on.

use super::{Options, Tally, run, sabotage, trace};

/// The number of operations within which a bug must be caught.
const BOUND: u64 = 60_000;

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
fn every_bug_has_its_own_name() {
    let mut names: Vec<_> = sabotage::ALL.iter().map(|sabotage| sabotage.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), sabotage::ALL.len());
}

#[test]
fn ignoring_the_fence_on_settle_is_caught() {
    is_caught("settle-ignores-fence", 3_000);
}

#[test]
fn ignoring_the_fence_of_a_lease_is_caught() {
    is_caught("beat-ignores-fence", 3_000);
}

#[test]
fn ignoring_the_fence_on_release_is_caught() {
    is_caught("release-ignores-fence", 3_000);
}

#[test]
fn a_release_that_frees_a_newer_claim_is_caught() {
    is_caught("release-frees-newer-claim", 3_000);
}

#[test]
fn reading_the_clock_before_the_lock_is_caught() {
    is_caught("clock-before-lock", 3_000);
}

#[test]
fn not_inserting_an_absent_lease_is_caught() {
    is_caught("absent-row-not-inserted", 100);
}

#[test]
fn an_unguarded_clock_is_caught() {
    is_caught("clock-guard-off", 3_000);
}

#[test]
fn reading_the_mark_only_at_the_start_is_caught() {
    is_caught("mark-only-at-start", 3_000);
}

#[test]
fn a_sweeper_without_its_condition_is_caught() {
    is_caught("sweep-unconditional", 3_000);
}

#[test]
fn a_look_without_its_condition_is_caught() {
    is_caught("look-unconditional", 3_000);
}

#[test]
fn a_lease_without_a_look_at_is_caught() {
    is_caught("look-not-set", 200);
}

#[test]
fn announcing_an_expiry_twice_is_caught() {
    is_caught("look-announces-again", 3_000);
}

#[test]
fn returning_older_data_with_a_newer_revision_is_caught() {
    is_caught("claim-joins-data", 3_000);
}

#[test]
fn enqueue_and_settle_without_the_lane_lock_is_caught() {
    is_caught("no-stripes", 3_000);
}

#[test]
fn an_item_that_is_never_woken_is_caught() {
    is_caught("wake-missed", 3_000);
}

#[test]
fn claiming_heads_without_a_lock_is_caught() {
    is_caught("heads-unlocked", 3_000);
}

#[test]
fn swallowing_a_change_is_caught() {
    is_caught("ack-swallows-change", 3_000);
}

#[test]
fn not_counting_an_attempt_is_caught() {
    is_caught("attempt-not-counted", 3_000);
}

#[test]
fn reused_numbers_are_caught() {
    is_caught("numbers-reused", 3_000);
}

#[test]
fn memory_that_survives_a_failover_is_caught() {
    is_caught("memory-kept", 3_000);
}

#[test]
fn fences_that_repeat_after_a_failover_are_caught() {
    is_caught("numbers-fall-back", 3_000);
}

#[test]
fn forgetting_ids_is_caught() {
    is_caught("dedupe-forgotten", 3_000);
}

#[test]
fn forgetting_absorbed_ids_is_caught() {
    is_caught("absorbed-forgotten", 3_000);
}

#[test]
fn inserting_an_acked_item_again_is_caught() {
    is_caught("acked-reinserted", 3_000);
}

#[test]
fn adding_new_items_to_a_retry_is_caught() {
    is_caught("group-not-frozen", 3_000);
}

#[test]
fn promoting_the_wrong_successor_is_caught() {
    is_caught("successor-wrong-order", 3_000);
}

#[test]
fn a_missing_line_of_history_is_caught() {
    is_caught("history-missing", 3_000);
}

#[test]
fn overlapping_ownerships_in_the_history_are_caught() {
    is_caught("history-overlaps", 3_000);
}

#[test]
fn ignoring_the_window_is_caught() {
    is_caught("window-ignored", 3_000);
}

#[test]
fn serving_the_line_backwards_is_caught() {
    is_caught("line-reversed", 3_000);
}

#[test]
fn renewing_for_an_idle_person_is_caught() {
    is_caught("idle-ignored", 3_000);
}

#[test]
fn beating_past_the_rolling_timeout_is_caught() {
    is_caught("rolling-ignored", 3_000);
}

#[test]
fn a_heartbeat_that_revives_an_expired_lease_is_caught() {
    is_caught("beat-revives-expired", 3_000);
}

#[test]
fn a_heartbeat_that_shortens_the_lease_is_caught() {
    is_caught("beat-shortens", 3_000);
}

#[test]
fn a_claim_that_restarts_the_holders_times_is_caught() {
    is_caught("reclaim-restarts", 3_000);
}

#[test]
fn an_expired_lease_that_waits_for_a_sweeper_is_caught() {
    is_caught("expiry-needs-sweeper", 3_000);
}

#[test]
fn exhausting_a_whole_failed_group_is_caught() {
    is_caught("poison-takes-neighbours", 3_000);
}

#[test]
fn an_item_that_disappears_is_caught() {
    is_caught("acked-disappears", 3_000);
}

#[test]
fn forgetting_the_errors_of_an_exhausted_item_is_caught() {
    is_caught("errors-forgotten", 3_000);
}

#[test]
fn a_change_that_keeps_old_attempts_is_caught() {
    is_caught("change-keeps-attempts", 3_000);
}

#[test]
fn two_unfinished_items_of_one_sync_key_are_caught() {
    is_caught("coalescing-blind", 3_000);
}

#[test]
fn a_revision_that_does_not_grow_is_caught() {
    is_caught("revision-goes-back", 3_000);
}

#[test]
fn counters_that_differ_from_the_rows_are_caught() {
    is_caught("counts-wrong", 3_000);
}

#[test]
fn a_repeated_settlement_that_is_only_called_stale_is_caught() {
    is_caught("repeat-forgotten", 3_000);
}

#[test]
fn forgetting_a_return_after_a_later_delivery_is_caught() {
    is_caught("return-forgotten", 6_000);
}

#[test]
fn two_finalizes_that_apply_the_same_line_are_caught() {
    is_caught("line-unlocked", 3_000);
}

#[test]
fn an_effect_that_is_not_in_the_lines_transaction_is_caught() {
    is_caught("effect-apart", 3_000);
}

#[test]
fn applying_a_line_under_any_fence_is_caught() {
    is_caught("line-ignores-fence", 3_000);
}

#[test]
fn checking_the_fence_in_an_earlier_transaction_is_caught() {
    is_caught("fence-checked-earlier", 3_000);
}

#[test]
fn a_failed_line_that_keeps_its_effect_is_caught() {
    is_caught("failure-keeps-effect", 3_000);
}

#[test]
fn applying_a_line_again_is_caught() {
    is_caught("applied-again", 3_000);
}

#[test]
fn taking_a_pinned_lease_is_caught() {
    is_caught("pin-ignored", 3_000);
}

#[test]
fn completing_a_task_with_failed_lines_is_caught() {
    is_caught("failed-completes", 3_000);
}

#[test]
fn an_applied_line_that_keeps_the_tasks_status_is_caught() {
    is_caught("line-keeps-status", 3_000);
}

#[test]
fn a_line_that_outlives_its_task_is_caught() {
    is_caught("line-outlives-task", 6_000);
}

#[test]
fn answering_a_repeated_finalize_with_a_new_result_is_caught() {
    is_caught("finalize-forgotten", 3_000);
}

#[test]
fn an_override_without_its_audit_entry_is_caught() {
    is_caught("override-unaudited", 3_000);
}

#[test]
fn a_retry_without_its_audit_entry_is_caught() {
    is_caught("manage-unaudited", 3_000);
}

#[test]
fn an_audit_that_is_chained_from_an_unlocked_head_is_caught() {
    is_caught("head-unlocked", 3_000);
}

#[test]
fn reading_events_by_the_number_of_their_insert_is_caught() {
    is_caught("events-by-number", 3_000);
}

#[test]
fn two_sequencers_at_the_same_time_are_caught() {
    is_caught("sequencer-unlocked", 3_000);
}

#[test]
fn a_sequencer_that_scans_from_a_recent_number_is_caught() {
    is_caught("sequencer-floor", 3_000);
}

#[test]
fn resuming_at_the_newest_event_is_caught() {
    is_caught("resume-skips", 3_000);
}

#[test]
fn a_missing_reset_after_a_purge_is_caught() {
    is_caught("reset-untold", 3_000);
}

#[test]
fn an_event_before_its_commit_is_caught() {
    is_caught("event-before-commit", 3_000);
}
