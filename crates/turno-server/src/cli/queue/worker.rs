//! `turno queue work`: runs a command for every delivery of a queue, so that a script can be a worker.
//!
//! Each of `--concurrency` slots claims one delivery at a time, renews it while the command runs, and settles it by the
//! exit code. If the claim is lost, the command is stopped, because another worker may have the delivery. When the
//! worker is asked to stop, it claims nothing more, waits for running commands, and returns the deliveries that remain.

mod back;
mod command;
mod site;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::super::duration;
use super::super::global::GlobalArgs;
use super::super::output::talk;
use super::super::run;
use crate::client::Client;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use crate::texts::message::Message;
use crate::texts::terminal::word;
use back::GivenBack;
use command::{Command, Ended};
use site::{Backend, Beat, Delivery, Trouble, Verdict};

const EXAMPLES: &str = "\
Examples:
  turno queue work bot -- ./answer.sh
  turno queue work mails --concurrency 4 -- python3 send.py
  turno queue work mails --database sqlite:turno.db --until-empty -- ./send

CMD gets the delivery as JSON on its stdin, and in its environment TURNO_QUEUE,
TURNO_KEY, TURNO_FENCE, TURNO_DELIVERY and TURNO_ATTEMPT. How it ends decides:

  0      done
  75     not now: it goes back, and the attempt does not count; --until-empty
         leaves it, and what waits behind it in its lane, for another run
  other  failed: tried again as the queue's policy says, with the exit code and
         the last lines of its stderr kept as the error

The claim is renewed while CMD runs, as long as the queue allows. If it is lost,
CMD is stopped: with SIGTERM, and with SIGKILL 10 s later. SIGINT or SIGTERM
stop the worker: CMD may end within --grace, a second one stops it at once.

At the server of --server or TURNO_URL; or, with --database, directly there.";

/// Arguments of `turno queue work`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct WorkArgs {
    /// The queue
    queue: String,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD")]
    command: Vec<String>,
    /// Number of commands at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    concurrency: u8,
    /// The name of this instance [default: the machine, the process and a random word]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// How long commands may continue after the worker was asked to stop
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    grace: Duration,
    /// End when nothing is due except deliveries that this run returned; a paused queue counts as empty
    #[arg(long)]
    until_empty: bool,
}

/// The longest wait that a server accepts in one claim.
const WAIT: Duration = Duration::from_secs(30);
/// The pause after a delivery was returned. It is due again at once, so claiming without a pause would loop.
const NOT_NOW: Duration = Duration::from_secs(1);
/// The pause before retrying a server or a database that does not answer.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// The time between SIGTERM and SIGKILL.
const KILL_AFTER: Duration = Duration::from_secs(10);

/// How urgently the worker must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Stop {
    No,
    /// Claim nothing more.
    Soon,
    /// Also stop running commands.
    Now,
}

/// Works until asked to stop.
pub(super) async fn work(client: Client, args: &WorkArgs, global: &GlobalArgs) -> Result<(), Failure> {
    command::check_exists(&args.command)?;
    let instance = args.instance.clone().map_or_else(run::instance, Ok)?;
    let backend = if global.database_was_typed() {
        Backend::on_database(global, &args.queue).await?
    } else {
        Backend::at_server(client, &args.queue)
    };
    let mut signals = signals::Signals::listen()?;
    let (tell, stop) = watch::channel(Stop::No);
    let backend = Arc::new(backend);
    if backend.is_paused().await {
        talk(&Message::new("work-paused").text("queue", &args.queue));
    }
    let mut slots = JoinSet::new();
    let back = args.until_empty.then(|| Arc::new(GivenBack::default()));
    for _ in 0..args.concurrency {
        let (backend, command, back) = (backend.clone(), args.command.clone(), back.clone());
        let slot =
            Slot { backend, instance: instance.clone(), command, back, stop: stop.clone(), limit_reported: false };
        slots.spawn(slot.run());
    }
    let (mut failed, mut grace) = (None, Box::pin(tokio::time::sleep(Duration::MAX)));
    loop {
        tokio::select! {
            ended = slots.join_next() => match ended {
                None => {
                    if let Some(count) = back.map(|back| back.count()).filter(|count| *count > 0) {
                        talk(&Message::new("work-left").number("count", count));
                    }
                    return failed.map_or(Ok(()), Err);
                }
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(failure))) => {
                    // The other slots would fail alike, so they finish their deliveries and stop.
                    failed.get_or_insert(failure);
                    tell.send_replace(Stop::Soon);
                }
                Some(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            },
            () = signals.next() => {
                let again = *tell.borrow() != Stop::No;
                talk(&Message::new(if again { "work-stopping" } else { "work-draining" }));
                tell.send_replace(if again { Stop::Now } else { Stop::Soon });
                grace = Box::pin(tokio::time::sleep(args.grace));
            }
            () = &mut grace, if *tell.borrow() == Stop::Soon => drop(tell.send_replace(Stop::Now)),
        }
    }
}

/// Processes one delivery after another.
struct Slot {
    backend: Arc<Backend>,
    instance: String,
    command: Vec<String>,
    /// Deliveries that this run has returned, with `--until-empty`.
    back: Option<Arc<GivenBack>>,
    stop: watch::Receiver<Stop>,
    /// Whether the worker has reported that heartbeats cannot extend a delivery.
    limit_reported: bool,
}

impl Slot {
    async fn run(mut self) -> Result<(), Failure> {
        let mut aside = Vec::new();
        let ended = self.work(&mut aside).await;
        self.put_back(&mut aside).await;
        ended
    }

    /// Claims and processes until nothing is due or the worker must stop. Deliveries that this run has already returned
    /// are set aside, to see whether others are due behind them.
    async fn work(&mut self, aside: &mut Vec<Delivery>) -> Result<(), Failure> {
        let until_empty = self.back.is_some();
        let wait = if until_empty { Duration::ZERO } else { WAIT };
        let mut looked = false;
        // Stops once the first set-aside delivery ages. Otherwise it would expire, and its attempt would count.
        while *self.stop.borrow() == Stop::No && !aside.first().is_some_and(Delivery::is_ageing) {
            let mut stop = self.stop.clone();
            let taken = tokio::select! {
                // A claim whose caller has left is returned by the engine.
                () = wait_for_stop(&mut stop, Stop::Soon) => break,
                taken = self.backend.take(&self.instance, wait) => taken,
            };
            match taken {
                Ok(Some(taken)) if self.back.as_ref().is_some_and(|back| back.has(&taken)) => aside.push(taken),
                Ok(Some(taken)) => {
                    looked = false;
                    self.put_back(aside).await;
                    if self.process(taken).await? == Some(Verdict::Return) && !until_empty {
                        self.pause(NOT_NOW).await;
                    }
                }
                // The engine may still be taking in the intake. Reading the queue waits for it, then the worker claims
                // once more.
                Ok(None) if until_empty && !std::mem::replace(&mut looked, true) => {
                    self.backend.is_paused().await;
                }
                Ok(None) if until_empty => break,
                Ok(None) => {}
                Err(Trouble::Lasting(failure)) => return Err(failure),
                Err(Trouble::Passing(cause)) => {
                    talk(&Message::new("work-retrying").message("cause", cause));
                    self.pause(RETRY_PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// Returns the deliveries that were set aside.
    async fn put_back(&self, aside: &mut Vec<Delivery>) {
        for taken in aside.drain(..) {
            self.settle(&taken, &Verdict::Return).await;
        }
    }

    /// Waits, unless the worker must stop.
    async fn pause(&mut self, time: Duration) {
        // Both outcomes end the pause.
        let _ = tokio::time::timeout(time, wait_for_stop(&mut self.stop, Stop::Soon)).await;
    }

    /// Runs the command for one delivery and settles it. Returns the verdict, or `None` if the claim was lost.
    async fn process(&mut self, mut taken: Delivery) -> Result<Option<Verdict>, Failure> {
        let mut command = match Command::start(&self.command, self.backend.queue(), &taken) {
            Ok(command) => command,
            Err(failure) => {
                self.settle(&taken, &Verdict::Return).await;
                return Err(failure);
            }
        };
        let verdict = match self.supervise(&mut command, &mut taken).await {
            Watched::Lost => {
                talk(&Message::new("work-lost").text("delivery", taken.name()));
                return Ok(None);
            }
            Watched::Stopped => Verdict::Return,
            Watched::Ended(ended) => verdict(&ended),
        };
        if let Some(back) = self.back.as_ref().filter(|_| verdict == Verdict::Return) {
            back.note(&taken);
        }
        self.settle(&taken, &verdict).await;
        Ok(Some(verdict))
    }

    /// Renews the claim while the command runs.
    async fn supervise(&mut self, command: &mut Command, taken: &mut Delivery) -> Watched {
        let (mut lost, mut stopped, mut terminated_at) = (false, false, None::<Stopwatch>);
        loop {
            let kill_in = terminated_at.map(|terminated_at| KILL_AFTER.saturating_sub(terminated_at.elapsed()));
            tokio::select! {
                ended = command.ended() => return match (lost, stopped) {
                    (true, _) => Watched::Lost,
                    (false, true) if !ended.is_success() => Watched::Stopped,
                    _ => Watched::Ended(ended),
                },
                () = tokio::time::sleep(taken.beat_in()), if !lost => {
                    let beat = tokio::time::timeout(taken.left(), self.backend.beat(taken)).await;
                    lost = matches!(beat, Ok(Beat::Lost)) || taken.left().is_zero();
                    if matches!(beat, Ok(Beat::Limited)) && !std::mem::replace(&mut self.limit_reported, true) {
                        talk(&Message::new("work-limited").text("delivery", taken.name()));
                    }
                    if lost {
                        command.terminate();
                        terminated_at.get_or_insert_with(Stopwatch::start);
                    }
                }
                () = wait_for_stop(&mut self.stop, Stop::Now), if !stopped => {
                    stopped = true;
                    command.terminate();
                    terminated_at.get_or_insert_with(Stopwatch::start);
                }
                () = tokio::time::sleep(kill_in.unwrap_or(Duration::MAX)), if terminated_at.is_some() => {
                    command.kill();
                    // SIGKILL is sent once, because a second one has no effect.
                    terminated_at = None;
                }
            }
        }
    }

    /// Settles the delivery. Retries transient errors while the claim lives.
    async fn settle(&self, taken: &Delivery, verdict: &Verdict) {
        let name = taken.name();
        let unsettled = |cause| Message::new("work-unsettled").text("delivery", &name).message("cause", cause);
        loop {
            match self.backend.settle(taken, verdict).await {
                Ok(outcome) if outcome == "stale" => {
                    talk(&Message::new("work-stale").text("delivery", name));
                }
                Ok(outcome) => {
                    if let Verdict::Fail(error) = verdict {
                        let message =
                            Message::new("work-failed").text("delivery", name).text("outcome", word("item", &outcome));
                        talk(&message.text("error", error.lines().next().unwrap_or_default()));
                    }
                }
                Err(Trouble::Passing(_)) if !taken.left().is_zero() => {
                    tokio::time::sleep(RETRY_PAUSE.min(taken.left()) / 4).await;
                    continue;
                }
                Err(Trouble::Passing(cause)) => talk(&unsettled(cause)),
                Err(Trouble::Lasting(failure)) => talk(&unsettled(failure.into_message())),
            }
            return;
        }
    }
}

/// Waits until the worker must stop at least this urgently.
async fn wait_for_stop(stop: &mut watch::Receiver<Stop>, urgency: Stop) {
    // The sender lives as long as the worker.
    drop(stop.wait_for(|stop| *stop >= urgency).await.map(drop));
}

/// How a supervised command ended.
enum Watched {
    Ended(Ended),
    /// The worker stopped it.
    Stopped,
    /// The claim was lost.
    Lost,
}

/// Returns the verdict of an exit code.
fn verdict(ended: &Ended) -> Verdict {
    match ended.code {
        Some(0) => Verdict::Ack,
        Some(code) if code == i32::from(run::NOT_GRANTED) => Verdict::Return,
        _ => Verdict::Fail(ended.error()),
    }
}

#[cfg(unix)]
mod signals {
    //! Signals that ask the worker to stop.

    use tokio::signal::unix::{Signal, SignalKind, signal};

    use crate::failure::{Failure, io_cause};
    use crate::texts::message::Message;

    pub(super) struct Signals {
        interrupt: Signal,
        terminate: Signal,
    }

    impl Signals {
        pub(super) fn listen() -> Result<Signals, Failure> {
            let failed = |error| Failure::failed(Message::new("signals-failed").message("cause", io_cause(&error)));
            let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
            Ok(Signals { interrupt, terminate: signal(SignalKind::terminate()).map_err(failed)? })
        }

        pub(super) async fn next(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
        }
    }
}

#[cfg(not(unix))]
mod signals {
    //! Signals that ask the worker to stop.

    use crate::failure::Failure;

    pub(super) struct Signals;

    impl Signals {
        pub(super) fn listen() -> Result<Signals, Failure> {
            Ok(Signals)
        }

        pub(super) async fn next(&mut self) {
            // If Ctrl-C cannot be handled, the system ends the process.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
