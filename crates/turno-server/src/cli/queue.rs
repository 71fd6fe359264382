//! `turno queue`: the queues of a server.

mod enqueue;
mod look;
mod policy;
mod repair;
mod work;
mod worker;

use clap::{Args, Subcommand};

pub(super) use enqueue::read;

use super::lease::said;
use super::place::PlaceArgs;
use crate::client::{Client, ServerArgs, part};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  turno queue put bot --kind lane             make a queue
  turno queue enqueue bot '{\"text\":\"hola\"}' --key 5491122334455
  turno queue enqueue bot --items < items.ndjson
  turno queue claim bot --instance worker-1 --wait 20s --json
  turno queue ack bot DELIVERY --fence 42
  turno queue work bot -- ./answer.sh         a script as a worker
  turno queue items bot --state exhausted
  turno queue why bot msg-81

Asks a server, as whoever owns the token in TURNO_TOKEN.";

/// What there is to do with queues.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QueueArgs {
    #[command(subcommand)]
    what: What,
    /// Print the server's JSON, for programs
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the queues with what is in them
    List(look::List),
    /// Show one queue: policy, counts, rates
    Get(Named),
    /// Make a queue, or change its policy; needs queues.manage
    Put(policy::Put),
    /// Put an item, or many, into a queue
    Enqueue(enqueue::Enqueue),
    /// Say that somebody is typing: the window of this key stays open a little longer
    Typing {
        /// Which queue
        queue: String,
        /// Whose messages wait
        key: String,
    },
    /// Take what is due
    Claim(work::Claim),
    /// Keep what was taken
    Heartbeat(work::Delivery),
    /// Say that it is done
    Ack(work::Ack),
    /// Say that it went wrong
    Fail(work::Fail),
    /// Give it back untried
    Return(work::Delivery),
    /// Run a command for every delivery: a script as a worker
    Work(worker::Work),
    /// List items in the order of arrival
    Items(look::Items),
    /// Show one item with its attempts and errors
    Item(OfItem),
    /// Let an exhausted or failed item be tried again, perhaps corrected; needs queues.manage
    Retry(repair::Retry),
    /// Cancel an item that waits; needs queues.manage
    Cancel(OfItem),
    /// Hand nothing out any more; needs queues.manage
    Pause(Named),
    /// Hand out again; needs queues.manage
    Resume(Named),
    /// Let exhausted items be tried again, all or those that match; needs queues.manage
    RetryExhausted(repair::RetryExhausted),
    /// Forget processed and cancelled items beyond the retention now; needs queues.manage
    Purge(repair::Purge),
    /// Say why an item, or a key, is not running
    Why(look::Why),
}

#[derive(Args, Debug)]
struct Named {
    /// Which queue
    queue: String,
}

#[derive(Args, Debug)]
struct OfItem {
    /// Which queue
    queue: String,
    /// The item's id
    item: String,
}

impl OfItem {
    fn path(&self) -> String {
        format!("/v1/queues/{}/items/{}", part(&self.queue), part(&self.item))
    }
}

/// The path of a queue.
fn path(queue: &str) -> String {
    format!("/v1/queues/{}", part(queue))
}

pub(crate) async fn run(arguments: &QueueArgs, place: &PlaceArgs) -> Result<(), Failure> {
    let client = Client::new(&arguments.server)?;
    let (client, json) = (&client, arguments.json);
    let nothing = serde_json::json!({});
    match &arguments.what {
        What::List(wish) => look::list(client, wish, json).await,
        What::Get(wish) => look::get(client, &wish.queue, json).await,
        What::Put(wish) => policy::put(client, wish, json).await,
        What::Enqueue(wish) => enqueue::run(client, wish, json).await,
        What::Typing { queue, key } => {
            let answer = client.post(&format!("{}/typing", path(queue)), &serde_json::json!({ "key": key })).await?;
            said(&answer, json, "noted")
        }
        What::Claim(wish) => work::claim(client, wish, json).await,
        What::Heartbeat(wish) => work::plain(client, wish, "heartbeat", json).await,
        What::Ack(wish) => work::ack(client, wish, json).await,
        What::Fail(wish) => work::fail(client, wish, json).await,
        What::Return(wish) => work::plain(client, wish, "return", json).await,
        What::Work(wish) => worker::work(client.clone(), wish, place).await,
        What::Items(wish) => look::items(client, wish, json).await,
        What::Item(wish) => look::item(client, &wish.path(), json).await,
        What::Retry(wish) => repair::retry(client, wish, json).await,
        What::Cancel(wish) => {
            let answer = client.post(&format!("{}/cancel", wish.path()), &nothing).await?;
            said(&answer, json, &format!("{} is cancelled", wish.item))
        }
        What::Pause(wish) => {
            let answer = client.post(&format!("{}/pause", path(&wish.queue)), &nothing).await?;
            said(&answer, json, &format!("{} is paused: nothing is handed out until it is resumed", wish.queue))
        }
        What::Resume(wish) => {
            let answer = client.post(&format!("{}/resume", path(&wish.queue)), &nothing).await?;
            said(&answer, json, &format!("{} hands out again", wish.queue))
        }
        What::RetryExhausted(wish) => repair::retry_exhausted(client, wish, json).await,
        What::Purge(wish) => repair::purge(client, wish, json).await,
        What::Why(wish) => look::why(client, wish, json).await,
    }
}
