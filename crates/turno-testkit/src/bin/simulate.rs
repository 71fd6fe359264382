//! Runs simulated worlds until enough operations have run, or until an invariant is violated.
//!
//! `simulate [--operations N | --seconds S] [--seed N] [--threads N] [--trace] [--sabotage NAME]`
//!
//! With `--seed` alone it runs one world. With `--operations` or `--seconds` it starts from that seed.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use turno_testkit::sim::{Options, Tally, Violation, run, sabotage, trace};

const USAGE: &str =
    "usage: simulate [--operations N | --seconds S] [--seed N] [--threads N] [--trace] [--sabotage NAME]";

struct Wanted {
    operations: Option<u64>,
    seconds: Option<u64>,
    seed: Option<u64>,
    threads: usize,
    trace: bool,
    options: Options,
}

fn main() -> ExitCode {
    let wanted = match parse(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match wanted.seed {
        Some(seed) if wanted.trace => {
            let (lines, violation) = trace(seed, &wanted.options);
            lines.iter().for_each(|line| println!("{line}"));
            conclude(violation)
        }
        Some(seed) if wanted.operations.is_none() && wanted.seconds.is_none() => {
            let (tally, violation) = run(seed, &wanted.options);
            report(&tally, Duration::ZERO);
            conclude(violation)
        }
        _ => many(&wanted),
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let mut wanted = Wanted {
        operations: None,
        seconds: None,
        seed: None,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        trace: false,
        options: Options::default(),
    };
    while let Some(word) = words.next() {
        let mut number = || {
            let text = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            text.replace('_', "").parse::<u64>().map_err(|_| format!("{word} needs a number, not {text:?}"))
        };
        match word.as_str() {
            "--operations" => wanted.operations = Some(number()?),
            "--seconds" => wanted.seconds = Some(number()?),
            "--seed" => wanted.seed = Some(number()?),
            "--threads" => wanted.threads = number()?.clamp(1, 64) as usize,
            "--trace" => wanted.trace = true,
            "--sabotage" => {
                let name = words.next().unwrap_or_default();
                let known = || sabotage::ALL.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
                let found = sabotage::named(&name);
                wanted.options.sabotage =
                    Some(found.ok_or_else(|| format!("no such sabotage; there are {}", known()))?);
            }
            other => return Err(format!("{other:?} is not understood")),
        }
    }
    if wanted.trace && wanted.seed.is_none() {
        return Err("--trace needs --seed".to_owned());
    }
    Ok(wanted)
}

#[expect(clippy::disallowed_methods, reason = "measures a duration and decides nothing by it")]
fn many(wanted: &Wanted) -> ExitCode {
    let started = Instant::now();
    let enough = wanted.operations.unwrap_or(if wanted.seconds.is_some() { u64::MAX } else { 1_000_000 });
    let limit = wanted.seconds.map_or(Duration::MAX, Duration::from_secs);
    let next = AtomicU64::new(wanted.seed.unwrap_or(1));
    let stop = AtomicBool::new(false);
    let total = Mutex::new((Tally::default(), None::<Violation>, 0));
    std::thread::scope(|scope| {
        for _ in 0..wanted.threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let (tally, violation) = run(seed, &wanted.options);
                    let mut total = total.lock().expect("a panic in a world ends the program");
                    total.0.add(&tally);
                    if violation.is_some() && total.1.is_none() {
                        total.1 = violation;
                    }
                    let shown = started.elapsed().as_secs();
                    if shown > total.2 {
                        total.2 = shown;
                        eprint!("\r{} operations in {} worlds, {shown} s ", grouped(total.0.operations), total.0.seeds);
                    }
                    if total.1.is_some() || total.0.operations >= enough || started.elapsed() >= limit {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let (tally, violation, _) = total.into_inner().expect("every thread has ended");
    eprintln!();
    report(&tally, started.elapsed());
    conclude(violation)
}

fn report(tally: &Tally, took: Duration) {
    let faults = &tally.faults;
    println!("{} operations in {} worlds", grouped(tally.operations), grouped(tally.seeds));
    println!(
        "{} commits, {} waits for a lock, {} redone",
        grouped(tally.commits),
        grouped(tally.waits),
        grouped(tally.redone)
    );
    println!(
        "{} finalizes, {} lines applied and {} failed, {} times pinned; {} events, {} resets of listeners",
        grouped(tally.finalizes),
        grouped(tally.lines_applied),
        grouped(tally.lines_failed),
        grouped(tally.pinned),
        grouped(tally.events),
        grouped(tally.resets)
    );
    println!(
        "faults: {} crashes ({} transactions aborted), {} answers lost, {} calls doubled, {} delayed, {} stalls, clock steps {} forward and {} back, {} failovers ({} commits lost)",
        grouped(faults.crashes),
        grouped(faults.aborted),
        grouped(faults.lost_answers),
        grouped(faults.doubled),
        grouped(faults.delayed),
        grouped(faults.stalls),
        grouped(faults.steps_forward),
        grouped(faults.steps_back),
        grouped(faults.failovers),
        grouped(faults.lost_commits)
    );
    println!("{} s of simulated time", grouped(tally.simulated_ms / 1_000));
    if took > Duration::ZERO {
        let rate = tally.operations as f64 / took.as_secs_f64();
        println!("{} operations/s ({:.1} s)", grouped(rate as u64), took.as_secs_f64());
    }
}

fn conclude(violation: Option<Violation>) -> ExitCode {
    match violation {
        None => {
            println!("0 violations");
            ExitCode::SUCCESS
        }
        Some(violation) => {
            println!("1 violation\n{violation}");
            println!("replay: simulate --seed {} --trace", violation.seed);
            ExitCode::FAILURE
        }
    }
}

/// Formats a number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
