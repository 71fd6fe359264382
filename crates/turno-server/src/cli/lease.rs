//! `turno lease`: claims, keeps and shows the leases of a server.

mod show;
mod wait;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use turno::core::id::Resource;

pub(super) use show::sentence;
pub(super) use show::{card, person, render_ending, state};
pub(super) use wait::{claim, try_claim};

use super::duration;
use super::output::{Table, cell, span, talk};
use crate::client::{Answer, Client, ServerArgs, part, query};
use crate::failure::Failure;
use crate::texts::causes;
use crate::texts::message::Message;
use crate::texts::terminal::{render, word};

const EXAMPLES: &str = "\
Examples:
  turno lease claim caja:3 --ttl 30s          take it
  turno lease claim caja:3 --wait 2m          stand in line for it
  turno lease heartbeat caja:3 --fence 42     renew it
  turno lease release caja:3 --fence 42       release it
  turno lease list --holder ana --json
  turno lease force-release caja:3 --reason \"Ana is on holiday\"

Asks a server, as the owner of the token in TURNO_TOKEN. To hold a lease while
a command runs, use `turno run`.";

/// Arguments of `turno lease`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LeaseArgs {
    #[command(subcommand)]
    action: Action,
    /// Print the server's JSON, for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the lease of a resource; one never seen is free
    Get {
        /// The resource
        #[arg(value_parser = resource)]
        resource: String,
    },
    /// List the held leases
    List(List),
    /// Show earlier holders, and how each lease ended
    History {
        /// The resource
        #[arg(value_parser = resource)]
        resource: String,
        #[command(flatten)]
        page: Page,
    },
    /// Claim the lease, or renew your own
    Claim(Claim),
    /// Renew the lease
    Heartbeat(Heartbeat),
    /// Release the lease
    Release(Release),
    /// Take the lease from its holder; audited, needs locks.override
    ForceClaim(Force),
    /// Release the lease of its holder; audited, needs locks.override
    ForceRelease(Force),
    /// Ask the holder to release the lease
    RequestRelease {
        /// The resource
        #[arg(value_parser = resource)]
        resource: String,
        /// A message for the holder
        #[arg(long)]
        message: Option<String>,
    },
    /// Join the waiting line, or keep your ticket; a ticket is valid for 30 s
    Turn {
        /// The resource
        #[arg(value_parser = resource)]
        resource: String,
        /// Leave the line
        #[arg(long)]
        leave: bool,
        /// The instance that waits; required for machines
        #[arg(long, value_name = "NAME")]
        instance: Option<String>,
    },
}

#[derive(Args, Debug)]
struct List {
    /// Only leases of this holder
    #[arg(long, value_name = "ID")]
    holder: Option<String>,
    /// Only resources that begin with this
    #[arg(long)]
    prefix: Option<String>,
    #[command(flatten)]
    page: Page,
}

/// Checks the name of a resource, or a prefix of names. Refuses an empty text, because it would match every name.
pub(super) fn resource(text: &str) -> Result<String, String> {
    Resource::new(text).map(|_| text.to_owned()).map_err(|bad| render(&causes::message(&bad)))
}

/// A page of a list.
#[derive(Args, Clone, Debug)]
pub(super) struct Page {
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(super) limit: u32,
    /// Continue after an earlier page
    #[arg(long)]
    pub(super) cursor: Option<String>,
}

#[derive(Args, Debug)]
struct Claim {
    /// The resource
    #[arg(value_parser = resource)]
    resource: String,
    #[command(flatten)]
    args: ClaimArgs,
}

/// The options of a claim.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ClaimArgs {
    /// The instance that holds the lease; required for machines
    #[arg(long, value_name = "NAME")]
    pub(super) instance: Option<String>,
    /// How long the claim and each renewal last [default: the policy's]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(super) ttl: Option<Duration>,
    /// Wait in line for at most this long
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(super) wait: Option<Duration>,
}

#[derive(Args, Debug)]
struct Heartbeat {
    /// The resource
    #[arg(value_parser = resource)]
    resource: String,
    #[command(flatten)]
    own: Own,
    /// How long the user has been idle; required if the policy has an idle guard
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    idle: Option<Duration>,
    /// The user has worked since the last heartbeat
    #[arg(long)]
    worked: bool,
}

/// The ownership that a command is about.
#[derive(Args, Clone, Debug)]
pub(super) struct Own {
    /// The fence that the claim returned
    #[arg(long, value_name = "N", env = "TURNO_FENCE", hide_env_values = true)]
    pub(super) fence: i64,
    /// The instance that holds the lease, if the claim named one
    #[arg(long, value_name = "NAME")]
    pub(super) instance: Option<String>,
}

impl Own {
    pub(super) fn body(&self) -> Body {
        Body::new().with("fence", self.fence).maybe("instance", self.instance.clone())
    }
}

#[derive(Args, Debug)]
struct Release {
    /// The resource
    #[arg(value_parser = resource)]
    resource: String,
    #[command(flatten)]
    own: Own,
    /// Release only this claim: the number of the claim
    #[arg(long, value_name = "N")]
    claim: Option<i64>,
    /// Keep the lease held for this long after the release
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    keep: Option<Duration>,
}

#[derive(Args, Debug)]
struct Force {
    /// The resource
    #[arg(value_parser = resource)]
    resource: String,
    /// The reason; it is audited and shown to the holder
    #[arg(long)]
    reason: String,
    /// The fence of the ownership to end, as `lease get` shows it; a newer ownership is left alone
    #[arg(long)]
    fence: Option<i64>,
}

impl Force {
    fn body(&self) -> Body {
        Body::new().maybe("reason", Some(self.reason.clone())).maybe("fence", self.fence)
    }
}

/// The body of a request, with the given fields only.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[serde(transparent)]
pub(super) struct Body(Map<String, Value>);

impl Body {
    pub(super) fn new() -> Body {
        Body::default()
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Body {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn maybe(self, name: &str, value: Option<impl Into<Value>>) -> Body {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn span(self, name: &str, value: Option<Duration>) -> Body {
        self.maybe(name, value.map(duration::millis))
    }
}

pub(crate) async fn run(arguments: &LeaseArgs) -> Result<(), Failure> {
    let client = Client::new(&arguments.server)?;
    let path = |resource: &str, verb: &str| format!("/v1/leases/{}/{verb}", part(resource));
    let answer = match &arguments.action {
        Action::Get { resource } => client.get(&format!("/v1/leases/{}", part(resource))).await?,
        Action::List(args) => return list(&client, args, arguments.json).await,
        Action::History { resource, page } => return history(&client, resource, page, arguments.json).await,
        Action::Claim(Claim { resource, args }) => claim(&client, &path(resource, "claim"), args).await?,
        Action::Heartbeat(beat) => {
            let body = beat.own.body().span("idle_ms", beat.idle).maybe("worked", beat.worked.then_some(true));
            client.post(&path(&beat.resource, "heartbeat"), &body).await?
        }
        Action::Release(args) => {
            let body = args.own.body().maybe("claim", args.claim).span("keep_ms", args.keep);
            client.post(&path(&args.resource, "release"), &body).await?
        }
        Action::ForceClaim(force) => client.post(&path(&force.resource, "force-claim"), &force.body()).await?,
        Action::ForceRelease(force) => client.post(&path(&force.resource, "force-release"), &force.body()).await?,
        Action::RequestRelease { resource, message } => {
            let body = Body::new().maybe("message", message.clone());
            let answer = client.post(&path(resource, "request-release"), &body).await?;
            return report(&answer, arguments.json, &asked(&answer.json));
        }
        Action::Turn { resource, leave: true, .. } => {
            let answer = client.delete(&path(resource, "turn")).await?;
            return report(&answer, arguments.json, &Message::new("lease-line-left"));
        }
        Action::Turn { resource, instance, .. } => {
            let answer = client.post(&path(resource, "turn"), &Body::new().maybe("instance", instance.clone())).await?;
            return turn(&answer, arguments.json);
        }
    };
    if arguments.json {
        answer.print_json();
    } else {
        card(&answer, &answer.json);
    }
    not_renewed(&answer.json)
}

/// Fails if a heartbeat did not renew. For programs that is an answer, for scripts a failure.
fn not_renewed(lease: &Value) -> Result<(), Failure> {
    if lease["renewed"] != false {
        return Ok(());
    }
    let reason = word("ending", lease["reason"].as_str().unwrap_or("-"));
    let when = lease["expires_in_ms"]
        .as_i64()
        .map_or_else(|| Message::new("when-soon"), |ms| Message::new("when-future").text("span", span(ms)));
    Err(Failure::failed(Message::new("lease-not-renewed").text("reason", reason).message("when", when)))
}

/// Prints the answer as JSON, or a sentence if there is nothing else to show.
pub(super) fn report(answer: &Answer, json: bool, sentence: &Message) -> Result<(), Failure> {
    if json && !answer.json.is_null() {
        answer.print_json();
    } else {
        talk(sentence);
    }
    Ok(())
}

/// Returns whether a holder was asked.
fn asked(answer: &Value) -> Message {
    Message::new(if answer["told"] == false { "lease-not-asked" } else { "lease-asked" })
}

fn turn(answer: &Answer, json: bool) -> Result<(), Failure> {
    if json {
        answer.print_json();
        return Ok(());
    }
    let position = cell(&answer.json["position"]);
    let sentence = match answer.json["ticket_expires_in_ms"].as_i64() {
        Some(ms) if answer.json["offered"] == true => Message::new("lease-your-turn").text("span", span(ms)),
        Some(ms) => Message::new("lease-place-for").text("position", position).text("span", span(ms)),
        None => Message::new("lease-place").text("position", position),
    };
    super::output::say(&[render(&sentence)]);
    Ok(())
}

async fn list(client: &Client, args: &List, json: bool) -> Result<(), Failure> {
    let asked = query(&[
        ("holder", args.holder.clone()),
        ("prefix", args.prefix.clone()),
        ("limit", Some(args.page.limit.to_string())),
        ("cursor", args.page.cursor.clone()),
    ]);
    let answer = client.get(&format!("/v1/leases{asked}")).await?;
    if json {
        answer.print_json();
        return Ok(());
    }
    let mut table = Table::new(&["resource", "holder", "since", "expires", "fence", "waiting"]);
    for lease in answer.items() {
        let (since, until) = (answer.when(&lease["locked_at"]), answer.when(&lease["expires_at"]));
        let holder = show::person(&lease["holder"]);
        table.row([cell(&lease["resource"]), holder, since, until, cell(&lease["fence"]), cell(&lease["waiting"])]);
    }
    table.print(&Message::new("lease-none"));
    answer.say_more();
    Ok(())
}

async fn history(client: &Client, resource: &str, page: &Page, json: bool) -> Result<(), Failure> {
    let asked = query(&[("limit", Some(page.limit.to_string())), ("cursor", page.cursor.clone())]);
    let answer = client.get(&format!("/v1/leases/{}/history{asked}", part(resource))).await?;
    if json {
        answer.print_json();
        return Ok(());
    }
    let mut table = Table::new(&["fence", "holder", "from", "to", "ending"]);
    for ending in answer.items() {
        let (from, to) = (answer.when(&ending["locked_at"]), answer.when(&ending["ended_at"]));
        table.row([cell(&ending["fence"]), show::person(&ending["holder"]), from, to, show::render_ending(ending)]);
    }
    table.print(&Message::new("lease-no-history"));
    answer.say_more();
    Ok(())
}
