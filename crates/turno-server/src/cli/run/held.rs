//! The lease behind a command: of a server, or directly on the database.

use std::time::Duration;

use turno::core::id::Resource;
use turno::core::lease::Cause;
use turno::{Error, Hold, Loss};

use super::super::place::{PlaceArgs, refused};
use super::NOT_GRANTED;
use super::remote::Remote;
use crate::client::{Client, TokenArgs};
use crate::failure::Failure;
use crate::http::Stamp;

/// Which lease, and how.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) resource: String,
    pub(super) instance: String,
    pub(super) ttl: Option<Duration>,
    pub(super) wait: Duration,
}

/// A lease that is held and renewed.
#[derive(Debug)]
pub(super) struct Held {
    resource: String,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Direct(Box<Hold>),
    Remote(Remote),
}

impl Held {
    /// Takes it on the database.
    pub(super) async fn on(place: &PlaceArgs, wish: Wish) -> Result<Held, Failure> {
        let turno = place.open().await?.turno;
        let mut asked = turno.hold(&wish.resource, &wish.instance).wait(wish.wait);
        if let Some(ttl) = wish.ttl {
            asked = asked.ttl(ttl);
        }
        if let Some(hold) = asked.await.map_err(refused)? {
            return Ok(Held { resource: wish.resource, way: Way::Direct(Box::new(hold)) });
        }
        let resource = Resource::new(wish.resource.as_str()).map_err(|bad| refused(Error::from(bad)))?;
        let (_, state) = turno.lease_state(resource).await.map_err(refused)?;
        let who = match (&state.grant, &state.offer) {
            (Some(grant), _) => {
                let instance =
                    grant.holder.instance.as_ref().map_or_else(String::new, |instance| format!(", {instance}"));
                format!("is held by {}{instance} since {}", grant.holder.name, Stamp(grant.locked_at))
            }
            (None, Some(offer)) => format!("is kept for {}, who is next in line", offer.to.name),
            (None, None) => "was held by somebody else until just now".to_owned(),
        };
        Err(not_granted(format!("{} {who}", wish.resource)))
    }

    /// Takes it at a server.
    pub(super) async fn at(server: &str, token: &TokenArgs, wish: Wish) -> Result<Held, Failure> {
        let client = Client::of(server, token)?;
        let resource = wish.resource.clone();
        Ok(Held { resource, way: Way::Remote(Remote::claim(client, wish).await?) })
    }

    pub(super) fn resource(&self) -> &str {
        &self.resource
    }

    pub(super) fn fence(&self) -> i64 {
        match &self.way {
            Way::Direct(hold) => hold.fence().0,
            Way::Remote(remote) => remote.fence(),
        }
    }

    /// Waits until it is lost, and says why.
    pub(super) async fn lost(&self) -> String {
        match &self.way {
            Way::Direct(hold) => told(&hold.lost().await),
            Way::Remote(remote) => remote.lost().await,
        }
    }

    /// The command runs, which is work.
    pub(super) fn worked(&self) {
        if let Way::Direct(hold) = &self.way {
            hold.worked();
        }
    }

    /// Gives it back; answers why it had been lost before, if it had.
    pub(super) async fn release(self) -> Option<String> {
        let released = match self.way {
            Way::Direct(hold) => hold.release().await.map_err(|error| error.to_string()),
            Way::Remote(remote) => return remote.release().await,
        };
        match released {
            Ok(Ok(())) => None,
            Ok(Err(loss)) => Some(told(&loss)),
            Err(error) => {
                super::talk(&format!("the lease could not be given back ({error}); it ends by itself"));
                None
            }
        }
    }
}

/// Why it was lost; of one that was forced away, by whom and why.
fn told(loss: &Loss) -> String {
    let Loss::Ended(Some(ending)) = loss else { return loss.to_string() };
    match (&ending.by, &ending.note) {
        (Some(by), Some(note)) => format!("the lease was lost: it was forced away by {by}, who says: {note}"),
        (Some(by), None) if ending.cause == Cause::Override => {
            format!("the lease was lost: it was forced away by {by}")
        }
        _ => loss.to_string(),
    }
}

/// It is somebody else's.
pub(super) fn not_granted(cause: String) -> Failure {
    let next = "try again later, or stand in line with --wait 10m; `turno why` says more";
    Failure::failed(cause, next).with_code(NOT_GRANTED)
}

/// A name that no other process has, anywhere: two with the same name would hold the lease together. Containers share
/// names and process numbers, so a random word makes the difference.
pub(in crate::cli) fn instance() -> Result<String, Failure> {
    let mut random = [0; 4];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::failed(format!("the system has no randomness: {error}"), "give --instance NAME"))?;
    let word: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{word}", machine(), std::process::id()))
}

/// What this machine is called, as far as that can be a part of a name.
fn machine() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    let name: String = name.chars().filter(|one| !one.is_control()).take(100).collect();
    if name.is_empty() { "run".to_owned() } else { name }
}
