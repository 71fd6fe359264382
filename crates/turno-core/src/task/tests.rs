//! The rules of tasks, one by one.

mod early;
mod seeds;
mod waiting;

use super::*;
use crate::audit::Draft;
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

/// A task and its lease in memory, with a clock.
struct Desk {
    now: Time,
    number: i64,
    task: Option<Task>,
    lease: State,
    stock: Option<Stock>,
    audit: Vec<Draft>,
    events: Vec<crate::event::Event>,
}

impl Desk {
    fn empty() -> Desk {
        let lease = State::unseen(TaskId(7).resource());
        Desk { now: Time(1_000_000), number: 40, task: None, lease, stock: None, audit: Vec::new(), events: Vec::new() }
    }

    /// A task that can be taken, with a line of units and one of serial numbers.
    fn ready() -> Desk {
        let mut desk = Desk::empty();
        let lines = vec![
            line("clavos", Movement::In, Goods::Quantity(30)),
            line("laptop", Movement::In, Goods::Serialized(vec![serial("A1"), serial("A2")])),
        ];
        desk.ask(ANA, Action::Create { title: "Entrada".to_owned(), lines, ready: true, once: None }).expect("good");
        desk
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
            assert_eq!(decision.task, before.0, "what is not marked as changed has not changed");
        }
        if decision.lease_changed {
            self.lease = decision.lease;
        } else {
            assert_eq!(decision.lease, before.1, "nor has the lease");
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

    /// Applies a line as a store does.
    fn step(&mut self, fence: Fence, number: u32, effect: Result<(), LineError>) -> LineOutcome {
        assert_eq!(self.begin(ANA, fence, number), Begin::Go);
        let (apply, now) = (self.apply(ANA, fence, number), self.now);
        let task = self.task.as_mut().expect("there is one");
        let place = task.lines.iter_mut().find(|line| line.number == number).expect("there is one");
        let done = end_line(&apply, task.status, place.clone(), effect, now);
        *place = done.line;
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
fn resources_of_tasks_are_reserved() {
    let resource = |name: &str| Resource::new(name).expect("valid");
    assert_eq!(TaskId::of(&resource("task:7")), Some(TaskId(7)));
    assert_eq!(TaskId(7).resource(), resource("task:7"));
    assert_eq!(TaskId::of(&resource("tasks:7")), None);
    for odd in ["task:", "task:07", "task:+7", "task:7 ", "task:siete", "task:99999999999999999999"] {
        assert_eq!(TaskId::of(&resource(odd)), Some(TaskId(0)), "{odd} is no task that there could be");
    }
}

#[test]
fn a_task_can_be_locked_only_in_three_statuses() {
    for status in Status::ALL {
        let mut desk = Desk::ready();
        desk.task.as_mut().expect("there is one").status = status;
        let answer = desk.ask(ANA, Action::Lease(OnLease::Claim { ttl: None, wait: false }));
        let lockable = matches!(status, Status::Ready | Status::Processing | Status::PartiallyCompleted);
        match lockable {
            true => assert!(answer.is_ok(), "{status:?}"),
            false => assert_eq!(answer, Err(Refused::WrongStatus(status))),
        }
        assert_eq!(desk.lease.grant.is_some(), lockable);
        assert_eq!(status.as_str().parse(), Ok(status));
    }
}

#[test]
fn claiming_moves_ready_to_processing_and_releasing_leaves_it_there() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    assert_eq!(desk.status(), Status::Processing);
    assert!(desk.ask(ANA, Action::Lease(OnLease::Release { fence, claim: None })).is_ok());
    assert_eq!(desk.status(), Status::Processing);
    assert!(desk.claim(LUIS) > fence);
}

#[test]
fn a_line_is_changed_only_under_ones_own_live_lock() {
    let mut desk = Desk::ready();
    let free = desk.ask(ANA, quantity(1, Fence(1), 5));
    assert!(lost(&free), "nobody holds it");
    let fence = desk.claim(ANA);
    assert!(lost(&desk.ask(LUIS, quantity(1, fence, 5))), "a foreign fence");
    assert!(lost(&desk.ask(ANA, quantity(1, Fence(fence.0 - 1), 5))), "an old fence");
    assert!(desk.ask(ANA, quantity(1, fence, 5)).is_ok());
    desk.now = desk.now + Span::from_secs(180);
    assert!(lost(&desk.ask(ANA, quantity(1, fence, 9))), "expired, though nobody took it");
    assert_eq!(desk.task.expect("there is one").lines[0].goods, Goods::Quantity(5));
}

#[test]
fn editing_a_line_counts_as_work_and_renews() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    for _ in 0..10 {
        desk.now = desk.now + Span::from_secs(170);
        assert!(desk.ask(ANA, quantity(1, fence, 5)).is_ok(), "far beyond the rolling timeout of the first claim");
    }
    let grant = desk.lease.grant.expect("held");
    assert_eq!((grant.worked_at, grant.expires_at), (desk.now, desk.now + Span::from_secs(180)));
}

#[test]
fn an_applied_line_stays_as_it_is_and_a_failed_one_becomes_pending_when_edited() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    assert_eq!(desk.step(fence, 1, Ok(())), LineOutcome::Applied);
    assert_eq!(desk.ask(ANA, quantity(1, fence, 5)), Err(Refused::LineApplied(1)));
    let error = LineError::DuplicateSerial { serial: serial("A1") };
    assert_eq!(desk.step(fence, 2, Err(error.clone())), LineOutcome::Failed(error));
    assert!(desk.ask(ANA, quantity(2, fence, 5)).is_ok());
    let line = desk.task.expect("there is one").lines[1].clone();
    assert_eq!((line.status, line.error), (LineStatus::Pending, None));
    assert_eq!(line.goods, Goods::Quantity(5));
}

#[test]
fn validating_looks_at_the_line_and_at_the_stock() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let validate = |number| Action::Validate { fence, number };
    assert!(desk.ask(ANA, validate(1)).is_ok());
    assert_eq!(desk.task.as_ref().expect("there is one").lines[0].status, LineStatus::Validated);
    let serials = [serial("A2")].into();
    desk.stock = Some(Stock { sku: Sku::new("laptop").expect("valid"), quantity: 1, serialized: 1, serials });
    let invalid = LineError::DuplicateSerial { serial: serial("A2") };
    assert_eq!(desk.ask(ANA, validate(2)), Err(Refused::LineInvalid(2, invalid)));
    assert_eq!(desk.ask(ANA, validate(3)), Err(Refused::NoSuchLine(3)));
    assert_eq!(desk.task.expect("there is one").lines[1].status, LineStatus::Pending);
}

#[test]
fn finalizing_ends_completed_only_if_every_line_is_applied_and_releases() {
    for (second, expected) in [(Ok(()), Status::Completed), (Err(LineError::Incomplete), Status::PartiallyCompleted)] {
        let mut desk = Desk::ready();
        let fence = desk.claim(ANA);
        let lines = vec![(1, desk.step(fence, 1, Ok(()))), (2, desk.step(fence, 2, second))];
        let Ok(Outcome::Finalized { finalized, repeated }) =
            desk.ask(ANA, Action::Close { fence, lines: lines.clone() })
        else {
            panic!("not finalized");
        };
        assert_eq!((finalized.status, finalized.lines, repeated), (expected, lines, false));
        assert_eq!((desk.status(), desk.lease.grant.clone()), (expected, None));
    }
}

#[test]
fn repeating_a_finalize_gets_the_same_answer_and_changes_nothing() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let lines = vec![(1, desk.step(fence, 1, Ok(())))];
    let first = desk.ask(ANA, Action::Close { fence, lines });
    let before = desk.task.clone();
    let second = desk.ask(ANA, Action::Close { fence, lines: Vec::new() });
    let (Ok(Outcome::Finalized { finalized: a, .. }), Ok(Outcome::Finalized { finalized: b, repeated: true })) =
        (first, second)
    else {
        panic!("not repeated");
    };
    assert_eq!(a, b);
    assert_eq!(desk.task, before);
    assert_eq!(desk.begin(ANA, fence, 2), Begin::Over(a), "nor does any line move");
}

#[test]
fn the_answer_of_a_finalize_says_what_the_lines_say() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let first = (1, desk.step(fence, 1, Ok(())));
    let failed = (2, desk.step(fence, 2, Err(LineError::Incomplete)));
    assert_eq!(desk.step(fence, 2, Ok(())), LineOutcome::Applied, "another tab of ana's tried again");
    let Ok(Outcome::Finalized { finalized, .. }) = desk.ask(ANA, Action::Close { fence, lines: vec![first, failed] })
    else {
        panic!("not finalized");
    };
    assert_eq!(finalized.status, Status::Completed);
    assert_eq!(finalized.lines, [(1, LineOutcome::Applied), (2, LineOutcome::Applied)]);
}

#[test]
fn a_lock_lost_midway_stops_the_finalize_and_keeps_what_is_applied() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    desk.step(fence, 1, Ok(()));
    let forced = desk.ask(LUIS, Action::Lease(OnLease::ForceClaim { reason: "urge".to_owned(), fence: None }));
    assert!(forced.is_ok());
    let stopped = desk.begin(ANA, fence, 2);
    assert!(matches!(stopped, Begin::Refused(Refused::Lease(lease::Refused::Lost { ending: Some(_) }))), "{stopped:?}");
    assert!(lost(&desk.ask(ANA, Action::Close { fence, lines: Vec::new() })));
    assert_eq!(desk.status(), Status::PartiallyCompleted);
    let mine = desk.lease.grant.as_ref().expect("held").fence;
    assert_eq!(desk.begin(LUIS, mine, 1), Begin::Settled(LineOutcome::Skipped), "the next one skips what is applied");
    assert_eq!(desk.begin(LUIS, mine, 2), Begin::Go);
    assert_eq!(desk.audit.iter().map(|entry| entry.action).collect::<Vec<_>>(), ["lock_force_claim"]);
}

#[test]
fn a_finalize_after_giving_the_lock_back_is_refused_also_while_another_holds() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    desk.ask(ANA, Action::Lease(OnLease::Release { fence, claim: None })).expect("given back");
    assert!(lost(&desk.ask(ANA, Action::Close { fence, lines: Vec::new() })));
    desk.claim(LUIS);
    let before = desk.task.clone();
    assert!(lost(&desk.ask(ANA, Action::Close { fence, lines: Vec::new() })));
    assert_eq!(desk.task, before);
}

#[test]
fn a_line_applied_under_the_same_fence_is_not_applied_again() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    desk.step(fence, 1, Ok(()));
    assert_eq!(desk.begin(ANA, fence, 1), Begin::Settled(LineOutcome::Applied), "its own finalize, asked twice");
    desk.now = desk.now + Span::from_secs(180);
    assert!(matches!(desk.begin(ANA, fence, 2), Begin::Refused(_)), "only under the live fence");
}

#[test]
fn cancelling_is_refused_while_another_holds_and_is_audited() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let cancel = || Action::Cancel { reason: Some("duplicada".to_owned()), keep_applied: false };
    let held = desk.ask(LUIS, cancel());
    assert!(matches!(held, Err(Refused::Lease(lease::Refused::HeldBy { .. }))), "{held:?}");
    assert!(desk.ask(ANA, cancel()).is_ok());
    assert_eq!((desk.status(), desk.lease.grant.clone()), (Status::Cancelled, None));
    assert_eq!(desk.audit.iter().map(|entry| entry.action).collect::<Vec<_>>(), ["task_cancel"]);
    assert!(matches!(desk.begin(ANA, fence, 1), Begin::Refused(_)), "and no line moves any more");
    assert_eq!(desk.ask(ANA, cancel()), Err(Refused::WrongStatus(Status::Cancelled)));
}

#[test]
fn only_drafts_are_edited_as_a_whole() {
    let mut desk = Desk::empty();
    let lines = vec![line("clavos", Movement::In, Goods::Quantity(3))];
    let edit =
        |lines: &[NewLine]| Action::Edit { title: Some("Otra".to_owned()), lines: Some(lines.to_vec()), seen: None };
    assert_eq!(desk.ask(ANA, edit(&lines)), Err(Refused::Unknown));
    desk.ask(ANA, Action::Create { title: " Entrada ".to_owned(), lines: Vec::new(), ready: false, once: None })
        .expect("good");
    assert_eq!(desk.task.as_ref().map(|task| task.title.as_str()), Some("Entrada"));
    assert!(matches!(desk.ask(ANA, Action::Ready), Err(Refused::Invalid(_))), "without lines there is nothing to do");
    assert!(desk.ask(LUIS, edit(&lines)).is_ok());
    assert!(desk.ask(LUIS, Action::Ready).is_ok());
    assert_eq!(desk.ask(LUIS, edit(&lines)), Err(Refused::WrongStatus(Status::Ready)));
    assert_eq!(desk.ask(LUIS, Action::Ready), Err(Refused::WrongStatus(Status::Ready)));
}

#[test]
fn what_a_page_says_while_it_is_left_is_saved_and_keeps_the_lock_no_longer() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let grace = Span::from_secs(5);
    desk.ask(ANA, Action::Lease(OnLease::Leave { fence, claim: None, grace })).expect("left");
    let left = desk.lease.clone();
    assert_eq!(desk.ask(ANA, quantity(1, fence, 45)), Ok(Outcome::Done));
    assert_eq!(desk.task.as_ref().expect("there is one").lines[0].goods, Goods::Quantity(45));
    assert_eq!(desk.lease, left, "it ends when it would have");
    desk.now = desk.now + grace;
    assert!(lost(&desk.ask(ANA, quantity(1, fence, 46))));
    assert_ne!(desk.claim(LUIS), fence);
}

#[test]
fn a_line_that_was_changed_since_it_was_seen_is_not_written_over_under_the_same_fence_either() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let stored = |desk: &Desk| desk.task.clone().expect("there is one").lines[0].clone();
    let patch = |quantity, seen| {
        let patch = Patch { goods: Some(Goods::Quantity(quantity)), seen, ..Patch::default() };
        Action::Patch { fence, number: 1, patch }
    };
    let first = stored(&desk).version();
    assert!(desk.ask(ANA, patch(41, Some(first))).is_ok());
    assert_eq!(desk.ask(ANA, patch(42, Some(first))), Err(Refused::LineChanged(1)), "from another window");
    assert_eq!(stored(&desk).goods, Goods::Quantity(41));
    assert!(desk.ask(ANA, patch(41, Some(first))).is_ok(), "the same once more is its own change");
    assert!(desk.ask(ANA, patch(42, Some(stored(&desk).version()))).is_ok(), "who has seen it may");
    assert!(desk.ask(ANA, patch(43, None)).is_ok(), "who says nothing about it is asked nothing");
}

#[test]
fn what_was_changed_since_it_was_seen_is_not_written_over() {
    let mut desk = Desk::empty();
    desk.ask(ANA, Action::Create { title: "Entrada".to_owned(), lines: Vec::new(), ready: false, once: None })
        .expect("good");
    let stored = |desk: &Desk| desk.task.clone().expect("there is one");
    let first = stored(&desk).version();
    let edit = |title: &str, quantity, seen| {
        let lines = Some(vec![line("clavos", Movement::In, Goods::Quantity(quantity))]);
        Action::Edit { title: Some(title.to_owned()), lines, seen }
    };
    assert!(desk.ask(ANA, edit("Entrada", 3, Some(first))).is_ok());
    assert_eq!(desk.ask(LUIS, edit("Entrada", 4, Some(first))), Err(Refused::Changed));
    assert_eq!(stored(&desk).lines[0].goods, Goods::Quantity(3), "nothing is lost");
    assert!(desk.ask(ANA, edit("Entrada", 3, Some(first))).is_ok(), "the same once more is nobody else's");
    let second = stored(&desk).version();
    assert!(desk.ask(LUIS, edit("Entrada", 4, Some(second))).is_ok(), "who has seen it may");
    assert!(desk.ask(ANA, edit("Otra", 5, None)).is_ok(), "who says nothing about it is asked nothing");
    assert!(desk.ask(ANA, Action::Ready).is_ok());
    assert_eq!(desk.ask(LUIS, edit("x", 1, Some(first))), Err(Refused::WrongStatus(Status::Ready)));
}

#[test]
fn bad_lines_are_refused_with_the_place_named() {
    let mut desk = Desk::empty();
    let twice = Goods::Serialized(vec![serial("A1"), serial("A1")]);
    let lines = vec![line("a", Movement::In, Goods::Quantity(1)), line("b", Movement::In, twice)];
    let refused = desk.ask(ANA, Action::Create { title: "x".to_owned(), lines, ready: false, once: None });
    assert_eq!(refused, Err(Refused::Invalid("/lines/1/serials: A1 is there twice".to_owned())));
    let none = vec![line("a", Movement::Out, Goods::Quantity(0))];
    assert!(matches!(
        desk.ask(ANA, Action::Create { title: "x".to_owned(), lines: none, ready: false, once: None }),
        Err(Refused::Invalid(text)) if text.starts_with("/lines/0/quantity")
    ));
    assert!(
        desk.ask(ANA, Action::Create { title: "  ".to_owned(), lines: Vec::new(), ready: false, once: None }).is_err()
    );
}

#[test]
fn the_stock_ledger_refuses_what_cannot_be() {
    let stock = |quantity, serialized, serials: &[&str]| Stock {
        sku: Sku::new("s").expect("valid"),
        quantity,
        serialized,
        serials: serials.iter().map(|text| serial(text)).collect(),
    };
    let one = |movement, goods| line("s", movement, goods).into_line(1);
    let units = |movement, count| one(movement, Goods::Quantity(count));
    let named =
        |movement, names: &[&str]| one(movement, Goods::Serialized(names.iter().map(|text| serial(text)).collect()));
    assert_eq!(post(&units(Movement::In, 4), &stock(3, 0, &[])).expect("good").delta, 4);
    assert_eq!(post(&units(Movement::Out, 3), &stock(3, 0, &[])).expect("good").delta, -3);
    let short = LineError::NotEnough { available: 3, wanted: 4 };
    assert_eq!(post(&units(Movement::Out, 4), &stock(3, 0, &[])), Err(short));
    let named_only = LineError::NotEnough { available: 1, wanted: 2 };
    assert_eq!(post(&units(Movement::Out, 2), &stock(3, 2, &[])), Err(named_only), "named units leave by name");
    let duplicate = LineError::DuplicateSerial { serial: serial("B") };
    assert_eq!(post(&named(Movement::In, &["A", "B"]), &stock(1, 1, &["B"])), Err(duplicate));
    let unknown = LineError::UnknownSerial { serial: serial("A") };
    assert_eq!(post(&named(Movement::Out, &["A"]), &stock(9, 1, &[])), Err(unknown));
    assert_eq!(post(&named(Movement::In, &[]), &stock(0, 0, &[])), Err(LineError::Incomplete));
    let full = stock(crate::limits::QUANTITY_MAX, 0, &[]);
    assert_eq!(post(&units(Movement::In, 1), &full), Err(LineError::TooMuch));
}
