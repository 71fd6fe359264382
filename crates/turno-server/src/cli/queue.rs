//! `turno queue`: fills, works and shows the queues of a server.

mod enqueue;
mod look;
mod policy;
mod repair;
mod work;
mod worker;

use clap::{Args, Subcommand};

pub(super) use enqueue::read;

use super::global::GlobalArgs;
use super::lease::report;
use crate::client::{Client, ServerArgs, part};
use crate::failure::Failure;
use crate::texts::message::Message;

const EXAMPLES: &str = "\
Examples:
  turno queue put bot --kind lane             make a queue
  turno queue enqueue bot '{\"text\":\"hola\"}' --key 5491122334455
  turno queue enqueue bot --items < items.ndjson
  turno queue claim bot --instance worker-1 --wait 20s --json
  turno queue ack bot DELIVERY --fence 42
  turno queue work bot -- ./answer.sh         run a script per delivery
  turno queue items bot --state exhausted
  turno queue why bot msg-81

Asks a server, as the owner of the token in TURNO_TOKEN.";

/// Arguments of `turno queue`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QueueArgs {
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
    /// List the queues with their counts
    List(look::List),
    /// Show one queue: policy, counts, rates
    Get(QueueArg),
    /// Create a queue, or change its policy; needs queues.manage
    Put(policy::Put),
    /// Enqueue one item or many
    Enqueue(enqueue::Enqueue),
    /// Report that the sender is typing: the window of this key stays open a little longer
    Typing {
        /// The queue
        queue: String,
        /// The key whose messages wait
        key: String,
    },
    /// Claim due items
    Claim(work::Claim),
    /// Renew a delivery
    Heartbeat(work::Delivery),
    /// Acknowledge a delivery
    Ack(work::Ack),
    /// Report a failed delivery
    Fail(work::Fail),
    /// Return a delivery untried
    Return(work::Delivery),
    /// Run a command for every delivery
    Work(worker::WorkArgs),
    /// List items in the order of arrival
    Items(look::Items),
    /// Show one item with its attempts and errors
    Item(ItemArg),
    /// Retry an exhausted or failed item, perhaps with a new payload; needs queues.manage
    Retry(repair::Retry),
    /// Cancel a waiting item; needs queues.manage
    Cancel(ItemArg),
    /// Pause the queue; needs queues.manage
    Pause(QueueArg),
    /// Resume the queue; needs queues.manage
    Resume(QueueArg),
    /// Retry exhausted items, all or those that match; needs queues.manage
    RetryExhausted(repair::RetryExhausted),
    /// Delete processed and cancelled items beyond the retention now; needs queues.manage
    Purge(repair::Purge),
    /// Explain why an item, or a key, is not processed
    Why(look::Why),
}

#[derive(Args, Debug)]
struct QueueArg {
    /// The queue
    queue: String,
}

#[derive(Args, Debug)]
struct ItemArg {
    /// The queue
    queue: String,
    /// The item's id
    item: String,
}

impl ItemArg {
    fn path(&self) -> String {
        format!("/v1/queues/{}/items/{}", part(&self.queue), part(&self.item))
    }
}

/// Returns the path of a queue.
fn path(queue: &str) -> String {
    format!("/v1/queues/{}", part(queue))
}

pub(crate) async fn run(arguments: &QueueArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let client = Client::new(&arguments.server)?;
    let (client, json) = (&client, arguments.json);
    let nothing = serde_json::json!({});
    match &arguments.action {
        Action::List(args) => look::list(client, args, json).await,
        Action::Get(args) => look::get(client, &args.queue, json).await,
        Action::Put(args) => policy::put(client, args, json).await,
        Action::Enqueue(args) => enqueue::run(client, args, json).await,
        Action::Typing { queue, key } => {
            let answer = client.post(&format!("{}/typing", path(queue)), &serde_json::json!({ "key": key })).await?;
            report(&answer, json, &Message::new("typing-noted"))
        }
        Action::Claim(args) => work::claim(client, args, json).await,
        Action::Heartbeat(args) => work::plain(client, args, "heartbeat", json).await,
        Action::Ack(args) => work::ack(client, args, json).await,
        Action::Fail(args) => work::fail(client, args, json).await,
        Action::Return(args) => work::plain(client, args, "return", json).await,
        // The worker repeats its calls itself.
        Action::Work(args) => worker::work(client.impatient(), args, global).await,
        Action::Items(args) => look::items(client, args, json).await,
        Action::Item(args) => look::item(client, &args.path(), json).await,
        Action::Retry(args) => repair::retry(client, args, json).await,
        Action::Cancel(args) => {
            let answer = client.post(&format!("{}/cancel", args.path()), &nothing).await?;
            report(&answer, json, &Message::new("cancel-item").text("item", &args.item))
        }
        Action::Pause(args) => {
            let answer = client.post(&format!("{}/pause", path(&args.queue)), &nothing).await?;
            report(&answer, json, &Message::new("queue-paused").text("queue", &args.queue))
        }
        Action::Resume(args) => {
            let answer = client.post(&format!("{}/resume", path(&args.queue)), &nothing).await?;
            report(&answer, json, &Message::new("queue-resumed").text("queue", &args.queue))
        }
        Action::RetryExhausted(args) => repair::retry_exhausted(client, args, json).await,
        Action::Purge(args) => repair::purge(client, args, json).await,
        Action::Why(args) => look::why(client, args, json).await,
    }
}
