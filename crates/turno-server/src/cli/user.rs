//! `turno user`: manages people, directly on the database.

use std::io::{BufRead, IsTerminal};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use turno::Turno;
use turno::access::{LinkFor, NewPerson, PersonChange, Role};
use turno::core::access::Person;
use turno::core::id::UserId;
use turno::core::time::Time;

use super::global::{GlobalArgs, refused};
use super::healthcheck::local_url;
use super::output::{Card, Table, say, talk};
use crate::config::Overrides;
use crate::failure::{Failure, io_cause};
use crate::http::{Stamp, person_called, person_identity};
use crate::passwords::{self, PasswordRefused};
use crate::texts::causes;
use crate::texts::message::Message;
use crate::texts::terminal::render;

const EXAMPLES: &str = "\
Examples:
  turno user add ana --role admin --name \"Ana Pérez\"
  turno user add leo --role editor --password-stdin < password.txt
  turno user disable leo       what he holds is freed, his tokens are refused
  turno user link ana --issuer https://id.example.com --subject 2482897
  turno user break-glass eva   prints a link that signs eva in once
  turno user list --json

Works directly on --database, also while a server runs on it. A viewer reads,
an editor also works (tasks, leases, queues), an admin may do everything.";

/// Arguments of `turno user`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UserArgs {
    #[command(subcommand)]
    action: Action,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add a user
    Add {
        /// The user's id, as it appears in leases and in the audit
        #[arg(value_parser = user_id)]
        id: UserId,
        /// The role
        #[arg(long, value_parser = role())]
        role: Role,
        /// The display name [default: the id]
        #[arg(long, value_parser = person_called)]
        name: Option<String>,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// List all users
    List,
    /// Show a user with their tokens
    Show {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
    },
    /// Change a user's role or name
    Change {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
        /// The new role
        #[arg(long, value_parser = role())]
        role: Option<Role>,
        /// The new display name
        #[arg(long, value_parser = person_called)]
        name: Option<String>,
    },
    /// Disable a user: their tokens are refused and their leases end
    Disable {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
    },
    /// Enable a disabled user again
    Enable {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
    },
    /// Set a user's new password, read from stdin
    Password {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
        #[command(flatten)]
        password: PasswordArgs,
    },
    /// Link a user to a person at an OpenID provider, who then signs in as the user
    Link {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
        /// The provider's issuer, as in [oidc]
        #[arg(long, value_name = "URL")]
        issuer: String,
        /// The claim `sub` of the person
        #[arg(long)]
        subject: String,
    },
    /// Remove the link of a user to a person at an OpenID provider
    Unlink {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
    },
    /// Print a link that signs an administrator in once, also while passwords are off
    BreakGlass {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
    },
    /// Remove a user with all their tokens
    Remove {
        /// The user's id
        #[arg(value_parser = user_id)]
        id: UserId,
    },
}

#[derive(Args, Debug)]
struct PasswordArgs {
    /// Read the password from the first line of stdin
    #[arg(long)]
    password_stdin: bool,
}

/// Parses a role. A wrong one is answered with the list of roles.
fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(["viewer", "editor", "admin"])
        .map(|name| name.parse().expect("the parser accepts names of roles only"))
}

/// Parses a user id.
pub(super) fn user_id(text: &str) -> Result<UserId, String> {
    UserId::new(text).map_err(|bad| render(&causes::message(&bad)))
}

pub(crate) async fn run(arguments: UserArgs, global: &GlobalArgs) -> Result<(), Failure> {
    if let Action::Change { id, role: None, name: None } = &arguments.action {
        return Err(Failure::usage(Message::new("user-no-change").text("user", id)));
    }
    // Reads the password before the database is opened, because a person may take long to type it.
    let password = match &arguments.action {
        Action::Add { id, role, password, .. } if password.password_stdin => {
            Some(password_hash(id, &format!("turno user add {id} --role {} --password-stdin < FILE", role.as_str()))?)
        }
        Action::Password { id, .. } => Some(password_hash(id, &format!("turno user password {id} < FILE"))?),
        _ => None,
    };
    let turno = match &arguments.action {
        Action::Add { .. } => global.open().await?.turno,
        _ => global.open_existing().await?.turno,
    };
    let json = arguments.json;
    let (id, done) = match arguments.action {
        Action::Add { id, role, name, .. } => {
            let id = id.for_creation().map_err(|bad| Failure::usage(causes::message(&bad)))?;
            let name = name.unwrap_or_else(|| id.to_string());
            let person = turno.add_person(NewPerson { id, name, role, password }).await.map_err(refused)?;
            report("user-added", &person, json);
            if std::io::stderr().is_terminal() && !json {
                talk(&person_message("user-token-hint", &person));
            }
            return Ok(());
        }
        Action::List => return list(&turno, json).await,
        Action::Show { id } => return show(&turno, id, json).await,
        Action::Remove { id } => {
            turno.remove_person(id.clone()).await.map_err(refused)?;
            if json {
                say(&[json!({ "id": id, "removed": true }).to_string()]);
            } else {
                talk(&Message::new("user-removed").text("user", id));
            }
            return Ok(());
        }
        Action::Link { id, issuer, subject } => {
            let identity = person_identity(&issuer, &subject).map_err(|(field, fault)| {
                let message = Message::new("user-identity").text("field", field);
                Failure::usage(message.message("cause", causes::message(&fault)))
            })?;
            report("user-linked", &turno.link_identity(id, Some(identity)).await.map_err(refused)?, json);
            return Ok(());
        }
        Action::Unlink { id } => {
            report("user-unlinked", &turno.link_identity(id, None).await.map_err(refused)?, json);
            return Ok(());
        }
        Action::BreakGlass { id } => return break_glass(&turno, id, global, json).await,
        Action::Change { id, role, name } => (id, ("user-changed", PersonChange { role, name, ..Default::default() })),
        Action::Disable { id } => {
            (id, ("user-disabled", PersonChange { disabled: Some(true), ..PersonChange::default() }))
        }
        Action::Enable { id } => (id, ("user-enabled", PersonChange { disabled: Some(false), ..Default::default() })),
        Action::Password { id, .. } => {
            (id, ("user-password-set", PersonChange { password, ..PersonChange::default() }))
        }
    };
    let (message, change) = done;
    report(message, &turno.change_person(id, change).await.map_err(refused)?, json);
    Ok(())
}

/// How long a break-glass link is valid.
const BREAK_GLASS: Duration = Duration::from_secs(15 * 60);

/// Prints a link that signs an administrator in once. Access to the database is the proof that the caller may have it.
async fn break_glass(turno: &Turno, id: UserId, global: &GlobalArgs, json: bool) -> Result<(), Failure> {
    let settings = global.settings(Overrides::default())?;
    let person = turno.person(id.clone()).await.map_err(refused)?;
    if !person.is_some_and(|person| person.role == Role::Admin && !person.disabled) {
        return Err(Failure::failed(Message::new("user-no-admin").text("user", id)));
    }
    let link = turno.make_link(LinkFor::SignIn(id.clone()), BREAK_GLASS).await.map_err(refused)?;
    let base = settings.public_url.unwrap_or_else(|| local_url(&settings.listen));
    let url = format!("{base}/sign-in?link={link}");
    if json {
        say(&[json!({ "id": id, "url": url }).to_string()]);
    } else {
        talk(&Message::new("user-break-glass").text("user", id));
        say(&[url]);
    }
    Ok(())
}

/// Reports a changed person: as data for programs, as a sentence for people.
fn report(message: &'static str, person: &Person, json: bool) {
    if json {
        say(&[view(person).to_string()]);
    } else {
        talk(&person_message(message, person));
    }
}

/// Returns a message about a person.
fn person_message(id: &'static str, person: &Person) -> Message {
    Message::new(id).text("user", &person.id).text("name", &person.name).text("role", person.role.as_str())
}

/// Page size when reading people.
const PAGE: u32 = 500;

async fn list(turno: &Turno, json: bool) -> Result<(), Failure> {
    let (mut people, mut after) = (Vec::new(), None);
    loop {
        let page = turno.people(after, PAGE).await.map_err(refused)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        people.extend(page);
    }
    if json {
        say(&[json!({ "items": people.iter().map(view).collect::<Vec<_>>() }).to_string()]);
        return Ok(());
    }
    let mut table = Table::new(&["id", "name", "role", "state", "password", "since"]);
    for person in &people {
        let since = Stamp(person.created_at).to_string();
        let password = has_password(person);
        table.row([person.id.as_str(), &person.name, person.role.as_str(), &state(person), &password, &since[..10]]);
    }
    table.print(&Message::new("user-none"));
    Ok(())
}

async fn show(turno: &Turno, id: UserId, json: bool) -> Result<(), Failure> {
    let found = turno.person(id.clone()).await.map_err(refused)?;
    let person = found.ok_or_else(|| Failure::failed(Message::new("user-unknown").text("user", &id)))?;
    let tokens = super::token::all(turno, Some(id)).await?;
    if json {
        let mut shown = view(&person);
        shown["tokens"] = tokens.iter().map(super::token::view).collect();
        say(&[shown.to_string()]);
        return Ok(());
    }
    let mut card = Card::default();
    card.line("name", person.name.clone());
    card.line("role", person.role.as_str().to_owned());
    card.line("may", person.role.permissions().to_string());
    card.line("state", state(&person));
    card.line("password", has_password(&person));
    if let Some(identity) = &person.identity {
        card.line("identity", format!("{} {}", identity.issuer, identity.subject));
    }
    card.line("since", Stamp(person.created_at).to_string());
    card.line("tokens", live_tokens(tokens.iter().map(|token| token.expires_at), turno.now()));
    card.print(person.id.as_str());
    Ok(())
}

/// Renders the number of valid tokens, and of expired ones that are still listed.
fn live_tokens(ends: impl Iterator<Item = Option<Time>>, now: Time) -> String {
    let (expired, live): (Vec<_>, Vec<_>) = ends.partition(|end| end.is_some_and(|at| at <= now));
    let (expired, live) = (expired.len(), live.len());
    match expired {
        0 => live.to_string(),
        _ => render(&Message::new("user-tokens").number("live", live).number("expired", expired)),
    }
}

fn state(person: &Person) -> String {
    render(&Message::new(if person.disabled { "user-state-disabled" } else { "user-state-active" }))
}

fn has_password(person: &Person) -> String {
    render(&Message::new(if person.password.is_some() { "answer-yes" } else { "answer-no" }))
}

/// Returns the person as the API does, without the password's hash.
fn view(person: &Person) -> Value {
    json!({
        "id": person.id.as_str(),
        "name": person.name,
        "role": person.role.as_str(),
        "disabled": person.disabled,
        "has_password": person.password.is_some(),
        "created_at": Stamp(person.created_at),
        "identity": person.identity.as_ref().map(|identity| json!({ "issuer": identity.issuer, "subject": identity.subject })),
    })
}

/// Reads a password from stdin and returns its hash.
fn password_hash(id: &UserId, example: &str) -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        talk(&Message::new("password-prompt"));
    }
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::failed(Message::new("password-stdin").message("cause", io_cause(&error))))?;
    let password = line.trim_end_matches(['\r', '\n']);
    passwords::acceptable(password, &[id.as_str()]).map_err(|refused| match refused {
        PasswordRefused::Common => Failure::failed(Message::new("password-common").text("example", example)),
        _ => {
            let message = Message::new("password-refused").number("min", passwords::SHORTEST);
            Failure::failed(message.number("max", passwords::LONGEST).text("example", example))
        }
    })?;
    passwords::hashed(password).map_err(|_| Failure::failed(Message::new("password-hash")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_tokens_are_counted_separately() {
        let now = Time(1_000);
        assert_eq!(live_tokens([None, Some(Time(1_001))].into_iter(), now), "2");
        assert_eq!(live_tokens([None, Some(now), Some(Time(1_001))].into_iter(), now), "2, and 1 expired");
    }
}
