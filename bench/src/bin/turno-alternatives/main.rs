//! Compares ways for several instances to share an inbox on one PostgreSQL: what a team writes by hand, alternatives,
//! and Turno.
//!
//! One run answers four questions: how many records per second are processed, how many attempts are wasted, what
//! happens when an instance dies in the middle of a batch, and what happens when it hangs with an open connection.
//! The load shares the machine's cores with the database, so only rates of one run can be compared.

mod board;
mod way;

use board::{Board, Fate};
use clap::Parser;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::{Client, NoTls};
use turno_testkit::postgres::{Cluster, Settings};
use way::{Instance, Way};

/// The error of a failed measurement.
type BoxError = Box<dyn Error + Send + Sync>;
/// A measurement or its error.
type Outcome<T> = Result<T, BoxError>;

/// How long a run may stand still before it counts as finished.
const PATIENCE: Duration = Duration::from_secs(6);

/// Ways for several instances to share an inbox, measured beside each other
#[derive(Debug, Parser)]
#[command(name = "turno-alternatives")]
struct Args {
    /// Records in the inbox
    #[arg(long, default_value_t = 2_000)]
    records: usize,
    /// Instances of the application
    #[arg(long, default_value_t = 4)]
    instances: usize,
    /// Records that an instance takes at a time
    #[arg(long, default_value_t = 10)]
    batch: usize,
    /// How long the web service takes for one, where it takes anything
    #[arg(long, default_value_t = 2)]
    work_ms: u64,
    /// Only this way: its number, from 1
    #[arg(long)]
    only: Option<usize>,
    /// Rounds; of the rates, the best one counts
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

/// The results of one way.
#[derive(Default)]
struct Row {
    plain: f64,
    working: f64,
    wasted: f64,
    doubled: usize,
    dead: String,
    hung: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    match measure(&args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("failed to measure: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(args: &Args) -> Outcome<()> {
    if args.instances < 2 || args.batch == 0 || args.records < args.instances * args.batch * 4 || args.runs == 0 {
        return Err("there must be two instances at least, and several batches for each".into());
    }
    let cluster = Cluster::start_with(Settings::bench())?;
    println!(
        "{} instances, {} records, {} at a time; the service takes {} ms where it says so; best of {}\n",
        args.instances, args.records, args.batch, args.work_ms, args.runs
    );
    println!("| way | no work | with work | wasted | called twice | an instance dies | an instance hangs |");
    println!("|---|---|---|---|---|---|---|");
    let chosen = |index: usize| args.only.is_none_or(|only| only == index + 1);
    for (_, way) in Way::ALL.into_iter().enumerate().filter(|(index, _)| chosen(*index)) {
        let mut row = Row::default();
        for round in 1..=args.runs {
            eprintln!("{way:?}, round {round}/{}", args.runs);
            let plain = Run::new(&cluster, args, way, Duration::ZERO).await?.through(None).await?;
            let work = Duration::from_millis(args.work_ms);
            let working = Run::new(&cluster, args, way, work).await?.through(None).await?;
            row.plain = row.plain.max(plain.rate(args.records));
            row.working = row.working.max(working.rate(args.records));
            row.wasted = row.wasted.max(working.board.wasted() as f64 * 1_000.0 / args.records as f64);
            row.doubled += plain.board.doubled() + working.board.doubled();
        }
        let work = Duration::from_millis(args.work_ms);
        row.dead = Run::new(&cluster, args, way, work).await?.through(Some(Fate::Dead)).await?.describe();
        row.hung = Run::new(&cluster, args, way, work).await?.through(Some(Fate::Hung)).await?.describe();
        let Row { plain, working, wasted, doubled, dead, hung } = row;
        println!("| {} | {plain:.0}/s | {working:.0}/s | {wasted:.0} | {doubled} | {dead} | {hung} |", way.name());
    }
    println!("\nwasted: attempts that got nothing, in 1,000 records, with work; the largest of all rounds");
    Ok(())
}

/// One inbox that is processed.
struct Run<'a> {
    args: &'a Args,
    way: Way,
    url: String,
    board: Arc<Board>,
}

/// The result of one run.
struct Seen {
    board: Arc<Board>,
    took: Duration,
    /// When the instance died or hung.
    since: Option<Duration>,
}

impl Run<'_> {
    async fn new<'a>(cluster: &Cluster, args: &'a Args, way: Way, work: Duration) -> Outcome<Run<'a>> {
        let url = cluster.fresh_database().await;
        way.fill(&url, args.records).await?;
        Ok(Run { args, way, url, board: Arc::new(Board::new(args.records, work)) })
    }

    /// Processes the inbox. The fault hits the first instance after a quarter of the records.
    async fn through(self, fate: Option<Fate>) -> Outcome<Seen> {
        let Run { args, way, url, board } = self;
        let mut instances = Vec::new();
        for number in 0..args.instances {
            instances.push(Instance::start(way, &url, number, args.instances, args.batch, board.clone()).await?);
        }
        let began = board.elapsed();
        let tasks: Vec<_> = instances.into_iter().map(|instance| tokio::spawn(instance.run())).collect();
        let mut since = None;
        let (mut done, mut last) = (0, board.elapsed());
        while done < args.records && board.elapsed().saturating_sub(last) < PATIENCE {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let now = board.processed();
            if now > done {
                (done, last) = (now, board.elapsed());
            }
            if let Some(fate) = fate.filter(|_| since.is_none() && done >= args.records / 4) {
                board.strike(fate);
                since = Some(board.elapsed());
            }
        }
        board.strike_all();
        for task in tasks {
            task.abort();
            // An aborted task is expected; an error before that is reported.
            if let Ok(ended) = task.await {
                ended?;
            }
        }
        Ok(Seen { took: last.saturating_sub(began), board, since })
    }
}

impl Seen {
    fn rate(&self, records: usize) -> f64 {
        records as f64 / self.took.as_secs_f64()
    }

    /// Describes what happened to the records after an instance was lost.
    fn describe(&self) -> String {
        let left = self.board.left();
        let since = self.since.unwrap_or_default();
        let back = self.board.back().map(|at| at.saturating_sub(since));
        match (left, back) {
            (0, Some(back)) => format!("all done; what it had, after {:.1} s", back.as_secs_f64()),
            (0, None) => "all done; it had nothing".to_owned(),
            (left, _) => format!("{left} never done"),
        }
    }
}

/// Opens a connection and drives it in its own task.
async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
