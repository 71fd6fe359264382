//! One test per rule of a task.

mod early;
mod exclusive;
mod waiting;

use super::*;
use crate::audit::{AuditAction, Draft};
use crate::fault::Fault;
use crate::id::{Numbers, Serial, Sku};
use crate::lease::{Action as OnLease, Holder, Policy, State};
use crate::time::Span;

const ANA: &str = "ana";
const LUIS: &str = "luis";

fn holder(user: &str) -> Holder {
    Holder { user: UserId::new(user).expect("valid"), name: format!("«{user}»"), instance: None }
}

fn serial(text: &str) -> Serial {
    Serial::new(text).expect("valid")
}

fn line(sku: &str, movement: Movement, goods: Goods) -> NewLine {
    NewLine { movement, sku: Sku::new(sku).expect("valid"), goods }
}

/// One task and its lease in memory, with a clock that the test moves.
struct Bench {
    now: Time,
    number: i64,
    task: Option<Task>,
    lease: State,
    stock: Option<Stock>,
    audit: Vec<Draft>,
    events: Vec<crate::event::Event>,
}

impl Bench {
    fn empty() -> Bench {
        let lease = State::unseen(TaskId(7).resource());
        Bench {
            now: Time(1_000_000),
            number: 40,
            task: None,
            lease,
            stock: None,
            audit: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Returns a ready task with one line with a quantity and one with serial numbers.
    fn ready() -> Bench {
        let mut bench = Bench::empty();
        let lines = vec![
            line("clavos", Movement::In, Goods::Quantity(30)),
            line("laptop", Movement::In, Goods::Serialized(vec![serial("A1"), serial("A2")])),
        ];
        bench.ask(ANA, Action::Create { title: "Entrada".to_owned(), lines, ready: true, once: None }).expect("good");
        bench
    }

    fn ask(&mut self, who: &str, action: Action) -> Result<Outcome, Refused> {
        self.number += 1;
        let task = (!matches!(action, Action::Create { .. })).then_some(TaskId(7));
        let command = Command { task, who: holder(who), via: None, policy: Policy::of_tasks(), action };
        let read = Read {
            now: self.now,
            numbers: Numbers::new(vec![self.number]),
            fresh: Some(TaskId(7)),
            task: self.task.clone(),
            lease: self.lease.clone(),
            stock: self.stock.clone(),
        };
        let before = (self.task.clone(), self.lease.clone());
        let decision = decide(&command, read);
        if decision.changed {
            self.task = decision.task;
        } else {
            assert_eq!(decision.task, before.0, "a changed task must be marked as changed");
        }
        if decision.lease_changed {
            self.lease = decision.lease;
        } else {
            assert_eq!(decision.lease, before.1, "a changed lease must be marked as changed");
        }
        self.audit.extend(decision.audit);
        self.events.extend(decision.events);
        decision.answer
    }

    fn claim(&mut self, who: &str) -> Fence {
        let claimed = self.ask(who, Action::Lease(OnLease::Claim { ttl: None, wait: false }));
        assert!(matches!(claimed, Ok(Outcome::Lease(lease::Outcome::Claimed { .. }))), "{claimed:?}");
        self.lease.grant.as_ref().expect("held").fence
    }

    fn status(&self) -> Status {
        self.task.as_ref().expect("there is one").status
    }

    fn begin(&self, who: &str, fence: Fence, number: u32) -> Begin {
        let apply = self.apply(who, fence, number);
        let task = self.task.as_ref();
        let line = task.and_then(|task| task.lines.iter().find(|line| line.number == number));
        begin_line(&apply, task, &self.lease, line, self.now)
    }

    fn apply(&self, who: &str, fence: Fence, number: u32) -> Apply {
        Apply { task: TaskId(7), number, fence, who: holder(who), via: None, policy: Policy::of_tasks() }
    }

    /// Applies a line, as a store does.
    fn step(&mut self, fence: Fence, number: u32, effect: Result<(), LineError>) -> LineOutcome {
        assert_eq!(self.begin(ANA, fence, number), Begin::Go);
        let (apply, now) = (self.apply(ANA, fence, number), self.now);
        let task = self.task.as_mut().expect("there is one");
        let stored = task.lines.iter_mut().find(|line| line.number == number).expect("there is one");
        let done = end_line(&apply, task.status, stored.clone(), effect, now);
        *stored = done.line;
        task.status = done.status.unwrap_or(task.status);
        done.outcome
    }
}

fn lost(answer: &Result<Outcome, Refused>) -> bool {
    matches!(answer, Err(Refused::Lease(lease::Refused::Lost { .. })))
}

fn quantity(number: u32, fence: Fence, quantity: i64) -> Action {
    let patch = Patch { goods: Some(Goods::Quantity(quantity)), ..Patch::default() };
    Action::Patch { fence, number, patch }
}

#[test]
fn resources_with_the_task_prefix_belong_to_tasks() {
    let resource = |name: &str| Resource::new(name).expect("valid");
    assert_eq!(TaskId::from_resource(&resource("task:7")), Some(TaskId(7)));
    assert_eq!(TaskId(7).resource(), resource("task:7"));
    assert_eq!(TaskId::from_resource(&resource("tasks:7")), None);
    for odd in ["task:", "task:07", "task:+7", "task:7 ", "task:siete", "task:99999999999999999999"] {
        assert_eq!(TaskId::from_resource(&resource(odd)), Some(TaskId(0)), "{odd} has no valid number");
    }
}

#[test]
fn task_can_be_claimed_only_in_three_statuses() {
    for status in Status::ALL {
        let mut bench = Bench::ready();
        bench.task.as_mut().expect("there is one").status = status;
        let answer = bench.ask(ANA, Action::Lease(OnLease::Claim { ttl: None, wait: false }));
        let lockable = matches!(status, Status::Ready | Status::Processing | Status::PartiallyCompleted);
        match lockable {
            true => assert!(answer.is_ok(), "{status:?}"),
            false => assert_eq!(answer, Err(Refused::WrongStatus(status))),
        }
        assert_eq!(bench.lease.grant.is_some(), lockable);
        assert_eq!(status.as_str().parse(), Ok(status));
    }
}

#[test]
fn claim_moves_ready_to_processing_and_release_keeps_it() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    assert_eq!(bench.status(), Status::Processing);
    assert!(bench.ask(ANA, Action::Lease(OnLease::Release { fence, claim: None })).is_ok());
    assert_eq!(bench.status(), Status::Processing);
    assert!(bench.claim(LUIS) > fence);
}

#[test]
fn line_is_changed_only_under_the_callers_live_lease() {
    let mut bench = Bench::ready();
    let free = bench.ask(ANA, quantity(1, Fence(1), 5));
    assert!(lost(&free), "no lease is live");
    let fence = bench.claim(ANA);
    assert!(lost(&bench.ask(LUIS, quantity(1, fence, 5))), "a foreign fence");
    assert!(lost(&bench.ask(ANA, quantity(1, Fence(fence.0 - 1), 5))), "an old fence");
    assert!(bench.ask(ANA, quantity(1, fence, 5)).is_ok());
    bench.now = bench.now + Span::from_secs(180);
    assert!(lost(&bench.ask(ANA, quantity(1, fence, 9))), "the lease has expired");
    assert_eq!(bench.task.expect("there is one").lines[0].goods, Goods::Quantity(5));
}

#[test]
fn line_change_counts_as_work_and_renews_the_lease() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    for _ in 0..10 {
        bench.now = bench.now + Span::from_secs(170);
        assert!(bench.ask(ANA, quantity(1, fence, 5)).is_ok(), "past the rolling timeout of the claim");
    }
    let grant = bench.lease.grant.expect("held");
    assert_eq!((grant.worked_at, grant.expires_at), (bench.now, bench.now + Span::from_secs(180)));
}

#[test]
fn applied_line_cannot_change_and_a_changed_failed_line_is_pending() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    assert_eq!(bench.step(fence, 1, Ok(())), LineOutcome::Applied);
    assert_eq!(bench.ask(ANA, quantity(1, fence, 5)), Err(Refused::LineApplied(1)));
    let error = LineError::DuplicateSerial { serial: serial("A1") };
    assert_eq!(bench.step(fence, 2, Err(error.clone())), LineOutcome::Failed(error));
    assert!(bench.ask(ANA, quantity(2, fence, 5)).is_ok());
    let line = bench.task.expect("there is one").lines[1].clone();
    assert_eq!((line.status, line.error), (LineStatus::Pending, None));
    assert_eq!(line.goods, Goods::Quantity(5));
}

#[test]
fn validate_checks_the_line_and_the_stock() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let validate = |number| Action::Validate { fence, number };
    assert!(bench.ask(ANA, validate(1)).is_ok());
    assert_eq!(bench.task.as_ref().expect("there is one").lines[0].status, LineStatus::Validated);
    let serials = [serial("A2")].into();
    bench.stock = Some(Stock { sku: Sku::new("laptop").expect("valid"), quantity: 1, serialized: 1, serials });
    let invalid = LineError::DuplicateSerial { serial: serial("A2") };
    assert_eq!(bench.ask(ANA, validate(2)), Err(Refused::LineInvalid(2, invalid)));
    assert_eq!(bench.ask(ANA, validate(3)), Err(Refused::NoSuchLine(3)));
    assert_eq!(bench.task.expect("there is one").lines[1].status, LineStatus::Pending);
}

#[test]
fn finalize_completes_only_with_every_line_applied_and_releases_the_lease() {
    for (second, expected) in [(Ok(()), Status::Completed), (Err(LineError::Incomplete), Status::PartiallyCompleted)] {
        let mut bench = Bench::ready();
        let fence = bench.claim(ANA);
        let lines = vec![(1, bench.step(fence, 1, Ok(()))), (2, bench.step(fence, 2, second))];
        let Ok(Outcome::Finalized { finalized, repeated }) =
            bench.ask(ANA, Action::Close { fence, lines: lines.clone() })
        else {
            panic!("not finalized");
        };
        assert_eq!((finalized.status, finalized.lines, repeated), (expected, lines, false));
        assert_eq!((bench.status(), bench.lease.grant.clone()), (expected, None));
    }
}

#[test]
fn repeated_finalize_returns_the_same_result_and_changes_nothing() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let lines = vec![(1, bench.step(fence, 1, Ok(())))];
    let first = bench.ask(ANA, Action::Close { fence, lines });
    let before = bench.task.clone();
    let second = bench.ask(ANA, Action::Close { fence, lines: Vec::new() });
    let (Ok(Outcome::Finalized { finalized: a, .. }), Ok(Outcome::Finalized { finalized: b, repeated: true })) =
        (first, second)
    else {
        panic!("not repeated");
    };
    assert_eq!(a, b);
    assert_eq!(bench.task, before);
    assert_eq!(bench.begin(ANA, fence, 2), Begin::Over(a), "and applies no line");
}

#[test]
fn finalize_result_follows_the_stored_lines() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let first = (1, bench.step(fence, 1, Ok(())));
    let failed = (2, bench.step(fence, 2, Err(LineError::Incomplete)));
    assert_eq!(bench.step(fence, 2, Ok(())), LineOutcome::Applied, "another window of Ana applied it");
    let Ok(Outcome::Finalized { finalized, .. }) = bench.ask(ANA, Action::Close { fence, lines: vec![first, failed] })
    else {
        panic!("not finalized");
    };
    assert_eq!(finalized.status, Status::Completed);
    assert_eq!(finalized.lines, [(1, LineOutcome::Applied), (2, LineOutcome::Applied)]);
}

#[test]
fn lost_lease_stops_the_finalize_and_applied_lines_stay() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    bench.step(fence, 1, Ok(()));
    let forced = bench.ask(LUIS, Action::Lease(OnLease::ForceClaim { reason: "urge".to_owned(), fence: None }));
    assert!(forced.is_ok());
    let stopped = bench.begin(ANA, fence, 2);
    assert!(matches!(stopped, Begin::Refused(Refused::Lease(lease::Refused::Lost { ending: Some(_) }))), "{stopped:?}");
    assert!(lost(&bench.ask(ANA, Action::Close { fence, lines: Vec::new() })));
    assert_eq!(bench.status(), Status::PartiallyCompleted);
    let mine = bench.lease.grant.as_ref().expect("held").fence;
    assert_eq!(
        bench.begin(LUIS, mine, 1),
        Begin::Settled(LineOutcome::Skipped),
        "the next finalize skips the applied line"
    );
    assert_eq!(bench.begin(LUIS, mine, 2), Begin::Go);
    assert_eq!(bench.audit.iter().map(|entry| entry.action).collect::<Vec<_>>(), [AuditAction::LockForceClaim]);
}

#[test]
fn finalize_after_a_release_is_refused() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    bench.ask(ANA, Action::Lease(OnLease::Release { fence, claim: None })).expect("released");
    assert!(lost(&bench.ask(ANA, Action::Close { fence, lines: Vec::new() })));
    bench.claim(LUIS);
    let before = bench.task.clone();
    assert!(lost(&bench.ask(ANA, Action::Close { fence, lines: Vec::new() })));
    assert_eq!(bench.task, before);
}

#[test]
fn applied_line_is_not_applied_again() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    bench.step(fence, 1, Ok(()));
    assert_eq!(bench.begin(ANA, fence, 1), Begin::Settled(LineOutcome::Applied), "the same finalize, repeated");
    bench.now = bench.now + Span::from_secs(180);
    assert!(matches!(bench.begin(ANA, fence, 2), Begin::Refused(_)), "only under the live fence");
}

#[test]
fn cancel_is_refused_while_another_user_holds_the_task_and_is_audited() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let cancel = || Action::Cancel { reason: Some("duplicada".to_owned()), keep_applied: false };
    let held = bench.ask(LUIS, cancel());
    assert!(matches!(held, Err(Refused::Lease(lease::Refused::HeldBy { .. }))), "{held:?}");
    assert!(bench.ask(ANA, cancel()).is_ok());
    assert_eq!((bench.status(), bench.lease.grant.clone()), (Status::Cancelled, None));
    assert_eq!(bench.audit.iter().map(|entry| entry.action).collect::<Vec<_>>(), [AuditAction::TaskCancel]);
    assert!(matches!(bench.begin(ANA, fence, 1), Begin::Refused(_)), "no line can be applied");
    assert_eq!(bench.ask(ANA, cancel()), Err(Refused::WrongStatus(Status::Cancelled)));
}

#[test]
fn edit_and_ready_are_refused_unless_the_task_is_a_draft() {
    let mut bench = Bench::empty();
    let lines = vec![line("clavos", Movement::In, Goods::Quantity(3))];
    let edit =
        |lines: &[NewLine]| Action::Edit { title: Some("Otra".to_owned()), lines: Some(lines.to_vec()), seen: None };
    assert_eq!(bench.ask(ANA, edit(&lines)), Err(Refused::Unknown));
    bench
        .ask(ANA, Action::Create { title: " Entrada ".to_owned(), lines: Vec::new(), ready: false, once: None })
        .expect("good");
    assert_eq!(bench.task.as_ref().map(|task| task.title.as_str()), Some("Entrada"));
    assert!(matches!(bench.ask(ANA, Action::Ready), Err(Refused::Invalid(_))), "a task without lines cannot be ready");
    assert!(bench.ask(LUIS, edit(&lines)).is_ok());
    assert!(bench.ask(LUIS, Action::Ready).is_ok());
    assert_eq!(bench.ask(LUIS, edit(&lines)), Err(Refused::WrongStatus(Status::Ready)));
    assert_eq!(bench.ask(LUIS, Action::Ready), Err(Refused::WrongStatus(Status::Ready)));
}

#[test]
fn line_change_after_leave_is_saved_and_does_not_extend_the_lease() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let grace = Span::from_secs(5);
    bench.ask(ANA, Action::Lease(OnLease::Leave { fence, claim: None, grace })).expect("leaving");
    let left = bench.lease.clone();
    assert_eq!(bench.ask(ANA, quantity(1, fence, 45)), Ok(Outcome::Done));
    assert_eq!(bench.task.as_ref().expect("there is one").lines[0].goods, Goods::Quantity(45));
    assert_eq!(bench.lease, left, "the expiry is unchanged");
    bench.now = bench.now + grace;
    assert!(lost(&bench.ask(ANA, quantity(1, fence, 46))));
    assert_ne!(bench.claim(LUIS), fence);
}

#[test]
fn line_change_with_an_old_version_is_refused_under_the_same_fence() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let stored = |bench: &Bench| bench.task.clone().expect("there is one").lines[0].clone();
    let patch = |quantity, seen| {
        let patch = Patch { goods: Some(Goods::Quantity(quantity)), seen, ..Patch::default() };
        Action::Patch { fence, number: 1, patch }
    };
    let first = stored(&bench).version();
    assert!(bench.ask(ANA, patch(41, Some(first))).is_ok());
    assert_eq!(bench.ask(ANA, patch(42, Some(first))), Err(Refused::LineChanged(1)), "from another window");
    assert_eq!(stored(&bench).goods, Goods::Quantity(41));
    assert!(bench.ask(ANA, patch(41, Some(first))).is_ok(), "a repeat of the stored change");
    assert!(bench.ask(ANA, patch(42, Some(stored(&bench).version()))).is_ok(), "the current version");
    assert!(bench.ask(ANA, patch(43, None)).is_ok(), "without a version nothing is compared");
}

#[test]
fn edit_with_an_old_version_is_refused() {
    let mut bench = Bench::empty();
    bench
        .ask(ANA, Action::Create { title: "Entrada".to_owned(), lines: Vec::new(), ready: false, once: None })
        .expect("good");
    let stored = |bench: &Bench| bench.task.clone().expect("there is one");
    let first = stored(&bench).version();
    let edit = |title: &str, quantity, seen| {
        let lines = Some(vec![line("clavos", Movement::In, Goods::Quantity(quantity))]);
        Action::Edit { title: Some(title.to_owned()), lines, seen }
    };
    assert!(bench.ask(ANA, edit("Entrada", 3, Some(first))).is_ok());
    assert_eq!(bench.ask(LUIS, edit("Entrada", 4, Some(first))), Err(Refused::Changed));
    assert_eq!(stored(&bench).lines[0].goods, Goods::Quantity(3), "the first edit stays");
    assert!(bench.ask(ANA, edit("Entrada", 3, Some(first))).is_ok(), "a repeat of the stored edit");
    let second = stored(&bench).version();
    assert!(bench.ask(LUIS, edit("Entrada", 4, Some(second))).is_ok(), "the current version");
    assert!(bench.ask(ANA, edit("Otra", 5, None)).is_ok(), "without a version nothing is compared");
    assert!(bench.ask(ANA, Action::Ready).is_ok());
    assert_eq!(bench.ask(LUIS, edit("x", 1, Some(first))), Err(Refused::WrongStatus(Status::Ready)));
}

#[test]
fn invalid_lines_are_refused_with_index_field_and_fault() {
    let mut bench = Bench::empty();
    let twice = Goods::Serialized(vec![serial("A1"), serial("A1")]);
    let lines = vec![line("a", Movement::In, Goods::Quantity(1)), line("b", Movement::In, twice)];
    let refused = bench.ask(ANA, Action::Create { title: "x".to_owned(), lines, ready: false, once: None });
    assert_eq!(refused, Err(Refused::Invalid(Invalid::new("serials", Fault::Twice(serial("A1"))).at(1))));
    let none = vec![line("a", Movement::Out, Goods::Quantity(0))];
    let refused = bench.ask(ANA, Action::Create { title: "x".to_owned(), lines: none, ready: false, once: None });
    let bounds = Fault::OutOfBounds { min: 1, max: crate::limits::QUANTITY_MAX };
    assert_eq!(refused, Err(Refused::Invalid(Invalid::new("quantity", bounds).at(0))));
    assert!(
        bench.ask(ANA, Action::Create { title: "  ".to_owned(), lines: Vec::new(), ready: false, once: None }).is_err()
    );
}

#[test]
fn stock_ledger_refuses_impossible_movements() {
    let stock = |quantity, serialized, serials: &[&str]| Stock {
        sku: Sku::new("s").expect("valid"),
        quantity,
        serialized,
        serials: serials.iter().map(|text| serial(text)).collect(),
    };
    let line_with = |movement, goods| line("s", movement, goods).into_line(1);
    let units = |movement, count| line_with(movement, Goods::Quantity(count));
    let named = |movement, names: &[&str]| {
        line_with(movement, Goods::Serialized(names.iter().map(|text| serial(text)).collect()))
    };
    assert_eq!(post(&units(Movement::In, 4), &stock(3, 0, &[])).expect("good").delta, 4);
    assert_eq!(post(&units(Movement::Out, 3), &stock(3, 0, &[])).expect("good").delta, -3);
    let short = LineError::NotEnough { available: 3, wanted: 4 };
    assert_eq!(post(&units(Movement::Out, 4), &stock(3, 0, &[])), Err(short));
    let named_only = LineError::NotEnough { available: 1, wanted: 2 };
    assert_eq!(
        post(&units(Movement::Out, 2), &stock(3, 2, &[])),
        Err(named_only),
        "units with serial numbers do not count"
    );
    let duplicate = LineError::DuplicateSerial { serial: serial("B") };
    assert_eq!(post(&named(Movement::In, &["A", "B"]), &stock(1, 1, &["B"])), Err(duplicate));
    let unknown = LineError::UnknownSerial { serial: serial("A") };
    assert_eq!(post(&named(Movement::Out, &["A"]), &stock(9, 1, &[])), Err(unknown));
    assert_eq!(post(&named(Movement::In, &[]), &stock(0, 0, &[])), Err(LineError::Incomplete));
    let full = stock(crate::limits::QUANTITY_MAX, 0, &[]);
    assert_eq!(post(&units(Movement::In, 1), &full), Err(LineError::TooMuch));
}
