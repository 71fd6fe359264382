//! `[leases.PREFIX]`: the policies of leases, by the part of a resource's name before the first `:`.

use super::field::{Field, Shape, Value};
use super::origin::{Origin, Shown};
use super::queue::BadField;
use super::table::{Given, Table};
use super::tree::{Nodes, by_line};
use crate::failure::Failure;
use crate::texts::message::Message;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use turno::core::lease::{Policies, Policy};
use turno::core::limits::{BEAT_MIN, NAME_MAX, SPAN_MAX, SPAN_MIN};
use turno::core::time::Span;

const TIME: Shape = Shape::Whole(SPAN_MIN.0, SPAN_MAX.0);
const BEAT: Shape = Shape::Whole(BEAT_MIN.0, SPAN_MAX.0);
const TIME_OR_FALSE: Shape = Shape::WholeOrFalse(SPAN_MIN.0, SPAN_MAX.0);

/// The keys of every `[leases.PREFIX]`.
pub(super) const FIELDS: &[Field] = &[
    Field { name: "ttl_ms", shape: TIME },
    Field { name: "max_ttl_ms", shape: TIME },
    Field { name: "idle_guard_ms", shape: TIME_OR_FALSE },
    Field { name: "rolling_timeout_ms", shape: TIME_OR_FALSE },
    Field { name: "heartbeat_interval_ms", shape: BEAT },
    Field { name: "offer_ms", shape: TIME },
];

/// The prefix for resources without a policy of their own.
const DEFAULT: &str = "default";
/// The prefix of tasks, which have a policy of their own even without a file.
const TASK: &str = "task";

/// Returns the policies in force, and their rows for `turno config`.
pub(super) fn read(path: &Arc<Path>, leases: &Nodes) -> Result<(Policies, Vec<Shown>), Failure> {
    let mut given = BTreeMap::new();
    for (prefix, node) in by_line(leases) {
        check_prefix(path, prefix, node.line)?;
        given.insert(prefix.as_str(), Table::from_node(path, format!("leases.{prefix}"), node)?.read(FIELDS)?);
    }
    let mut rows = Vec::new();
    let mut policy = |prefix: &str, base: Policy| {
        let given = given.get(prefix).cloned().unwrap_or_else(|| Given::nothing(format!("leases.{prefix}")));
        let policy = build_policy(base, &given)?;
        rows.extend(policy_rows(&policy, &given));
        Ok::<Policy, Failure>(policy)
    };
    let default = policy(DEFAULT, Policy::default())?;
    let mut by_prefix = [(TASK.to_owned(), policy(TASK, Policy::of_tasks())?)].into_iter().collect::<BTreeMap<_, _>>();
    for prefix in given.keys().filter(|prefix| ![DEFAULT, TASK].contains(*prefix)) {
        by_prefix.insert((*prefix).to_owned(), policy(prefix, default.clone())?);
    }
    Ok((Policies { default, by_prefix: by_prefix.into_iter().collect() }, rows))
}

fn check_prefix(path: &Arc<Path>, prefix: &str, line: usize) -> Result<(), Failure> {
    let good = !prefix.is_empty() && prefix.chars().count() <= NAME_MAX;
    if good && !prefix.contains(|one: char| one == ':' || one.is_control()) {
        return Ok(());
    }
    let origin = Origin::File { path: path.clone(), line }.message();
    Err(Failure::usage(Message::new("setting-lease-prefix").message("origin", origin)))
}

/// Builds a policy from `base` and the keys of one table.
///
/// A `ttl_ms` without `max_ttl_ms` sets both, so that a claim cannot ask for more than an operator who lowered only
/// `ttl_ms` allows. Without `heartbeat_interval_ms`, the interval is at most a third of the ttl.
fn build_policy(base: Policy, given: &Given) -> Result<Policy, Failure> {
    let time = |field| given.whole(field).map(Span);
    let guard = |field, inherited| match given.value(field) {
        Some(Value::Switch(_)) => None,
        Some(Value::Whole(number)) => Some(Span(*number)),
        _ => inherited,
    };
    let ttl = time("ttl_ms").unwrap_or(base.ttl);
    let max_ttl = time("ttl_ms").unwrap_or(base.max_ttl);
    let policy = Policy {
        ttl,
        max_ttl: time("max_ttl_ms").unwrap_or(max_ttl),
        idle_guard: guard("idle_guard_ms", base.idle_guard),
        rolling_timeout: guard("rolling_timeout_ms", base.rolling_timeout),
        heartbeat_interval: time("heartbeat_interval_ms").unwrap_or(base.heartbeat_interval.min(Span(ttl.0 / 3))),
        offer: time("offer_ms").unwrap_or(base.offer),
    };
    if policy.max_ttl < policy.ttl {
        let wrong = Message::new("setting-max-ttl").number("number", policy.max_ttl.0).number("ttl", policy.ttl.0);
        return Err(given.wrong("max_ttl_ms", wrong));
    }
    if policy.heartbeat_interval >= policy.ttl {
        let (interval, ttl) = (policy.heartbeat_interval.0, policy.ttl.0);
        let wrong = Message::new("setting-heartbeat").number("number", interval).number("ttl", ttl);
        return Err(given.wrong("heartbeat_interval_ms", wrong));
    }
    // Every field was checked above. If the engine's bounds are narrower, the error appears here with its line, and not
    // when the server starts.
    policy.check().map_err(|bad| {
        let bad = BadField::from(bad);
        given.wrong(&bad.field, bad.wrong)
    })?;
    Ok(policy)
}

fn policy_rows(policy: &Policy, given: &Given) -> Vec<Shown> {
    let guard = |time: Option<Span>| time.map_or("false".to_owned(), |time| time.0.to_string());
    let values = [
        ("ttl_ms", policy.ttl.0.to_string()),
        ("max_ttl_ms", policy.max_ttl.0.to_string()),
        ("idle_guard_ms", guard(policy.idle_guard)),
        ("rolling_timeout_ms", guard(policy.rolling_timeout)),
        ("heartbeat_interval_ms", policy.heartbeat_interval.0.to_string()),
        ("offer_ms", policy.offer.0.to_string()),
    ];
    let row =
        |(field, value): (&str, String)| Shown::new(format!("{}.{field}", given.name), value, given.origin(field));
    values.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{refused, settings};
    use turno::core::id::Resource;

    fn policy(file: &str, resource: &str) -> Policy {
        settings(file).leases.for_resource(&Resource::new(resource).unwrap()).clone()
    }

    #[test]
    fn without_a_file_the_engines_own_policies_are_in_force() {
        assert_eq!(settings("").leases, Policies::default());
    }

    #[test]
    fn a_prefix_starts_from_the_default_and_tasks_from_their_own() {
        let file = "[leases.default]\noffer_ms = 7000\n[leases.file]\nttl_ms = 5000\n[leases.task]\nttl_ms = 60000\n";
        let of_files = policy(file, "file:a");
        assert_eq!((of_files.ttl, of_files.offer, of_files.idle_guard), (Span(5_000), Span(7_000), None));
        let of_tasks = policy(file, "task:7");
        assert_eq!(of_tasks, Policy { ttl: Span(60_000), max_ttl: Span(60_000), ..Policy::of_tasks() });
        assert_eq!(policy(file, "other:1").offer, Span(7_000));
    }

    #[test]
    fn a_ttl_without_a_longest_ttl_bounds_claims_too() {
        assert_eq!(policy("[leases.task]\nttl_ms = 600000", "task:1").max_ttl, Span(600_000));
        assert_eq!(policy("[leases.task]\nttl_ms = 1000", "task:1").max_ttl, Span(1_000));
        assert_eq!(policy("[leases.default]\nttl_ms = 5000", "other:1").max_ttl, Span(5_000));
        let file = "[leases.default]\nttl_ms = 5000\nmax_ttl_ms = 60000\n[leases.x]\noffer_ms = 700\n";
        assert_eq!(policy(file, "x:1").max_ttl, Span(60_000), "a prefix without a ttl inherits both");
        assert_eq!(policy(&format!("{file}ttl_ms = 9000"), "x:1").max_ttl, Span(9_000));
        let failure = refused("[leases.x]\nttl_ms = 5000\nmax_ttl_ms = 4000");
        assert!(failure.cause().contains("line 3: leases.x.max_ttl_ms is 4000, but must be at least"), "{failure:?}");
    }

    #[test]
    fn a_heartbeat_interval_that_is_not_below_the_ttl_is_refused() {
        for interval in [3_000, 3_001] {
            let failure = refused(&format!("[leases.x]\nttl_ms = 3000\nheartbeat_interval_ms = {interval}"));
            let cause = format!(
                "line 3: leases.x.heartbeat_interval_ms is {interval}, but must be below ttl_ms, which is 3000"
            );
            assert!(failure.cause().ends_with(&cause), "{failure:?}");
        }
        let inherited = refused("[leases.x]\nheartbeat_interval_ms = 30000");
        assert!(inherited.cause().contains("must be below ttl_ms, which is 30000"), "{inherited:?}");
        let file = "[leases.x]\nttl_ms = 3000\nheartbeat_interval_ms = 2999";
        assert_eq!(policy(file, "x:1").heartbeat_interval, Span(2_999));
    }

    #[test]
    fn a_heartbeat_interval_that_is_not_given_is_at_most_a_third_of_the_ttl() {
        assert_eq!(policy("[leases.x]\nttl_ms = 3000", "x:1").heartbeat_interval, Span(1_000));
        assert_eq!(policy("[leases.x]\nttl_ms = 100", "x:1").heartbeat_interval, Span(33));
    }

    #[test]
    fn a_guard_can_be_switched_off() {
        let of_tasks = policy("[leases.task]\nidle_guard_ms = false\nrolling_timeout_ms = false", "task:1");
        assert_eq!((of_tasks.idle_guard, of_tasks.rolling_timeout), (None, None));
        assert!(refused("[leases.task]\nidle_guard_ms = true").cause().contains("is true, but must be a whole number"));
        assert!(refused("[leases.task]\nttl_ms = false").cause().contains("ttl_ms is false"));
    }

    #[test]
    fn times_are_bounded_and_prefixes_have_no_colon() {
        let failure = refused("\n[leases.task]\nttl_ms = 99");
        let cause = "turno.toml line 3: leases.task.ttl_ms is 99, but must be between 100 and 31622400000";
        assert_eq!(failure.cause(), cause);
        assert!(refused("[leases.\"task:7\"]\nttl_ms = 1000").cause().contains("not a prefix"));
        assert!(refused("[leases]\nttl_ms = 1000").cause().contains("leases.ttl_ms is a whole number"));
    }
}
