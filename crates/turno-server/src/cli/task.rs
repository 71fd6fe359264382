//! `turno task`: creates, processes and shows the tasks of a server.

mod create;
mod show;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::lease::{ClaimArgs, Own, Page, card, claim};
use super::output::{Table, cell};
use crate::client::{Answer, Client, ServerArgs, query};
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::terminal::{render, word};

const EXAMPLES: &str = "\
Examples:
  turno task create --title \"Recepción 81\" --quantity TORN-8=40 --ready
  turno task list --status ready
  turno task claim 7                       ready becomes processing
  turno task finalize 7 --fence 42         apply every line, once, and free it
  turno why task:7

Asks a server, as the owner of the token in TURNO_TOKEN. The lease behind task
7 is task:7, and `turno lease heartbeat task:7` and the like work on it.";

/// Arguments of `turno task`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TaskArgs {
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
    /// List tasks
    List(List),
    /// Show a task with its lines
    Get(TaskArg),
    /// Create a task
    Create(create::Create),
    /// Mark a draft as ready
    Ready(TaskArg),
    /// Cancel a task
    Cancel {
        #[command(flatten)]
        target: TaskArg,
        /// Cancel the task although lines are applied; their effects stay
        #[arg(long)]
        keep_applied: bool,
    },
    /// Claim a task
    Claim {
        #[command(flatten)]
        target: TaskArg,
        #[command(flatten)]
        args: ClaimArgs,
    },
    /// Release a task
    Release(Owned),
    /// Apply every line once, and release the task
    Finalize(Owned),
    /// Validate a line
    Validate {
        #[command(flatten)]
        owned: Owned,
        /// The line's number, from 1
        #[arg(long, value_name = "N")]
        line: u32,
    },
    /// Show the history of a task
    History {
        #[command(flatten)]
        target: TaskArg,
        #[command(flatten)]
        page: Page,
    },
}

#[derive(Args, Debug)]
struct TaskArg {
    /// The task's number
    #[arg(value_name = "TASK", value_parser = number)]
    task: u64,
}

#[derive(Args, Debug)]
struct Owned {
    #[command(flatten)]
    target: TaskArg,
    #[command(flatten)]
    own: Own,
}

#[derive(Args, Debug)]
struct List {
    /// Only in this status
    #[arg(long, value_parser = ["draft", "ready", "processing", "completed", "partially_completed", "cancelled"])]
    status: Option<String>,
    /// Only locked tasks
    #[arg(long, conflicts_with = "free")]
    locked: bool,
    /// Only free tasks
    #[arg(long)]
    free: bool,
    #[command(flatten)]
    page: Page,
}

/// Parses a task's number, also in the form `task:7`.
fn number(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("task:").unwrap_or(text);
    number.parse().map_err(|_| render(&Message::new("argument-task")))
}

pub(crate) async fn run(arguments: &TaskArgs) -> Result<(), Failure> {
    let client = Client::new(&arguments.server)?;
    let json = arguments.json;
    let path = |target: &TaskArg, verb: &str| format!("/v1/tasks/{}/{verb}", target.task);
    let nothing = json!({});
    match &arguments.action {
        Action::List(args) => list(&client, args, json).await,
        Action::Get(task) => print_answer(&client.get(&format!("/v1/tasks/{}", task.task)).await?, json),
        Action::Create(args) => print_answer(&client.post("/v1/tasks", &create::body(args)?).await?, json),
        Action::Ready(task) => print_answer(&client.post(&path(task, "ready"), &nothing).await?, json),
        Action::Cancel { target: task, keep_applied } => {
            let body = json!({ "keep_applied": keep_applied });
            print_answer(&client.post(&path(task, "cancel"), &body).await?, json)
        }
        Action::Claim { target: task, args } => print_answer(&claim(&client, &path(task, "claim"), args).await?, json),
        Action::Release(args) => {
            print_answer(&client.post(&path(&args.target, "release"), &args.own.body()).await?, json)
        }
        Action::Finalize(args) => {
            let answer = client.post(&path(&args.target, "finalize"), &args.own.body()).await?;
            show::finalized(&answer, args.target.task, json)
        }
        Action::Validate { owned, line } => {
            let path = path(&owned.target, &format!("lines/{line}/validate"));
            print_answer(&client.post(&path, &owned.own.body()).await?, json)
        }
        Action::History { target: task, page } => {
            let asked = query(&[("limit", Some(page.limit.to_string())), ("cursor", page.cursor.clone())]);
            show::history(&client.get(&path(task, &format!("history{asked}"))).await?, json)
        }
    }
}

/// Prints a task, a line or a lease, depending on the answer.
fn print_answer(answer: &Answer, json: bool) -> Result<(), Failure> {
    if json {
        answer.print_json();
    } else if answer.json["lines"].is_array() {
        show::task(answer);
    } else if answer.json["number"].is_number() {
        show::line(&answer.json);
    } else {
        card(answer, &answer.json);
    }
    Ok(())
}

async fn list(client: &Client, args: &List, json: bool) -> Result<(), Failure> {
    let locked = if args.locked { Some("true".to_owned()) } else { args.free.then(|| "false".to_owned()) };
    let asked = query(&[
        ("status", args.status.clone()),
        ("locked", locked),
        ("limit", Some(args.page.limit.to_string())),
        ("cursor", args.page.cursor.clone()),
    ]);
    let answer = client.get(&format!("/v1/tasks{asked}")).await?;
    if json {
        answer.print_json();
        return Ok(());
    }
    let mut table = Table::new(&["task", "status", "title", "lines", "lock"]);
    for task in answer.items() {
        let lines = task["lines"].as_array().map_or(0, Vec::len).to_string();
        table.row([cell(&task["id"]), status(task), cell(&task["title"]), lines, show::lock(&answer, &task["lock"])]);
    }
    table.print(&Message::new("task-none"));
    answer.say_more();
    Ok(())
}

pub(super) fn status(task: &Value) -> String {
    word("status", &cell(&task["status"]))
}
