//! The lease that `turno run` holds, at a server or directly on the database.

use std::time::Duration;

use turno::Error;
use turno::core::id::Resource;
use turno::core::lease::Cause;
use turno::lease::{Hold, Loss};

use super::super::duration;
use super::super::global::{GlobalArgs, refused};
use super::NOT_GRANTED;
use super::remote::Remote;
use crate::client::{Client, TokenArgs};
use crate::failure::Failure;
use crate::http::Stamp;
use crate::texts::causes;
use crate::texts::message::Message;

/// The requested lease.
#[derive(Clone, Debug)]
pub(super) struct LeaseRequest {
    pub(super) resource: String,
    pub(super) instance: String,
    pub(super) ttl: Option<Duration>,
    pub(super) wait: Duration,
    /// How long the lease stays held after the claim, even if the command ends earlier.
    pub(super) at_least: Duration,
}

impl LeaseRequest {
    /// Refuses `--at-least-for` above the policy's `max_ttl_ms`.
    pub(super) fn check_at_least(&self, max: Duration) -> Result<(), Failure> {
        if self.at_least <= max {
            return Ok(());
        }
        let message = Message::new("run-at-least").text("resource", &self.resource);
        let [asked, max] = [self.at_least, max].map(|time| duration::typed(duration::millis(time).unsigned_abs()));
        Err(Failure::usage(message.text("asked", asked).text("max", max)))
    }
}

/// A held lease that is renewed in the background.
#[derive(Debug)]
pub(super) struct Held {
    resource: String,
    backend: Backend,
}

#[derive(Debug)]
enum Backend {
    Direct(Box<Hold>),
    Remote(Remote),
}

impl Held {
    /// Claims the lease on the database.
    pub(super) async fn claim_on_database(global: &GlobalArgs, request: LeaseRequest) -> Result<Held, Failure> {
        let turno = global.open().await?.turno;
        let resource = Resource::new(request.resource.as_str()).map_err(|bad| refused(Error::from(bad)))?;
        request.check_at_least(turno.lease_policy(&resource).max_ttl.into())?;
        let lease = turno.lease(resource.clone());
        let mut asked = lease.hold(&request.instance).wait(request.wait).at_least_for(request.at_least);
        if let Some(ttl) = request.ttl {
            asked = asked.ttl(ttl);
        }
        if let Some(hold) = asked.await.map_err(refused)? {
            return Ok(Held { resource: request.resource, backend: Backend::Direct(Box::new(hold)) });
        }
        let (_, state) = turno.lease_state(resource).await.map_err(refused)?;
        let message = |id| Message::new(id).text("resource", &request.resource);
        Err(refusal(match (&state.grant, &state.offer) {
            (Some(grant), _) if state.kept => message("run-kept").text("time", Stamp(grant.expires_at)),
            (Some(grant), _) => {
                let instance = grant.holder.instance.as_ref().map_or_else(String::new, |name| format!(", {name}"));
                let held = message("run-held").text("person", format_args!("{}{instance}", grant.holder.name));
                held.text("time", Stamp(grant.locked_at))
            }
            (None, Some(offer)) => message("run-offered").text("person", &offer.to.name),
            (None, None) => message("run-just-held"),
        }))
    }

    /// Claims the lease at a server.
    pub(super) async fn claim_at_server(
        server: &str,
        token: &TokenArgs,
        request: LeaseRequest,
    ) -> Result<Held, Failure> {
        let client = Client::for_server(server, token)?;
        let resource = request.resource.clone();
        Ok(Held { resource, backend: Backend::Remote(Remote::claim(client, request).await?) })
    }

    pub(super) fn resource(&self) -> &str {
        &self.resource
    }

    pub(super) fn fence(&self) -> i64 {
        match &self.backend {
            Backend::Direct(hold) => hold.fence().0,
            Backend::Remote(remote) => remote.fence(),
        }
    }

    /// Waits until the lease is lost. Returns the reason.
    pub(super) async fn lost(&self) -> Message {
        match &self.backend {
            Backend::Direct(hold) => loss_message(&hold.lost().await),
            Backend::Remote(remote) => remote.lost().await,
        }
    }

    /// Counts the running command as work.
    pub(super) fn worked(&self) {
        if let Backend::Direct(hold) = &self.backend {
            hold.worked();
        }
    }

    /// Releases the lease. Returns the reason if it was lost before.
    pub(super) async fn release(self) -> Option<Message> {
        let released = match self.backend {
            Backend::Direct(hold) => hold.release().await,
            Backend::Remote(remote) => return remote.release().await,
        };
        match released {
            Ok(()) => None,
            Err(Error::Lost(loss)) => Some(loss_message(&loss)),
            Err(error) => {
                super::talk(&Message::new("run-not-released").message("cause", causes::message(&error)));
                None
            }
        }
    }
}

/// Returns why the lease was lost: for an override, with the person and the reason.
fn loss_message(loss: &Loss) -> Message {
    let Loss::Ended(Some(ending)) = loss else { return causes::message(loss) };
    match (&ending.by, &ending.note) {
        (Some(by), Some(note)) => Message::new("run-forced-note").text("person", by).text("note", note),
        (Some(by), None) if ending.cause == Cause::Override => Message::new("run-forced").text("person", by),
        _ => causes::message(loss),
    }
}

/// Returns the failure of a lease that another holder has, as a server describes it.
pub(super) fn not_granted(cause: Message) -> Failure {
    refusal(Message::new("run-not-granted").message("cause", cause))
}

fn refusal(message: Message) -> Failure {
    Failure::failed(message).with_code(NOT_GRANTED)
}

/// Returns an instance name that is unique everywhere, because two processes with the same name would share the lease.
/// Containers can share host names and process ids, so the name has a random part.
pub(in crate::cli) fn instance() -> Result<String, Failure> {
    let mut random = [0; 4];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::failed(Message::new("instance-random").text("cause", error)))?;
    let word: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{word}", machine(), std::process::id()))
}

/// Returns the host name without control characters.
fn machine() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    let name: String = name.chars().filter(|one| !one.is_control()).take(100).collect();
    if name.is_empty() { "run".to_owned() } else { name }
}
