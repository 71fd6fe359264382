//! The cost of a live listener: a real server with thousands of open streams, its memory before and after, and the
//! time that one event takes to reach all of them.
//!
//! The listeners are raw sockets in this process, so that the measured memory is the server's.

use clap::Parser;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use turno::Turno;
use turno::access::{NewPerson, NewToken, Role};
use turno::lease::Action;

/// What a live listener costs.
#[derive(Debug, Parser)]
#[command(name = "turno-listeners")]
struct Args {
    /// The program to measure; build it with `cargo build --profile dist`
    #[arg(long, default_value = "target/dist/turno")]
    server: PathBuf,
    /// How many listen; each takes a file descriptor here and one there (ulimit -n)
    #[arg(long, default_value_t = 5_000)]
    listeners: usize,
}

/// Connections opened at once. More than the system's accept queue would only wait.
const AT_ONCE: usize = 100;
/// The time for the server's work after the last connection.
const SETTLE: Duration = Duration::from_secs(2);
/// The limit for any wait.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let folder = std::env::temp_dir().join(format!("turno-listeners-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(&args, &format!("sqlite:{}", folder.join("turno.db").display())).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(args: &Args, database: &str) -> Result<(), Box<dyn Error>> {
    let turno = Turno::open(database).await?;
    turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    let (_, secret) = turno.create_token(NewToken::for_user("ana")?).await?;
    let server = Server::start(args, database)?;
    // The first listeners cause one-time costs of the server, which do not count.
    drop(listen(&server.address, &secret, AT_ONCE).await?);
    pause().await;
    let before = server.resident_kib()?;
    let mut listeners = listen(&server.address, &secret, args.listeners).await?;
    pause().await;
    let idle = server.resident_kib()?;
    let each = |after: u64| after.saturating_sub(before) as f64 / args.listeners as f64;
    println!(
        "{} listeners, idle: {:.1} KiB each ({before} KiB before, {idle} KiB with them)",
        args.listeners,
        each(idle)
    );
    let reached_all = announce(&turno, &mut listeners).await?;
    pause().await;
    let after = server.resident_kib()?;
    println!("one event reached all of them in {} ms; then {:.1} KiB each", reached_all.as_millis(), each(after));
    Ok(())
}

/// Causes one event and waits until every listener has received it.
async fn announce(turno: &Turno, listeners: &mut [TcpStream]) -> Result<Duration, Box<dyn Error>> {
    let begun = now();
    turno.lease_command(turno.command("caja:1", "ana", Action::Claim { ttl: None, wait: false })?).await?;
    for listener in listeners {
        until(listener, "lease.claimed").await?;
    }
    Ok(begun.elapsed())
}

async fn listen(address: &str, secret: &str, count: usize) -> Result<Vec<TcpStream>, Box<dyn Error>> {
    let request = format!(
        "GET /v1/events?topics=leases,tasks HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {secret}\r\n\r\n"
    );
    let mut listeners = Vec::with_capacity(count);
    while listeners.len() < count {
        let mut joining = Vec::new();
        for _ in 0..AT_ONCE.min(count - listeners.len()) {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(request.as_bytes()).await?;
            joining.push(stream);
        }
        for stream in &mut joining {
            until(stream, "retry: 3000").await?;
        }
        listeners.append(&mut joining);
    }
    Ok(listeners)
}

/// Reads until `text` was received.
async fn until(stream: &mut TcpStream, text: &str) -> Result<(), Box<dyn Error>> {
    let mut heard = Vec::new();
    let mut piece = [0; 2_048];
    while !String::from_utf8_lossy(&heard).contains(text) {
        let size = tokio::time::timeout(LIMIT, stream.read(&mut piece)).await??;
        if size == 0 {
            return Err(format!("the stream ended early: {}", String::from_utf8_lossy(&heard)).into());
        }
        heard.extend_from_slice(&piece[..size]);
    }
    Ok(())
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(args: &Args, database: &str) -> Result<Server, Box<dyn Error>> {
        let mut command = Command::new(&args.server);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("TURNO_DATABASE", database).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", args.server.display()))?;
        let stdout = child.stdout.take().ok_or("no output")?;
        for line in BufReader::new(stdout).lines() {
            if let Some((_, address)) = line?.split_once("listening on http://") {
                return Ok(Server { child, address: address.trim().to_owned() });
            }
        }
        Err("the server ended before it listened".into())
    }

    fn resident_kib(&self) -> Result<u64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS; this needs Linux")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the server is at rest before it is measured.
async fn pause() {
    tokio::time::sleep(SETTLE).await;
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures how long something takes")]
fn now() -> Instant {
    Instant::now()
}
