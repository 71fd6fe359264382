//! Claims that wait in line for a held lease.

use tokio::sync::oneshot;
use turno::core::lease::{Action, Command, Outcome};
use turno::core::time::Span;
use turno::lease::LeaseAnswer;

use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::problem::{Code, Problem};

/// Claims the lease and waits in line while it is held.
///
/// The wait runs in a task of its own, because the client may disconnect at any time. Then the task leaves the line and
/// releases a lease that was granted meanwhile. A stopping server ends the wait at once.
pub(super) async fn wait(app: &Shared, caller: &Caller, command: Command, wait: Span) -> Result<LeaseAnswer, Problem> {
    let (client, answer) = oneshot::channel();
    tokio::spawn(wait_in_line(app.clone(), caller.clone(), command, wait, client));
    answer.await.map_err(|_| Problem::new(Code::Internal))?
}

async fn wait_in_line(
    app: Shared,
    caller: Caller,
    command: Command,
    wait: Span,
    mut client: oneshot::Sender<Result<LeaseAnswer, Problem>>,
) {
    let waited = tokio::select! {
        answer = caller.0.lease_wait(command.clone(), wait.into()) => Some(answer),
        () = app.stopped() => None,
        () = client.closed() => None,
    };
    let answer = match waited {
        Some(answer) => answer.map_err(Problem::from),
        None => leave(&caller, &command).await,
    };
    if let Err(Ok(answer)) = client.send(answer) {
        give_back(&caller, command, answer).await;
    }
}

/// Leaves the line. A claim that was in flight may have been granted meanwhile; then that grant is the answer.
async fn leave(caller: &Caller, command: &Command) -> Result<LeaseAnswer, Problem> {
    let left = caller.0.lease_command(Command { action: Action::LeaveLine, ..command.clone() }).await?;
    if left.state.live(left.now).is_some() && left.state.held_by(&command.who) {
        Ok(LeaseAnswer { answer: Ok(Outcome::Claimed { renewed: false }), ..left })
    } else {
        Err(Problem::new(Code::Stopping))
    }
}

/// Releases a lease whose client disconnected before the answer was sent. If the same holder has claimed it again
/// since, this changes nothing.
async fn give_back(caller: &Caller, command: Command, answer: LeaseAnswer) {
    let (Ok(Outcome::Claimed { renewed: false }), Some(grant)) = (answer.answer, answer.state.grant) else {
        return;
    };
    let action = Action::Release { fence: grant.fence, claim: Some(grant.claim) };
    if let Err(error) = caller.0.lease_command(Command { action, ..command }).await {
        tracing::debug!(%error, "what was granted to somebody who had left stays until it expires");
    }
}
