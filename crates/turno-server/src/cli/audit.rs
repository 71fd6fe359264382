//! `turno audit`: `list` asks a server; `verify` follows the chain in the database itself, so that no server has to be
//! trusted.

use clap::{Args, Subcommand};
use serde_json::json;
use turno::core::audit::Head;

use super::check::Progress;
use super::global::{GlobalArgs, refused};
use super::output::{Format, Table, cell, say, talk};
use crate::client::{Client, ServerArgs, query};
use crate::failure::Failure;
use crate::texts::causes;
use crate::texts::message::Message;

const EXAMPLES: &str = "\
Examples:
  turno audit list --actor eva --limit 20        asks a server
  turno audit verify > head.txt                  follows the chain in --database
  turno audit verify --head \"$(cat head.txt)\"    … and compares with an old head";

/// Arguments of `turno audit`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List entries (asks a server)
    List(List),
    /// Verify the hash chain, and print its head to store elsewhere (on the database)
    Verify {
        /// A head that was stored elsewhere; verifies that no entry before it was changed
        #[arg(long, value_name = "N:HASH")]
        head: Option<Head>,
        #[command(flatten)]
        format: Format,
    },
}

#[derive(Args, Debug)]
struct List {
    /// Only this action, for example lock_force_release
    #[arg(long)]
    action: Option<String>,
    /// Only actions of this user
    #[arg(long, value_name = "ID")]
    actor: Option<String>,
    /// Only actions on this resource
    #[arg(long)]
    resource: Option<String>,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Continue after an earlier page
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(arguments: &AuditArgs, global: &GlobalArgs) -> Result<(), Failure> {
    match &arguments.action {
        Action::List(args) => list(args).await,
        Action::Verify { head, format } => verify(*head, *format, global).await,
    }
}

async fn list(args: &List) -> Result<(), Failure> {
    let client = Client::new(&args.server)?;
    let asked = query(&[
        ("action", args.action.clone()),
        ("actor", args.actor.clone()),
        ("resource", args.resource.clone()),
        ("limit", Some(args.limit.to_string())),
        ("cursor", args.cursor.clone()),
    ]);
    let answer = client.get(&format!("/v1/audit{asked}")).await?;
    if args.format.json {
        answer.print_json();
        return Ok(());
    }
    let mut table = Table::new(&["number", "when", "who", "action", "what", "detail"]);
    for entry in answer.items() {
        let actor = &entry["actor"];
        let who = actor["id"].as_str().or(actor["user"].as_str()).or(actor.as_str()).unwrap_or("-");
        let number = if entry["n"].is_null() { &entry["id"] } else { &entry["n"] };
        let when = answer.when(&entry["at"]);
        table.row([
            cell(number),
            when,
            who.to_owned(),
            cell(&entry["action"]),
            cell(&entry["resource"]),
            cell(&entry["detail"]),
        ]);
    }
    table.print(&Message::new("audit-none"));
    answer.say_more();
    Ok(())
}

async fn verify(kept: Option<Head>, format: Format, global: &GlobalArgs) -> Result<(), Failure> {
    let database = global.open_existing().await?;
    let mut progress = Progress::start();
    let report = |done: i64, of: i64| {
        progress.tell(
            usize::try_from(done).unwrap_or(0),
            usize::try_from(of).unwrap_or(0),
            Message::new("audit-entries"),
        );
    };
    let followed = database.turno.audit_verify(kept, report).await.map_err(refused)?;
    progress.end();
    match followed {
        Ok(head) => {
            if format.json {
                say(&[json!({ "valid": true, "n": head.n, "hash": head.hash.to_string(), "head": head.to_string() })
                    .to_string()]);
            } else {
                say(&[head.to_string()]);
            }
            talk(&Message::new("audit-intact").number("count", head.n));
            Ok(())
        }
        Err(broken) => {
            if format.json {
                say(&[json!({ "valid": false, "broken": broken.to_string() }).to_string()]);
            }
            Err(Failure::failed(Message::new("audit-broken").message("cause", causes::message(&broken))))
        }
    }
}
