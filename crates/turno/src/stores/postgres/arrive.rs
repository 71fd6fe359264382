//! Enqueues that need no read before the write: decided in advance, written and committed in one round trip.
//!
//! Other enqueues need two trips, because rows read under locks in the first decide what the second writes. Inbox items
//! with ids that the engine generated depend on the time alone. They are decided for the time 0, and the statement adds
//! the current time. So the rule and the rows are the same as in `enqueue`.

use super::PostgresStore;
use super::call::Call;
use super::error::TripError;
use super::row::get;
use super::slot::{Slot, Taken};
use super::sql;
use crate::store::{EnqueueGroup, Group, Outcomes, StoreError};
use std::collections::HashMap;
use turno_core::access::Epoch;
use turno_core::id::{Numbers, QueueId, Seq};
use turno_core::queue::{Accepted, Changes, EnqueueRead};
use turno_core::time::{Span, Time};

/// A conflict with the first attempt ends when that attempt ends; more conflicts than this have another cause.
const AGAIN_MAX: usize = 8;

impl PostgresStore {
    /// Commits a group that needs no read.
    pub(super) async fn arrive(
        &self,
        slot: &Slot,
        group: &EnqueueGroup,
        as_of: Option<Epoch>,
    ) -> Result<Outcomes, StoreError> {
        let numbers = Numbers::new((0..group.numbers()).map(|number| number as i64).collect());
        let (fronts, existing) = (HashMap::new(), HashMap::new());
        let (mut changes, answers) = group.decide(EnqueueRead { now: Time(0), numbers, existing, fronts });
        match self.add(slot.take(&self.address).await?, &changes, &group.queues(), as_of).await {
            Ok((now, lowest)) => {
                for item in &mut changes.insert {
                    item.seq = lowest;
                    item.ready_at = item.ready_at.map(|ready_at| ready_at + Span(now.0));
                }
                self.shared.floors.wrote(&changes);
                Ok(Outcomes::Enqueue(answers))
            }
            Err(failure @ (TripError::AccessChanged | TripError::Decided(_))) => Err(failure.into()),
            // Nothing was added. The ordinary path begins the new life on its way.
            Err(TripError::AnotherLife) => self.commit_decided(slot, &Group::Enqueue(group.clone()), as_of).await,
            Err(failure) => self.arrive_again(slot, group, as_of, failure.is_lost()).await,
        }
    }

    /// Adds the items. Returns the time, and the lowest seq.
    async fn add(
        &self,
        mut link: Taken<'_>,
        changes: &Changes,
        queues: &[QueueId],
        as_of: Option<Epoch>,
    ) -> Result<(Time, Seq), TripError> {
        let clock = &self.shared.clock;
        let (_, life) = self.shared.lives.current();
        let added = add(changes).maybe_big(clock.fixed().map(|time| time.0)).big(clock.estimate().0);
        let added = added.maybe_big(as_of.map(|epoch| epoch.0)).text(&life).ints(queues.iter().map(|queue| queue.0));
        let calls = [Call::new(&sql::BEGIN), added, Call::new(&sql::COMMIT)];
        match link.trip(&calls).await {
            Ok(answers) => {
                link.put_back();
                let row = answers.get(1).and_then(|rows| rows.first());
                let row = row.ok_or_else(|| TripError::Garbled("arrivals were not answered".into()))?;
                let (now, lowest): (Option<i64>, Option<i64>) = (get(row, 0)?, get(row, 1)?);
                match now.zip(lowest) {
                    Some((now, lowest)) => Ok((clock.observe(Time(now)), Seq(lowest))),
                    None if get::<&str>(row, 2)? != &*life => Err(TripError::AnotherLife),
                    None if usize::try_from(get::<i64>(row, 3)?) != Ok(queues.len()) => {
                        Err(StoreError::QueueGone.into())
                    }
                    None => Err(TripError::AccessChanged),
                }
            }
            Err(failure) => {
                if !failure.is_lost() && link.roll_back().await.is_ok() {
                    link.put_back();
                }
                Err(failure)
            }
        }
    }

    /// Repeats a failed attempt with the ids marked as given by callers. Even if the first attempt was committed or is
    /// still running, an id is accepted only once, so exactly one of the two adds the items.
    async fn arrive_again(
        &self,
        slot: &Slot,
        group: &EnqueueGroup,
        as_of: Option<Epoch>,
        lost: bool,
    ) -> Result<Outcomes, StoreError> {
        let given = Group::Enqueue(group.with_ids_given());
        let mut again = 0;
        loop {
            return match self.commit_decided(slot, &given, as_of).await {
                Ok(Outcomes::Enqueue(mut answers)) => {
                    answers.iter_mut().flatten().for_each(|accepted| *accepted = Accepted::Queued);
                    Ok(Outcomes::Enqueue(answers))
                }
                Err(StoreError::Conflict(_)) if again < AGAIN_MAX => {
                    again += 1;
                    continue;
                }
                // The first attempt may have been committed, and the server cannot be asked.
                Err(StoreError::Unavailable(why)) if lost => Err(StoreError::Unknown(why.text)),
                answer => answer,
            };
        }
    }
}

fn add(changes: &Changes) -> Call<'_> {
    let (bodies, items) = (&changes.bodies, &changes.insert);
    Call::new(&sql::ARRIVE)
        .ints(bodies.iter().map(|body| body.queue.0))
        .texts(bodies.iter().map(|body| body.id.as_str()))
        .maybe_texts(bodies.iter().map(|body| Some(body.key.as_ref()?.as_str())))
        .maybe_texts(bodies.iter().map(|body| body.action.as_deref()))
        .texts(bodies.iter().map(|body| &*body.payload))
        .bigs(items.iter().map(|item| item.enqueued_at.0))
        .bigs(items.iter().map(|item| item.not_before.0))
        .maybe_bigs(items.iter().map(|item| Some(item.ready_at?.0)))
}
