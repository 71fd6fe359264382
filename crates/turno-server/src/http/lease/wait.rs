//! Waiting for a lease on somebody's behalf.

use tokio::sync::oneshot;
use turno::LeaseAnswer;
use turno::core::lease::{Action, Command, Outcome};
use turno::core::time::Span;

use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::problem::{Code, Problem};

/// Stands in line. The waiting is a task of its own, because whoever asked may leave at any time: then their place is
/// given up, and what was granted to nobody is given back. When the server is told to stop, waiting ends at once.
pub(super) async fn wait(app: &Shared, caller: &Caller, command: Command, wait: Span) -> Result<LeaseAnswer, Problem> {
    let (asked, answer) = oneshot::channel();
    tokio::spawn(stand(app.clone(), caller.clone(), command, wait, asked));
    answer.await.map_err(|_| Problem::new(Code::Internal))?
}

async fn stand(
    app: Shared,
    caller: Caller,
    command: Command,
    wait: Span,
    mut asked: oneshot::Sender<Result<LeaseAnswer, Problem>>,
) {
    let waited = tokio::select! {
        answer = caller.0.lease_wait(command.clone(), wait) => Some(answer),
        () = app.stopped() => None,
        () = asked.closed() => None,
    };
    let answer = match waited {
        Some(answer) => answer.map_err(Problem::from),
        None => leave(&caller, &command).await,
    };
    if let Err(Ok(answer)) = asked.send(answer) {
        give_back(&caller, command, answer).await;
    }
}

/// Leaves the line. A claim that was on its way when the waiting ended may have been granted: then it is the answer.
async fn leave(caller: &Caller, command: &Command) -> Result<LeaseAnswer, Problem> {
    let left = caller.0.lease(Command { action: Action::LeaveLine, ..command.clone() }).await?;
    let granted = left.state.live(left.now).is_some_and(|grant| grant.holder.is(&command.who));
    if granted {
        Ok(LeaseAnswer { answer: Ok(Outcome::Claimed { renewed: false }), ..left })
    } else {
        Err(Problem::new(Code::Stopping))
    }
}

/// Nobody heard of this ownership. If the same holder has claimed it again meanwhile, this changes nothing.
async fn give_back(caller: &Caller, command: Command, answer: LeaseAnswer) {
    let (Ok(Outcome::Claimed { renewed: false }), Some(grant)) = (answer.answer, answer.state.grant) else {
        return;
    };
    let action = Action::Release { fence: grant.fence, claim: Some(grant.claim) };
    if let Err(error) = caller.0.lease(Command { action, ..command }).await {
        tracing::debug!(%error, "what was granted to somebody who had left stays until it expires");
    }
}
