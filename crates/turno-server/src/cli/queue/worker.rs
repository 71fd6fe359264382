//! `turno queue work`: a command for every delivery of a queue, so that a script is a worker.
//!
//! As many hands as asked for, each of which takes one delivery at a time, keeps it alive while the command runs, and
//! settles it by the command's exit code. A command whose claim is lost is stopped: somebody else may be at the same work
//! already. Told to stop, the worker takes nothing more, lets commands end for a while, and gives back the rest.

mod back;
mod command;
mod site;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::super::duration;
use super::super::output::talk;
use super::super::place::PlaceArgs;
use super::super::run;
use crate::client::Client;
use crate::failure::Failure;
use crate::uptime::Uptime;
use back::GivenBack;
use command::{Command, Ended};
use site::{Beat, How, Site, Taken, Trouble};

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

/// What to run for each delivery.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Work {
    /// Which queue
    queue: String,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD")]
    command: Vec<String>,
    /// So many commands at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    concurrency: u8,
    /// How this process is called [default: the machine, the process and a random word]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// How long commands may go on once the worker is told to stop
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    grace: Duration,
    /// End when nothing is due but what this run gave back, also of a paused queue, instead of waiting for more
    #[arg(long)]
    until_empty: bool,
}

/// The longest that a server lets a claim wait.
const WAIT: Duration = Duration::from_secs(30);
/// After a delivery was given back, it is due at once: whoever cannot do it now should not be asked without pause.
const NOT_NOW: Duration = Duration::from_secs(1);
/// Between two tries to reach a server or a database that does not answer.
const AGAIN: Duration = Duration::from_secs(2);
/// A command that was told to stop is killed after this long.
const KILL_AFTER: Duration = Duration::from_secs(10);

/// How urgently the worker is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Stop {
    No,
    /// Take nothing more.
    Soon,
    /// Stop what runs, too.
    Now,
}

/// Works until told to stop.
pub(super) async fn work(client: Client, wish: &Work, place: &PlaceArgs) -> Result<(), Failure> {
    command::look(&wish.command)?;
    let instance = wish.instance.clone().map_or_else(run::instance, Ok)?;
    let site =
        if place.database_was_typed() { Site::on(place, &wish.queue).await? } else { Site::at(client, &wish.queue) };
    let mut signals = signals::Signals::listen()?;
    let (tell, stop) = watch::channel(Stop::No);
    let site = Arc::new(site);
    if site.is_paused().await {
        let command = format!("`turno queue resume {}`", wish.queue);
        talk(&format!("{} is paused, and nothing is handed out; {command} lets it go on", wish.queue));
    }
    let mut hands = JoinSet::new();
    let back = wish.until_empty.then(|| Arc::new(GivenBack::default()));
    for _ in 0..wish.concurrency {
        let (site, command, back) = (site.clone(), wish.command.clone(), back.clone());
        let hand = Hand { site, instance: instance.clone(), command, back, stop: stop.clone(), told_limit: false };
        hands.spawn(hand.run());
    }
    let (mut failed, mut grace) = (None, Box::pin(tokio::time::sleep(Duration::MAX)));
    loop {
        tokio::select! {
            ended = hands.join_next() => match ended {
                None => {
                    if let Some(count) = back.map(|back| back.count()).filter(|count| *count > 0) {
                        talk(&format!("given back, and left for another run: {count}"));
                    }
                    return failed.map_or(Ok(()), Err);
                }
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(failure))) => {
                    // What one cannot do none can; the others finish what they have.
                    failed.get_or_insert(failure);
                    tell.send_replace(Stop::Soon);
                }
                Some(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            },
            () = signals.next() => {
                let again = *tell.borrow() != Stop::No;
                talk(if again { "stopping the commands" } else { "taking nothing more; a second signal stops at once" });
                tell.send_replace(if again { Stop::Now } else { Stop::Soon });
                grace = Box::pin(tokio::time::sleep(wish.grace));
            }
            () = &mut grace, if *tell.borrow() == Stop::Soon => drop(tell.send_replace(Stop::Now)),
        }
    }
}

/// Takes one delivery after another.
struct Hand {
    site: Arc<Site>,
    instance: String,
    command: Vec<String>,
    /// What the run has given back, if it is one that ends by itself.
    back: Option<Arc<GivenBack>>,
    stop: watch::Receiver<Stop>,
    /// It has told that the queue does not let heartbeats extend a delivery.
    told_limit: bool,
}

impl Hand {
    async fn run(mut self) -> Result<(), Failure> {
        let mut aside = Vec::new();
        let ended = self.work(&mut aside).await;
        self.put_back(&mut aside).await;
        ended
    }

    /// Takes and processes until there is no more, or the worker is to stop. What the run gave back before is put aside, to
    /// see whether there is anything else behind it.
    async fn work(&mut self, aside: &mut Vec<Taken>) -> Result<(), Failure> {
        let until_empty = self.back.is_some();
        let wait = if until_empty { Duration::ZERO } else { WAIT };
        let mut looked = false;
        // So much was given back that looking behind it would cost attempts: the rest is for another run, too.
        while *self.stop.borrow() == Stop::No && !aside.first().is_some_and(Taken::is_ageing) {
            let mut stop = self.stop.clone();
            let taken = tokio::select! {
                // What was handed out meanwhile goes back by itself.
                () = reached(&mut stop, Stop::Soon) => break,
                taken = self.site.take(&self.instance, wait) => taken,
            };
            match taken {
                Ok(Some(taken)) if self.back.as_ref().is_some_and(|back| back.has(&taken)) => aside.push(taken),
                Ok(Some(taken)) => {
                    looked = false;
                    self.put_back(aside).await;
                    if self.process(taken).await? == Some(How::Return) && !until_empty {
                        self.pause(NOT_NOW).await;
                    }
                }
                // Somebody may be taking in what applications have left; looking at the queue waits for that.
                Ok(None) if until_empty && !std::mem::replace(&mut looked, true) => {
                    self.site.is_paused().await;
                }
                Ok(None) if until_empty => break,
                Ok(None) => {}
                Err(Trouble::Lasting(failure)) => return Err(failure),
                Err(Trouble::Passing(cause)) => {
                    talk(&format!("{cause}; trying again"));
                    self.pause(AGAIN).await;
                }
            }
        }
        Ok(())
    }

    /// Gives back what was only put aside.
    async fn put_back(&self, aside: &mut Vec<Taken>) {
        for taken in aside.drain(..) {
            self.settle(&taken, &How::Return).await;
        }
    }

    /// Waits, unless the worker is to stop.
    async fn pause(&mut self, time: Duration) {
        // Over either way.
        let _ = tokio::time::timeout(time, reached(&mut self.stop, Stop::Soon)).await;
    }

    /// Runs the command for one delivery and settles it; answers how, or nothing if it was lost.
    async fn process(&mut self, mut taken: Taken) -> Result<Option<How>, Failure> {
        let mut command = match Command::start(&self.command, self.site.queue(), &taken) {
            Ok(command) => command,
            Err(failure) => {
                self.settle(&taken, &How::Return).await;
                return Err(failure);
            }
        };
        let how = match self.supervise(&mut command, &mut taken).await {
            Watched::Lost => {
                talk(&format!("the claim of {} was lost; the command was stopped", taken.name()));
                return Ok(None);
            }
            Watched::Stopped => How::Return,
            Watched::Ended(ended) => how(&ended),
        };
        if let Some(back) = self.back.as_ref().filter(|_| how == How::Return) {
            back.note(&taken);
        }
        self.settle(&taken, &how).await;
        Ok(Some(how))
    }

    /// Keeps the claim while the command runs.
    async fn supervise(&mut self, command: &mut Command, taken: &mut Taken) -> Watched {
        let (mut lost, mut stopped, mut told) = (false, false, None::<Uptime>);
        loop {
            let kill_in = told.map(|told| KILL_AFTER.saturating_sub(told.elapsed()));
            tokio::select! {
                ended = command.ended() => return match (lost, stopped) {
                    (true, _) => Watched::Lost,
                    (false, true) if !ended.is_success() => Watched::Stopped,
                    _ => Watched::Ended(ended),
                },
                () = tokio::time::sleep(taken.beat_in()), if !lost => {
                    let beat = tokio::time::timeout(taken.left(), self.site.beat(taken)).await;
                    lost = matches!(beat, Ok(Beat::Lost)) || taken.left().is_zero();
                    if matches!(beat, Ok(Beat::Limited)) && !std::mem::replace(&mut self.told_limit, true) {
                        let name = taken.name();
                        talk(&format!("{name} cannot be kept longer: max_hold_ms of its queue ends it"));
                    }
                    if lost {
                        command.terminate();
                        told.get_or_insert_with(Uptime::start);
                    }
                }
                () = reached(&mut self.stop, Stop::Now), if !stopped => {
                    stopped = true;
                    command.terminate();
                    told.get_or_insert_with(Uptime::start);
                }
                () = tokio::time::sleep(kill_in.unwrap_or(Duration::MAX)), if told.is_some() => {
                    command.kill();
                    // Once is enough: what does not end now cannot be made to.
                    told = None;
                }
            }
        }
    }

    /// Says how it went, as often as it takes while the claim lives.
    async fn settle(&self, taken: &Taken, how: &How) {
        let name = taken.name();
        loop {
            match self.site.settle(taken, how).await {
                Ok(outcome) if outcome == "stale" => {
                    talk(&format!("{name} was not settled: its time was over, and somebody else may do it again"));
                }
                Ok(outcome) => {
                    if let How::Fail(error) = how {
                        talk(&format!("{name} failed, {outcome}: {}", error.lines().next().unwrap_or_default()));
                    }
                }
                Err(Trouble::Passing(_)) if !taken.left().is_zero() => {
                    tokio::time::sleep(AGAIN.min(taken.left()) / 4).await;
                    continue;
                }
                Err(Trouble::Passing(cause)) => talk(&format!("{name} could not be settled: {cause}")),
                Err(Trouble::Lasting(failure)) => talk(&format!("{name} could not be settled: {}", failure.cause)),
            }
            return;
        }
    }
}

/// Waits until the worker is to stop at least so urgently.
async fn reached(stop: &mut watch::Receiver<Stop>, urgency: Stop) {
    // Whoever could say so is gone only when the whole worker is.
    drop(stop.wait_for(|stop| *stop >= urgency).await.map(drop));
}

/// How watching over a command ended.
enum Watched {
    Ended(Ended),
    /// By the worker's own stop.
    Stopped,
    /// With the claim.
    Lost,
}

/// What an exit code means.
fn how(ended: &Ended) -> How {
    match ended.code {
        Some(0) => How::Ack,
        Some(code) if code == i32::from(run::NOT_GRANTED) => How::Return,
        _ => How::Fail(ended.error()),
    }
}

#[cfg(unix)]
mod signals {
    //! Being told to stop.

    use tokio::signal::unix::{Signal, SignalKind, signal};

    use crate::failure::Failure;

    pub(super) struct Signals {
        interrupt: Signal,
        terminate: Signal,
    }

    impl Signals {
        pub(super) fn listen() -> Result<Signals, Failure> {
            let failed = |error| Failure::failed(format!("failed to listen for signals: {error}"), "start it again");
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
    //! Being told to stop.

    use crate::failure::Failure;

    pub(super) struct Signals;

    impl Signals {
        pub(super) fn listen() -> Result<Signals, Failure> {
            Ok(Signals)
        }

        pub(super) async fn next(&mut self) {
            // Where there are no signals, the system ends us.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
