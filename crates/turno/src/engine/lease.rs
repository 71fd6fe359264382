//! The API for leases.

mod batch;
mod handle;

pub use handle::{ClaimLease, Heartbeat, Lease};

use super::access::{Needs, RENEWALS_MAX};
use super::commit::Job;
use super::{LOOK_AGAIN, Turno};
use crate::error::{Error, Misuse};
use crate::store::{LeaseQuery, Past, Peeked, StoreError};
use std::time::Duration;
use turno_core::access::Permission;
use turno_core::fault::Thing;
use turno_core::id::{Fence, Resource};
use turno_core::lease::{Action, Command, Ending, Holder, Outcome, Refused, State};
use turno_core::limits::TICKET_TTL;
use turno_core::task::{self, TaskId};
use turno_core::time::{Span, Time};

/// How often, and with which pause, a command waits for a transaction that pins the ownership it would end. Together
/// about as long as the slowest line of a task takes.
const PINNED_TRIES: usize = 500;
const PINNED_PAUSE: Duration = Duration::from_millis(20);

/// The answer to a lease command, with the resulting state and the time of the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseAnswer {
    /// The outcome, or the reason for the refusal.
    pub answer: Result<Outcome, Refused>,
    /// The lease after the command.
    pub state: State,
    /// The database's time of the decision.
    pub now: Time,
}

/// A page of leases that have a live holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasePage {
    /// The database's time, read after the leases.
    pub now: Time,
    /// The leases, ordered by resource name.
    pub states: Vec<State>,
    /// Where the next page begins ([`LeaseQuery::after`]). `None` on the last page.
    pub next: Option<Resource>,
}

impl Turno {
    /// Builds a command about a resource, with the resource's policy, for [`Turno::lease_command`].
    pub fn command(&self, resource: &str, user: &str, action: Action) -> Result<Command, Error> {
        let user = turno_core::id::UserId::new(user)?;
        let who = Holder { name: user.to_string(), user, instance: None };
        Ok(self.command_of(Resource::new(resource)?, who, action))
    }

    /// Builds a command for a holder with a display name or an instance.
    ///
    /// ```
    /// # use turno::lease::Action;
    /// # turno_testkit::example(async |turno| {
    /// use turno::{id::Instance, lease::Holder};
    /// let who = Holder { instance: Some(Instance::new("till-1")?), ..turno.holder(None) };
    /// let claim = turno.command_of("caja:3".try_into()?, who, Action::Claim { ttl: None, wait: false });
    /// assert!(turno.lease_command(claim).await?.answer.is_ok());
    /// # Ok(()) });
    /// ```
    pub fn command_of(&self, resource: Resource, who: Holder, action: Action) -> Command {
        let policy = self.inner.leases.for_resource(&resource).clone();
        Command { resource, who, via: None, policy, action }
    }

    /// Returns the policy that applies to a resource.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// assert_eq!(turno.lease_policy(&"task:7".try_into()?).ttl, turno::id::Span::from_secs(180));
    /// # Ok(()) });
    /// ```
    pub fn lease_policy(&self, resource: &Resource) -> &turno_core::lease::Policy {
        self.inner.leases.for_resource(resource)
    }

    /// Executes one lease command, built as data. A refusal is an answer, found in [`LeaseAnswer::answer`]. The verbs of
    /// [`Turno::lease`] are shorter.
    ///
    /// The lease of a task also follows the task's rules: its status and its permission.
    ///
    /// ```
    /// # use turno::lease::{Action, Refused};
    /// # turno_testkit::example(async |turno| {
    /// let claim = || Action::Claim { ttl: None, wait: false };
    /// let first = turno.lease_command(turno.command("caja:3", "ana", claim())?).await?;
    /// assert!(first.answer.is_ok());
    /// let second = turno.lease_command(turno.command("caja:3", "luis", claim())?).await?;
    /// assert!(matches!(second.answer, Err(Refused::HeldBy { .. })));
    /// # Ok(()) });
    /// ```
    pub async fn lease_command(&self, mut command: Command) -> Result<LeaseAnswer, Error> {
        if self.caller.is_some() {
            // A caller with a token cannot choose its own policy.
            command.policy = self.inner.leases.for_resource(&command.resource).clone();
        }
        command.policy.check()?;
        self.check_holder(&command.who, claims_or_waits(&command.action))?;
        command.via = self.principal().and_then(|principal| principal.via.clone());
        let answer =
            retry_while_pinned(|| self.lease_once(&command), |answer| answer.answer == Err(Refused::Pinned)).await?;
        self.complete_lost(&command, answer).await
    }

    async fn lease_once(&self, command: &Command) -> Result<LeaseAnswer, Error> {
        let task = TaskId::from_resource(&command.resource);
        let needs = Needs::permission(permission(&command.action, task.is_some())?).on(&command.resource);
        match (&command.action, task) {
            (Action::Heartbeat { .. }, _) => {
                for _ in 0..RENEWALS_MAX {
                    let as_of = self.authorize(needs).await?;
                    match self.inner.beat(command.clone(), as_of).await {
                        Err(Error::Store(StoreError::AccessChanged)) => self.renew().await?,
                        answer => return answer,
                    }
                }
                Err(Error::Overloaded)
            }
            (Action::Release { .. } | Action::Leave { .. } | Action::Keep { .. }, _) | (_, None) => {
                let (decision, state, now) = self.submit(needs, command.clone(), Job::Lease).await?;
                Ok(LeaseAnswer { answer: decision.answer, state, now })
            }
            (action, Some(task)) => {
                let command = task::Command {
                    task: Some(task),
                    who: command.who.clone(),
                    via: command.via.clone(),
                    policy: command.policy.clone(),
                    action: task::Action::Lease(action.clone()),
                };
                let outcome = self.task_once(needs, command).await?;
                let answer = match outcome.answer {
                    Ok(task::Outcome::Lease(outcome)) => Ok(outcome),
                    Err(task::Refused::Lease(refused)) => Err(refused),
                    Err(task::Refused::WrongStatus(status)) => {
                        return Err(Error::WrongStatus { task: task.0, status: status.as_str() });
                    }
                    _ => return Err(Error::Unknown(Thing::Task(task))),
                };
                Ok(LeaseAnswer { answer, state: outcome.lease, now: outcome.now })
            }
        }
    }

    /// Claims a lease. If it is held, waits in line for at most `wait`.
    ///
    /// ```
    /// # use turno::lease::{Action, Refused};
    /// # turno_testkit::example(async |turno| {
    /// turno.lease("caja:3").claim("ana").await?;
    /// let claim = turno.command("caja:3", "luis", Action::Claim { ttl: None, wait: false })?;
    /// let waited = turno.lease_wait(claim, std::time::Duration::from_millis(50)).await?;
    /// assert!(matches!(waited.answer, Err(Refused::HeldBy { .. })), "ana still holds it");
    /// # Ok(()) });
    /// ```
    pub async fn lease_wait(&self, mut command: Command, wait: Duration) -> Result<LeaseAnswer, Error> {
        let signal = self.inner.signals.lease(&command.resource);
        let deadline = self.inner.clock.estimate() + Span::from(wait);
        if let Action::Claim { wait, .. } = &mut command.action {
            *wait = true;
        }
        loop {
            let changed = signal.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let answer = self.lease_command(command.clone()).await?;
            let free_at = match &answer.answer {
                Err(Refused::HeldBy { grant, .. }) => grant.expires_at,
                Err(Refused::OfferedTo { offer, .. }) => offer.until,
                _ => return Ok(answer),
            };
            if deadline <= answer.now {
                let leave = Command { action: Action::LeaveLine, ..command };
                self.lease_command(leave).await?;
                return Ok(answer);
            }
            // A ticket expires unless it is repeated, so repeat it well before that.
            let look = free_at.min(deadline).min(answer.now + Span(TICKET_TTL.0 / 3)).min(answer.now + LOOK_AGAIN);
            tokio::select! {
                () = changed => {}
                () = self.inner.clock.sleep_until(look) => {}
            }
        }
    }

    /// Returns the lease as a claim would find it now, and changes nothing. An expired ownership is shown as ended,
    /// and a free lease with a waiting line as offered to the first ticket.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// let (now, state) = turno.lease_state("caja:3".try_into()?).await?;
    /// assert!(state.live(now).is_none(), "the resource was never claimed");
    /// # Ok(()) });
    /// ```
    pub async fn lease_state(&self, resource: Resource) -> Result<(Time, State), Error> {
        self.authorize_read(Needs::READING.on(&resource)).await?;
        let (now, state) = self.stored_lease(resource).await?;
        Ok((now, self.lease_as_of(state, now)))
    }

    /// Evaluates a stored state at `now`, as a claim would.
    pub(super) fn lease_as_of(&self, state: State, now: Time) -> State {
        let policy = self.inner.leases.for_resource(&state.resource);
        self.redact(state.as_of(policy, now))
    }

    /// Removes the messages and reasons in a lease that do not concern the caller.
    fn redact(&self, state: State) -> State {
        let reader = self.principal();
        match reader {
            Some(reader) if !reader.permissions.has(Permission::AuditRead) => state.as_seen_by(&reader.user),
            _ => state,
        }
    }

    /// Removes the reason of an override that does not concern the caller.
    pub(super) fn redact_ending(&self, ending: Ending) -> Ending {
        let note = ending.note.clone().filter(|_| self.may_read_private(|user| ending.concerns(user)));
        Ending { note, ..ending }
    }

    /// Reads the lease as stored. It may have expired since.
    async fn stored_lease(&self, resource: Resource) -> Result<(Time, State), Error> {
        let mut peeked = self.inner.store.peek(vec![resource.clone()]).await?;
        self.inner.record(peeked.now, peeked.states.iter().flat_map(State::ends)).await?;
        Ok((peeked.now, peeked.states.pop().unwrap_or_else(|| State::unseen(resource))))
    }

    /// Returns leases that have a live holder, ordered by resource name. A page may hold fewer leases than `limit`;
    /// only [`LeasePage::next`] says whether there are more.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use turno::lease::LeaseQuery;
    /// turno.lease("caja:3").claim("ana").await?;
    /// let held = turno.leases(LeaseQuery { limit: 10, ..LeaseQuery::default() }).await?;
    /// assert_eq!(held.states[0].resource.as_str(), "caja:3");
    /// # Ok(()) });
    /// ```
    pub async fn leases(&self, query: LeaseQuery) -> Result<LeasePage, Error> {
        self.authorize_read(Needs::READING).await?;
        let limit = query.limit as usize;
        // Asks for one row more than `limit` to find out whether there is another page.
        let mut query = LeaseQuery { limit: query.limit.saturating_add(1), ..query };
        loop {
            let Peeked { now, mut states, .. } = self.inner.store.leases(query.clone()).await?;
            self.inner.record(now, states.iter().flat_map(State::ends)).await?;
            let more = states.len() > limit;
            states.truncate(limit);
            let next = states.last().filter(|_| more).map(|state| state.resource.clone());
            let may = |state: &State| self.check_cached(Needs::READING.on(&state.resource)).is_ok();
            states.retain(|state| state.live(now).is_some() && may(state));
            if !states.is_empty() || next.is_none() {
                let states = states.into_iter().map(|state| self.redact(state)).collect();
                return Ok(LeasePage { now, states, next });
            }
            query.after = next;
        }
    }

    /// Returns the past ownerships of a resource, newest first: holder, times and how each ended. With `before`,
    /// returns only ownerships with a smaller fence. A page with fewer than `limit` entries is the last one. An
    /// expired ownership is included at once, even if its end is not stored yet.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// let till = turno.lease("caja:3");
    /// till.release(&till.claim("ana").await?).await?;
    /// let history = turno.lease_history("caja:3".try_into()?, None, 10).await?;
    /// assert_eq!(history[0].grant.holder.user.as_str(), "ana");
    /// # Ok(()) });
    /// ```
    pub async fn lease_history(
        &self,
        resource: Resource,
        before: Option<Fence>,
        limit: u32,
    ) -> Result<Vec<Ending>, Error> {
        let ran_out = self.unrecorded_ending(&resource).await?;
        let mut history = self.inner.store.history(resource, Past::Newest { before }, limit).await?;
        if let Some(ended) = ran_out.filter(|ended| before.is_none_or(|before| ended.grant.fence < before))
            && history.iter().all(|past| past.grant.fence != ended.grant.fence)
        {
            let newer = history.iter().take_while(|past| past.grant.fence > ended.grant.fence).count();
            history.insert(newer, ended);
            history.truncate(limit as usize);
        }
        Ok(history.into_iter().map(|ending| self.redact_ending(ending)).collect())
    }

    /// Returns the end of an expired ownership that is not stored yet. Call it before reading the history: an end that
    /// is stored in between then appears in the history.
    pub(super) async fn unrecorded_ending(&self, resource: &Resource) -> Result<Option<Ending>, Error> {
        self.authorize_read(Needs::READING.on(resource)).await?;
        let (now, state) = self.stored_lease(resource.clone()).await?;
        Ok(state.ran_out(self.lease_policy(resource), now))
    }

    /// Completes a `Lost` refusal from the history, because the row keeps only the last ending. A repeated release of
    /// an older ownership gets its first answer again.
    async fn complete_lost(&self, command: &Command, mut answer: LeaseAnswer) -> Result<LeaseAnswer, Error> {
        let Err(Refused::Lost { ending: ending @ None }) = &mut answer.answer else {
            return Ok(answer);
        };
        let fence = match command.action {
            Action::Heartbeat { fence, .. }
            | Action::Release { fence, .. }
            | Action::Leave { fence, .. }
            | Action::Keep { fence, .. } => fence,
            _ => return Ok(answer),
        };
        *ending = self.inner.store.ending(command.resource.clone(), fence).await?;
        if command.action.releases()
            && ending.as_ref().is_some_and(|ending| ending.repeats_release(fence, &command.who))
        {
            answer.answer = Ok(Outcome::Released { released: true, repeated: true });
        }
        Ok(answer)
    }
}

/// Returns whether the action makes the caller a holder or puts them in the waiting line.
pub(super) fn claims_or_waits(action: &Action) -> bool {
    matches!(action, Action::Claim { .. } | Action::ForceClaim { .. } | Action::JoinLine | Action::RenewTicket)
}

/// Returns the permission that an action needs. Refuses `Expel` and `Look`, which only the engine submits: `Expel`
/// follows from disabling a user, `Look` from a due expiry.
pub(super) fn permission(action: &Action, task: bool) -> Result<Permission, Error> {
    match action {
        Action::ForceClaim { .. } | Action::ForceRelease { .. } => Ok(Permission::LocksOverride),
        Action::Expel { .. } => Err(Misuse::Expel.into()),
        Action::Look => Err(Misuse::Look.into()),
        _ if task => Ok(Permission::InventoryManage),
        _ => Ok(Permission::LeasesUse),
    }
}

/// Repeats `ask` while an open transaction pins the ownership, at most `PINNED_TRIES` times.
pub(super) async fn retry_while_pinned<T, F>(
    mut ask: impl FnMut() -> F,
    pinned: impl Fn(&T) -> bool,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut answer = ask().await?;
    for _ in 0..PINNED_TRIES {
        if !pinned(&answer) {
            break;
        }
        tokio::time::sleep(PINNED_PAUSE).await;
        answer = ask().await?;
    }
    Ok(answer)
}
