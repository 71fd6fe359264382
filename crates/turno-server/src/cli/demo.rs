//! `turno demo`: a server with sample data and simulated users, in a temporary place.

mod office;
mod siper;
mod supervisor;
mod traffic;

pub(super) use office::DEMO;

use std::cell::OnceCell;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

use super::global::GlobalArgs;
use super::output::say;
use super::serve::Listen;
use crate::config::{Environment, Limits, LogFormat, Origin, Overrides, Shown};
use crate::database::{self, TemporaryFolder};
use crate::failure::{Failure, io_cause};
use crate::figures;
use crate::http::{App, Server};
use crate::logging;
use crate::texts::causes;
use crate::texts::message::Message;
use crate::texts::terminal::render;

const ABOUT: &str = "\
Everything is in a temporary place and gone at the end. With --database and an
empty database of PostgreSQL, sync is shown with real triggers on a table of
users; drop that database afterwards.";

/// The demo logs warnings and errors only, because visitors read the printed lines.
const LOG_LEVEL: &str = "warn";

/// Arguments of `turno demo`.
#[derive(clap::Args, Debug)]
#[command(after_help = ABOUT)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    listen: Listen,
}

/// Serves until it is asked to stop. The database is in `folder`, which the caller drops when no task uses it any more.
pub(crate) async fn run(
    arguments: &DemoArgs,
    global: &GlobalArgs,
    folder: &OnceCell<TemporaryFolder>,
) -> Result<(), Failure> {
    let postgres = match global.typed_database() {
        None => None,
        Some(url) if url.starts_with("postgres") => Some(url),
        Some(_) => {
            return Err(Failure::usage(Message::new("demo-database")));
        }
    };
    let _logging = logging::start(LogFormat::Auto, LOG_LEVEL, None)?;
    figures::installed();
    let created = TemporaryFolder::create()?;
    let folder = folder.get_or_init(|| created);
    let users = match postgres {
        Some(url) => Some(siper::connect(url).await?),
        None => None,
    };
    let database = database::open(&postgres.map_or_else(|| folder.url(), str::to_owned)).await?;
    let office = office::open(&database.turno).await.map_err(failed)?;
    let server = Server::bind(&arguments.listen.listen).await?;
    let mut app = App::new(database.clone(), Environment::Development, Limits::default(), server.stopping());
    app.settings = settings_rows(&database.place.name, &server.address().to_string())?;
    let module = TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(|error| Failure::failed(Message::new("demo-port").message("cause", io_cause(&error))))?;
    if let Some(users) = &users {
        let source = siper::install(users, &database.turno, &module).await?;
        app.deliveries = siper::deliveries(&source, &database.turno)?;
        app.managed_queues.insert(source.queue.clone());
        app.sync_sources = vec![source];
    }
    let base = format!("http://{}", server.address());
    let end = if users.is_some() { "demo-end-drop" } else { "demo-end-removed" };
    let title = Message::new("demo-title").text("version", env!("CARGO_PKG_VERSION")).text("kind", database.place.kind);
    let title = title.text("place", &database.place.name).message("end", Message::new(end));
    let mut lines = vec![render(&title), render(&Message::new("demo-console").text("url", &base))];
    // Links of the demo stay valid, because visitors close tabs and open the links again.
    app.open_doors = office.entrances.iter().map(|person| (person.link.clone(), person.user.clone())).collect();
    lines.extend(office.entrances.iter().enumerate().map(|(at, person)| entrance(server.address(), at, person)));
    lines.push(render(&Message::new(if users.is_some() { "demo-try-sync" } else { "demo-try" })));
    lines.push(format!("  API       curl -H 'Authorization: Bearer {}' {base}/v1/tasks", office.token));
    // Scripts wait for this line.
    lines.push(format!("listening on {base}"));
    say(&lines);
    tokio::select! {
        served = server.run(app) => served,
        stopped = traffic::run(database.turno.clone(), users.is_none()) => stopped.map_err(failed),
        stopped = synchronise(users, module) => stopped.map_err(failed),
        stopped = office::colleagues(database.turno, office) => stopped.map_err(failed),
    }
}

/// Renders the line with a person's sign-in link. A browser keeps one session per host name, so the first two people
/// get different host names and can be open side by side. The third needs a private window.
fn entrance(address: SocketAddr, at: usize, person: &office::Entrance) -> String {
    let two = address.ip() == Ipv4Addr::LOCALHOST;
    let (host, role) = match (at, two) {
        (0, _) => (address.to_string(), "demo-editor"),
        (1, true) => (format!("localhost:{}", address.port()), "demo-editor-beside"),
        (1, false) => (address.to_string(), "demo-editor-private"),
        _ => (address.to_string(), "demo-admin-private"),
    };
    let role = render(&Message::new(role));
    format!("  {:<9} http://{host}/sign-in?link={}   {role}", person.name, person.link)
}

/// Runs the application and the module on PostgreSQL. On SQLite `traffic` feeds the sync queue instead.
async fn synchronise(users: Option<siper::Siper>, module: TcpListener) -> Result<(), turno::Error> {
    match users {
        None => std::future::pending().await,
        Some(users) => tokio::try_join!(siper::change(users), siper::module(module)).map(drop),
    }
}

/// Returns the settings that the console shows: the defaults, and the demo's own values.
fn settings_rows(database: &str, listen: &str) -> Result<Vec<Shown>, Failure> {
    let mut rows = crate::config::parse(Overrides::default(), None, |_| None)?.explain().to_vec();
    for (key, value) in [("database", database), ("listen", listen), ("log.level", LOG_LEVEL)] {
        for row in rows.iter_mut().filter(|row| row.key == key) {
            *row = Shown::new(key, value.to_owned(), Origin::Demo);
        }
    }
    Ok(rows)
}

fn failed(error: turno::Error) -> Failure {
    Failure::failed(Message::new("demo-stopped").message("cause", causes::message(&error)))
}
