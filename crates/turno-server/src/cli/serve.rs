//! `turno serve`: starts the server with the configured settings.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use turno::access::LinkFor;
use turno::core::access::ChangeRefused;
use turno::core::id::QueueName;
use turno::core::sync::SourceRefused;
use turno::core::time::Span;
use turno::store::PushChange;
use turno::{Error, Options, Turno};

use super::demo::DEMO;
use super::global::{GlobalArgs, options, refused};
use super::healthcheck::local_url;
use super::output::{say, talk};
use crate::config::production;
use crate::config::queue::QueueSettings;
use crate::config::{Environment, Overrides, Settings};
use crate::database;
use crate::deliver::{Deliveries, Guard};
use crate::failure::Failure;
use crate::figures;
use crate::http::{App, Proxies, Server};
use crate::logging;
use crate::oidc::Provider;
use crate::texts::causes;
use crate::texts::message::Message;
use crate::texts::terminal::render;

const EXAMPLES: &str = "\
Examples:
  turno serve                  on sqlite:turno.db, at http://127.0.0.1:7171
  turno serve --database postgres://turno@db/turno --listen 127.0.0.1:8080
  turno serve --config /etc/turno.toml --env production

Once it is ready it prints one line to stdout: listening on http://ADDR.
It ends well on SIGTERM and Ctrl-C. --help shows more options than -h;
`turno config` shows what is in force and from where.";

/// Arguments of `turno serve`: every key of the configuration.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    flags: Overrides,
}

/// The address to listen on.
#[derive(clap::Args, Debug)]
pub(crate) struct Listen {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDR", env = "TURNO_LISTEN", hide_env_values = true, default_value = "127.0.0.1:7171", value_parser = address)]
    pub(crate) listen: String,
}

/// Serves until it is asked to stop. Scripts wait for the line on stdout.
pub(crate) async fn run(arguments: ServeArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let settings = global.settings(arguments.flags)?;
    settings.check(|name| std::env::var(name).ok())?;
    let _logging = logging::start(settings.log.format, &settings.log.level, settings.otlp_endpoint.as_deref())?;
    // Installed before the database opens, because the engine's figures need a recorder.
    figures::installed();
    let database =
        database::open_with(&settings.database, Options { migrate: settings.migrate, ..options(&settings) }).await?;
    if settings.environment == Environment::Production {
        production::refuse(database_problems(&database.turno).await?)?;
    }
    let managed_queues = put_queues(&database.turno, &settings.queues).await?;
    let mut server = Server::bind(&settings.listen).await?;
    if let Some(listen) = &settings.metrics_listen {
        server.bind_figures(listen).await?;
    }
    let mut app = App::new(database.clone(), settings.environment, settings.limits, server.stopping());
    app.language = settings.language;
    app.cors_origins = settings.cors_origins.clone();
    app.behind_proxy = settings.behind_proxy;
    app.proxies = Proxies::new(&settings.trusted_proxies);
    app.https = settings.is_https();
    if settings.behind_proxy && settings.trusted_proxies.is_empty() {
        tracing::warn!("all clients of the proxy count as one source; name the proxy in trusted_proxies");
    }
    app.managed_queues = managed_queues;
    app.settings = settings.explain().to_vec();
    app.sync_sources = settings.sync.clone();
    app.deliveries = deliveries(&settings, &database.turno)?;
    app.oidc = provider(&settings)?;
    invite(&database.turno, &settings, server.address()).await?;
    say(&[format!("listening on http://{}", server.address())]);
    server.run(app).await
}

/// Returns the OpenID provider that the file configures. The provider is asked when the first person signs in.
fn provider(settings: &Settings) -> Result<Option<Provider>, Failure> {
    let Some(oidc) = &settings.oidc else { return Ok(None) };
    let secret = oidc.secret(|name| std::env::var(name).ok())?;
    Provider::new(oidc.clone(), secret, settings.public_url.clone()).map(Some)
}

/// Returns the deliveries that the file configures.
fn deliveries(settings: &Settings, turno: &Turno) -> Result<Deliveries, Failure> {
    let guard = Guard::new(&settings.push, settings.environment);
    let env = |name: &str| std::env::var(name).ok();
    for source in settings.sync.iter().filter(|source| !turno.sync(source.source.clone()).has_triggers()) {
        let refused = SourceRefused::NoTriggers;
        tracing::warn!(source = source.name.as_str(), "its table is not watched: {refused}; {}", refused.next());
    }
    Deliveries::from_settings(guard, &settings.queues, &settings.sync, env, turno)
}

/// Returns the problems of production that only the open database shows.
async fn database_problems(turno: &Turno) -> Result<Vec<Message>, Failure> {
    let mut problems = Vec::new();
    for setting in turno.unsafe_settings().await.map_err(refused)? {
        problems.push(Message::new("production-database").text("setting", setting));
    }
    let mut after = None;
    loop {
        let people = turno.people(after, PEOPLE_PAGE).await.map_err(refused)?;
        let demo = people.iter().filter(|person| person.id.as_str().ends_with(DEMO) && !person.disabled);
        problems.extend(demo.map(|person| Message::new("production-demo-user").text("user", &person.id)));
        let last = people.last().map(|person| person.id.clone());
        if people.len() < PEOPLE_PAGE as usize {
            return Ok(problems);
        }
        after = last;
    }
}

/// Page size when reading people.
const PEOPLE_PAGE: u32 = 500;

/// Applies the queues of the file. The API cannot change them afterwards.
async fn put_queues(
    turno: &Turno,
    queues: &BTreeMap<QueueName, QueueSettings>,
) -> Result<BTreeSet<QueueName>, Failure> {
    for (name, settings) in queues {
        // Removes an endpoint that was set over the API, because the file decides for its queues.
        let put = turno.put_queue_pushed(name.clone(), settings.policy.clone(), PushChange::Remove);
        put.await.map_err(|error| {
            let message = Message::new("queue-policy-refused").text("queue", name);
            Failure::failed(message.message("cause", causes::message(&error)))
        })?;
    }
    Ok(queues.keys().cloned().collect())
}

/// How long the link for the first administrator is valid.
const INVITATION: Span = Span::from_secs(30 * 60);

/// Prints a link for the first administrator, if there is none. The transaction that makes the link checks that,
/// because an administrator can be added at any moment.
async fn invite(turno: &Turno, settings: &Settings, address: SocketAddr) -> Result<(), Failure> {
    if settings.oidc.as_ref().is_some_and(|oidc| oidc.only) {
        // The provider names the administrators, and the password of the setup page would be refused.
        return Ok(());
    }
    let link = match turno.make_link(LinkFor::Setup, INVITATION.into()).await {
        Err(Error::Refused(ChangeRefused::HasAdmin)) => return Ok(()),
        link => link.map_err(refused)?,
    };
    let base = settings.public_url.clone().unwrap_or_else(|| local_url(&address.to_string()));
    talk(&Message::new("setup-needed"));
    talk(&Message::new("setup-link").text("url", format_args!("{base}/setup?link={link}")));
    talk(&Message::new("setup-command"));
    Ok(())
}

/// Checks an address `HOST:PORT`. The host may be a name.
fn address(text: &str) -> Result<String, String> {
    let named = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && !host.contains(':') && port.parse::<u16>().is_ok());
    if named || text.parse::<SocketAddr>().is_ok() {
        return Ok(text.to_string());
    }
    Err(render(&Message::new("argument-address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["127.0.0.1:7171", "[::1]:0", "localhost:80", "0.0.0.0:65535"] {
            assert_eq!(address(good).as_deref(), Ok(good));
        }
        for bad in ["", "7171", ":7171", "localhost", "localhost:70000", "::1:x", "a:b:1"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
