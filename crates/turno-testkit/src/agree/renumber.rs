//! Compares answers after mapping the store's numbers to the model's.

use std::collections::BTreeMap;
use turno::core::id::{Fence, Seq};
use turno::core::lease::{Ending, Outcome, Refused, State};
use turno::core::queue::{Accepted, ManageAnswer, ManageRefused};
use turno::lease::LeaseAnswer;
use turno::queue::{ClaimedItem, Delivery, ItemRecord, LaneLocks, Settled, Why, WhyReason};
use turno::store::{Counts, Pulse};

/// Any answer that a session can get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Lease(Box<LeaseAnswer>),
    Accepted(Vec<Accepted>),
    Delivery(Vec<Delivery>),
    Settled(Vec<Settled>),
    Managed(Result<ManageAnswer, ManageRefused>),
    Claimed(Box<ClaimedItem>),
    Counts(Counts),
    Overview(Box<Pulse>),
    LaneLocks(LaneLocks),
    Count(u64),
    Why(Box<Option<Why>>),
    Record(Box<Option<ItemRecord>>),
    Records(Vec<ItemRecord>),
    Nothing,
}

/// The mapping from numbers of the model to numbers of the store.
#[derive(Default)]
pub(super) struct Renumber {
    of: BTreeMap<i64, i64>,
}

impl Renumber {
    /// Compares an answer in the store's numbers with the expected one in the model's numbers.
    pub(super) fn compare(&mut self, expected: &Answer, got: &Answer) -> Result<(), String> {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        let blank_expected = blank(expected.clone(), &mut theirs);
        let blank_got = blank(got.clone(), &mut ours);
        if blank_expected != blank_got {
            return Err("the answers differ".to_owned());
        }
        if theirs.len() != ours.len() {
            return Err("one answer has more numbers than the other".to_owned());
        }
        for (theirs, ours) in theirs.into_iter().zip(ours) {
            self.pair(theirs, ours)?;
        }
        Ok(())
    }

    fn pair(&mut self, theirs: i64, ours: i64) -> Result<(), String> {
        // The cursor of a retried item is its negated sequence number.
        if theirs < 0 && ours < 0 {
            return self.pair(-theirs, -ours);
        }
        // 0 means "none".
        if theirs <= 0 || ours <= 0 {
            return if theirs == ours { Ok(()) } else { Err(format!("{theirs} is not {ours}")) };
        }
        let known = *self.of.entry(theirs).or_insert(ours);
        let below = self.of.range(..theirs).next_back().is_none_or(|(_, before)| *before < ours);
        let above = self.of.range(theirs + 1..).next().is_none_or(|(_, after)| ours < *after);
        match known == ours && below && above {
            true => Ok(()),
            false => Err(format!("the model's {theirs} was {known} and is {ours}, or their order differs")),
        }
    }
}

/// Replaces every number in an answer by 0 and collects the numbers in a fixed order.
fn blank(mut answer: Answer, numbers: &mut Vec<i64>) -> Answer {
    match &mut answer {
        Answer::Lease(lease) => {
            state(&mut lease.state, numbers);
            match &mut lease.answer {
                Err(Refused::HeldBy { grant, .. }) => fence(&mut grant.fence, numbers),
                Err(Refused::Lost { ending: Some(end) }) => ending(end, numbers),
                Ok(Outcome::Claimed { .. }) | Ok(_) | Err(_) => {}
            }
        }
        Answer::Delivery(got) => got.iter_mut().for_each(|got| blank_got(got, numbers)),
        Answer::Claimed(claimed) => match &mut **claimed {
            ClaimedItem::Delivered(got) => blank_got(got, numbers),
            ClaimedItem::NotYet(why) => blank_why(why, numbers),
            ClaimedItem::AlreadyClaimed
            | ClaimedItem::AlreadyYours
            | ClaimedItem::AlreadyProcessed
            | ClaimedItem::Unknown => {}
        },
        Answer::Why(why) => why.iter_mut().for_each(|why| blank_why(why, numbers)),
        Answer::Record(record) => record.iter_mut().for_each(|record| blank_record(record, numbers)),
        Answer::Records(records) => records.iter_mut().for_each(|record| blank_record(record, numbers)),
        Answer::Accepted(_) | Answer::Settled(_) | Answer::Managed(_) | Answer::Counts(_) | Answer::Nothing => {}
        Answer::Overview(_) | Answer::LaneLocks(_) | Answer::Count(_) => {}
    }
    answer
}

fn blank_got(got: &mut Delivery, numbers: &mut Vec<i64>) {
    seq(&mut got.reference.seq, numbers);
    fence(&mut got.reference.fence, numbers);
    number(&mut got.revision, numbers);
}

fn blank_why(why: &mut Why, numbers: &mut Vec<i64>) {
    if let WhyReason::Running { fence: of, .. } | WhyReason::BehindInFlight { fence: of, .. } = &mut why.reason {
        fence(of, numbers);
    }
}

fn blank_record(record: &mut ItemRecord, numbers: &mut Vec<i64>) {
    seq(&mut record.body.seq, numbers);
    if let Some(item) = &mut record.item {
        seq(&mut item.seq, numbers);
        fence(&mut item.fence, numbers);
        fence(&mut item.group, numbers);
        number(&mut item.revision, numbers);
        number(&mut item.handed, numbers);
    }
    if let Some(done) = &mut record.done {
        seq(&mut done.seq, numbers);
        fence(&mut done.fence, numbers);
        number(&mut done.revision, numbers);
    }
    for error in &mut record.errors {
        seq(&mut error.seq, numbers);
        fence(&mut error.fence, numbers);
    }
    for back in &mut record.came_back {
        seq(&mut back.seq, numbers);
        fence(&mut back.fence, numbers);
    }
}

fn state(state: &mut State, numbers: &mut Vec<i64>) {
    if let Some(grant) = &mut state.grant {
        fence(&mut grant.fence, numbers);
    }
    if let Some(end) = &mut state.ended {
        ending(end, numbers);
    }
}

fn ending(ending: &mut Ending, numbers: &mut Vec<i64>) {
    fence(&mut ending.grant.fence, numbers);
}

fn fence(fence: &mut Fence, numbers: &mut Vec<i64>) {
    number(&mut fence.0, numbers);
}

fn seq(seq: &mut Seq, numbers: &mut Vec<i64>) {
    number(&mut seq.0, numbers);
}

fn number(number: &mut i64, numbers: &mut Vec<i64>) {
    numbers.push(std::mem::take(number));
}
