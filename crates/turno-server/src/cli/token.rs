//! `turno token`: manages tokens for the API, directly on the database.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use turno::access::{NewToken, Permission};
use turno::core::access::{ChangeRefused, Token};
use turno::core::id::UserId;
use turno::{Error, Turno};

use super::duration;
use super::global::{GlobalArgs, refused};
use super::output::{Table, say, talk};
use super::user::user_id;
use crate::failure::Failure;
use crate::http::{RESOURCES_MAX, Stamp};
use crate::texts::message::Message;
use crate::texts::terminal::render;

const EXAMPLES: &str = "\
Examples:
  export TURNO_TOKEN=$(turno token create --user ana)
  turno token create --user bot --machine --expires 90d > bot.token
  turno token create --user app --can leases.use --resource order: invoice:
  turno token create --user bot --can queues.consume --queue mails 'bot-*'
  turno token list --user ana
  turno token rotate ID --overlap 1h   a new one; the old one ends in an hour
  turno token revoke ID        refused from the next request on

Works directly on --database, also while a server runs on it. A token is shown
once; only its hash is kept.";

/// Arguments of `turno token`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    action: Action,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a token and print only the token
    Create(Create),
    /// List tokens, without their secrets
    List {
        /// Only tokens of this user
        #[arg(long, value_name = "ID", value_parser = user_id)]
        user: Option<UserId>,
    },
    /// Replace a token by a new one with the same rights, and print only the new one
    Rotate {
        /// The token's id, as `list` shows it; not the secret
        id: String,
        /// How long the old token stays valid, at most 30d [default: it ends at once]
        #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
        overlap: Option<Duration>,
    },
    /// Revoke a token and its sessions
    Revoke {
        /// The token's id, as `list` shows it; not the secret
        id: String,
    },
}

#[derive(Args, Debug)]
struct Create {
    /// The user that the token acts as
    #[arg(long, value_name = "ID", value_parser = user_id)]
    user: UserId,
    /// The token acts as a machine, which must name its instance
    #[arg(long)]
    machine: bool,
    /// Only these permissions [default: all of the user's]
    #[arg(long, value_name = "PERMISSION", num_args = 1.., value_delimiter = ',', value_parser = permission())]
    can: Vec<Permission>,
    /// Only leases whose names begin with one of these [default: all]
    #[arg(long, value_name = "PREFIX", num_args = 1.., value_parser = super::lease::resource)]
    resource: Vec<String>,
    /// Only queues with these names, or with these prefixes if they end in * [default: all]
    #[arg(long, value_name = "QUEUE", num_args = 1.., value_parser = crate::http::queue_pattern)]
    queue: Vec<String>,
    /// Expires after this time [default: never]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    expires: Option<Duration>,
}

/// Parses a permission. A wrong one is answered with the list of permissions.
fn permission() -> impl TypedValueParser<Value = Permission> {
    PossibleValuesParser::new(Permission::ALL.map(Permission::as_str))
        .map(|name| name.parse().expect("the parser accepts names of permissions only"))
}

pub(crate) async fn run(arguments: TokenArgs, global: &GlobalArgs) -> Result<(), Failure> {
    if let Action::Create(args) = &arguments.action
        && args.resource.len().max(args.queue.len()) > RESOURCES_MAX
    {
        return Err(Failure::usage(Message::new("token-resources-max").number("max", RESOURCES_MAX)));
    }
    let turno = global.open_existing().await?.turno;
    match arguments.action {
        Action::Create(args) => create(&turno, args, arguments.json).await,
        Action::List { user } => list(&turno, user, arguments.json).await,
        Action::Rotate { id, overlap } => {
            let rotated = turno.rotate_token(&id, overlap.unwrap_or_default()).await;
            let (token, secret) = rotated.map_err(|error| not_revoked(error, &id))?;
            print_secret(&token, secret, arguments.json);
            Ok(())
        }
        Action::Revoke { id } => {
            turno.revoke_token(&id).await.map_err(|error| not_revoked(error, &id))?;
            if arguments.json {
                say(&[json!({ "id": id, "revoked": true }).to_string()]);
                return Ok(());
            }
            talk(&Message::new("token-is-revoked").text("token", id));
            Ok(())
        }
    }
}

async fn create(turno: &Turno, args: Create, json: bool) -> Result<(), Failure> {
    let Create { user, machine, can, resource, queue, expires } = args;
    let scope = (!can.is_empty()).then(|| can.into_iter().collect());
    let new = NewToken {
        user: user.clone(),
        name: None,
        machine,
        scope,
        resources: resource,
        queues: queue,
        expires_in: expires,
    };
    let (token, secret) = turno.create_token(new).await.map_err(|error| match error {
        Error::Refused(ChangeRefused::Unknown(_)) => {
            Failure::failed(Message::new("token-user-unknown").text("user", &user))
        }
        other => refused(other),
    })?;
    print_secret(&token, secret, json);
    Ok(())
}

/// Prints a new secret: with its token for programs, alone for people.
fn print_secret(token: &Token, secret: String, json: bool) {
    if json {
        let mut shown = view(token);
        shown["token"] = secret.into();
        say(&[shown.to_string()]);
    } else {
        say(&[secret]);
    }
}

fn not_revoked(error: Error, id: &str) -> Failure {
    match error {
        // A long id may be the secret itself, which must not appear in a log.
        Error::Refused(ChangeRefused::Unknown(_)) if id.len() > 40 => Failure::failed(Message::new("token-not-an-id")),
        Error::Refused(ChangeRefused::Unknown(_)) => Failure::failed(Message::new("token-unknown").text("token", id)),
        other => refused(other),
    }
}

/// Page size when reading tokens.
const PAGE: u32 = 500;

/// Returns all tokens, of one person or of all people.
pub(super) async fn all(turno: &Turno, user: Option<UserId>) -> Result<Vec<Token>, Failure> {
    let (mut tokens, mut after) = (Vec::new(), None);
    loop {
        let page = turno.tokens(user.clone(), after, PAGE).await.map_err(refused)?;
        let Some(last) = page.last() else { return Ok(tokens) };
        after = Some(last.id.clone());
        tokens.extend(page);
    }
}

async fn list(turno: &Turno, user: Option<UserId>, json: bool) -> Result<(), Failure> {
    let tokens = all(turno, user).await?;
    if json {
        say(&[json!({ "items": tokens.iter().map(view).collect::<Vec<_>>() }).to_string()]);
        return Ok(());
    }
    let mut table = Table::new(&["id", "user", "for", "may", "resources", "queues", "expires", "last-used"]);
    for token in &tokens {
        let day = |time: Option<turno::core::time::Time>| {
            time.map_or_else(|| render(&Message::new("never")), |time| Stamp(time).to_string()[..16].replace('T', " "))
        };
        table.row([
            token.id.clone(),
            token.user.to_string(),
            render(&Message::new(if token.machine { "token-for-machine" } else { "token-for-person" })),
            token.scope.map_or_else(|| render(&Message::new("token-may-all")), |scope| scope.to_string()),
            bounds(&token.resources, &token.queues),
            bounds(&token.queues, &token.resources),
            day(token.expires_at),
            day(token.last_used_at),
        ]);
    }
    table.print(&Message::new("token-none"));
    Ok(())
}

/// Renders what a token reaches of one kind. A token with bounds of the other kind only reaches nothing.
fn bounds(own: &[String], other: &[String]) -> String {
    match (own.is_empty(), other.is_empty()) {
        (false, _) => own.join(" "),
        (true, true) => render(&Message::new("token-resources-all")),
        (true, false) => render(&Message::new("token-resources-none")),
    }
}

/// Returns the token as the API does, without its hash.
pub(super) fn view(token: &Token) -> Value {
    let scope = token.scope.map(|scope| scope.iter().map(Permission::as_str).collect::<Vec<_>>());
    json!({
        "id": token.id,
        "user": token.user.as_str(),
        "machine": token.machine,
        "permissions": scope,
        "resources": token.resources,
        "queues": token.queues,
        "expires_at": token.expires_at.map(Stamp),
        "created_at": Stamp(token.created_at),
        "last_used_at": token.last_used_at.map(Stamp),
    })
}
