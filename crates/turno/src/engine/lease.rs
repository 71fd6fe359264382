//! Leases, as an application calls them.

use super::commit::Job;
use super::{LOOK_AGAIN, Turno};
use crate::error::Error;
use turno_core::id::Resource;
use turno_core::lease::{Action, Command, Ending, Outcome, Refused, State};
use turno_core::limits::TICKET_TTL;
use turno_core::time::{Span, Time};

/// The answer to a lease command, with the state it left and the time it was decided with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseAnswer {
    /// What was decided, or why not.
    pub answer: Result<Outcome, Refused>,
    /// The lease afterwards.
    pub state: State,
    /// The database's time of the decision.
    pub now: Time,
}

impl Turno {
    /// Carries out one lease command. A refusal is an answer, found in [`LeaseAnswer::answer`].
    pub async fn lease(&self, command: Command) -> Result<LeaseAnswer, Error> {
        command.policy.check()?;
        if let Action::Heartbeat { .. } = command.action {
            let answer = self.inner.beat(command.clone()).await?;
            return self.remembering(&command, answer).await;
        }
        let (decision, state, now) = self.inner.submit(|reply| Job::Lease(command.clone(), reply)).await?;
        self.remembering(&command, LeaseAnswer { answer: decision.answer, state, now }).await
    }

    /// Claims a lease, standing in line for at most `wait` if it cannot be had at once.
    pub async fn lease_wait(&self, mut command: Command, wait: Span) -> Result<LeaseAnswer, Error> {
        let signal = self.inner.signals.lease(&command.resource);
        let deadline = self.inner.clock.estimate() + wait;
        if let Action::Claim { wait, .. } = &mut command.action {
            *wait = true;
        }
        loop {
            let changed = signal.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let answer = self.lease(command.clone()).await?;
            let free_at = match &answer.answer {
                Err(Refused::HeldBy { grant, .. }) => grant.expires_at,
                Err(Refused::OfferedTo { offer, .. }) => offer.until,
                _ => return Ok(answer),
            };
            if deadline <= answer.now {
                let leave = Command { action: Action::LeaveLine, ..command };
                self.lease(leave).await?;
                return Ok(answer);
            }
            // The ticket must be repeated well before it dies.
            let look = free_at.min(deadline).min(answer.now + Span(TICKET_TTL.0 / 3)).min(answer.now + LOOK_AGAIN);
            tokio::select! {
                () = changed => {}
                () = self.inner.clock.sleep_until(look) => {}
            }
        }
    }

    /// The lease as it is, without changing anything.
    pub async fn lease_state(&self, resource: Resource) -> Result<(Time, State), Error> {
        let mut peeked = self.inner.store.peek(vec![resource.clone()]).await?;
        Ok((peeked.now, peeked.states.pop().unwrap_or_else(|| State::unseen(resource))))
    }

    /// Who held it, when, and how it ended, newest first.
    pub async fn lease_history(&self, resource: Resource, limit: u32) -> Result<Vec<Ending>, Error> {
        Ok(self.inner.store.history(resource, limit).await?)
    }

    /// Fills in from the history how an ownership ended that the row has forgotten, so that the late one is
    /// told, and one who repeats an old release gets the old answer.
    async fn remembering(&self, command: &Command, mut answer: LeaseAnswer) -> Result<LeaseAnswer, Error> {
        let Err(Refused::Lost { ending: ending @ None }) = &mut answer.answer else {
            return Ok(answer);
        };
        let fence = match command.action {
            Action::Heartbeat { fence, .. } | Action::Release { fence, .. } => fence,
            _ => return Ok(answer),
        };
        *ending = self.inner.store.ending(command.resource.clone(), fence).await?;
        let release = matches!(command.action, Action::Release { .. });
        if release && ending.as_ref().is_some_and(|ending| ending.repeats_release(fence, &command.who)) {
            answer.answer = Ok(Outcome::Released { released: true, repeated: true });
        }
        Ok(answer)
    }
}
