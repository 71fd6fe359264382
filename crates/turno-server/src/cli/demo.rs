//! `turno demo`: everything in a temporary place, for whoever gives Turno two minutes.

mod office;
mod supervisor;
mod traffic;

pub(super) use office::DEMO;

use super::output::say;
use super::place::PlaceArgs;
use super::serve::Listen;
use crate::config::{Environment, Limits, LogFormat, Origin, Overrides, Shown};
use crate::database::{self, TemporaryFolder};
use crate::failure::Failure;
use crate::figures;
use crate::http::{App, Server};
use crate::logging;

/// The demo is looked at, not read: only what is wrong.
const LOG_LEVEL: &str = "warn";

/// What the demo takes.
#[derive(clap::Args, Debug)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    listen: Listen,
}

/// Serves until told to stop, then leaves nothing behind.
pub(crate) async fn run(arguments: &DemoArgs, place: &PlaceArgs) -> Result<(), Failure> {
    if place.database_was_typed() {
        return Err(Failure::usage(
            "the demo always uses a fresh temporary database",
            "leave out --database, or use `turno serve --database URL`",
        ));
    }
    let _logging = logging::start(LogFormat::Auto, LOG_LEVEL, None)?;
    figures::installed();
    // Dropped at the very end, after the last answer.
    let folder = TemporaryFolder::create()?;
    let database = database::open(&folder.url()).await?;
    let office = office::open(&database.turno).await.map_err(failed)?;
    let server = Server::bind(&arguments.listen.listen).await?;
    let mut app = App::new(database.clone(), Environment::Development, Limits::default(), server.stopping());
    app.settings = in_force(&folder.url(), &server.address().to_string())?;
    let base = format!("http://{}", server.address());
    let mut lines = vec![
        format!(
            "Turno {} · demo · {}, {} (removed at the end) · stop with Ctrl-C",
            env!("CARGO_PKG_VERSION"),
            database.place.kind,
            database.place.name
        ),
        format!("  console   {base}/   API {base}/docs"),
    ];
    // Each opens once: two windows, two people.
    let who = |person: &office::Entrance| {
        format!("  {:<9} {base}/sign-in?link={}   {}", person.name, person.link, person.what)
    };
    lines.extend(office.entrances.iter().map(who));
    lines.push(
        "  try       1 as Ana, process a task · 2 as Leo, ask for the same one · 3 as Eva, take it away".to_owned(),
    );
    lines.push(format!("  API       curl -H 'Authorization: Bearer {}' {base}/v1/tasks", office.token));
    lines.push(format!("listening on {base}"));
    say(&lines);
    tokio::select! {
        served = server.run(app) => served,
        stopped = traffic::run(database.turno.clone()) => stopped.map_err(failed),
        stopped = office::colleagues(database.turno, office) => stopped.map_err(failed),
    }
}

/// What the console shows as configuration: the defaults, and what the demo brings along instead.
fn in_force(database: &str, listen: &str) -> Result<Vec<Shown>, Failure> {
    let mut rows = crate::config::parse(Overrides::default(), None, |_| None)?.explain().to_vec();
    for (key, value) in [("database", database), ("listen", listen), ("log.level", LOG_LEVEL)] {
        for row in rows.iter_mut().filter(|row| row.key == key) {
            *row = Shown::new(key, value.to_owned(), Origin::Demo);
        }
    }
    Ok(rows)
}

fn failed(error: turno::Error) -> Failure {
    Failure::failed(format!("the demo stopped: {error}"), "start it again")
}
