//! Settings that production refuses, because they are dangerous outside a developer's machine.
//!
//! The settings themselves are checked before anything is opened. What the database contains (its own settings,
//! accounts of the demo) is checked once it is open, and before the server accepts requests.

use super::{Environment, Settings, text};
use crate::failure::Failure;
use crate::texts::message::Message;
use std::collections::BTreeSet;
use turno::store::PostgresUrl;

/// Fails with all problems at once, if there are any. Each message says what is unsafe, and what to do about it.
pub(crate) fn refuse(problems: Vec<Message>) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    let steps = problems.iter().map(Message::next).chain([Message::new("production-leave")]);
    // Every entry begins a line, the first one, too.
    let list = |entries: Vec<Message>| [vec![Message::verbatim("")], entries].concat();
    let message = Message::new("production-unsafe").list("steps", list(steps.collect()), ENTRY);
    Err(Failure::usage(message.list("causes", list(problems), ENTRY)))
}

/// Begins an entry of the list of problems.
const ENTRY: &str = "\n    - ";

impl Settings {
    /// Returns whether browsers reach the server by HTTPS.
    pub(crate) fn is_https(&self) -> bool {
        match &self.public_url {
            Some(url) => url.starts_with("https://"),
            None => self.behind_proxy,
        }
    }

    /// Refuses settings that a server does not start with: unsafe ones in production, and a signing secret whose
    /// variable is not set.
    pub(crate) fn check(&self, env: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
        self.check_production()?;
        for endpoint in self.queues.values().filter_map(|queue| queue.push.as_ref()) {
            endpoint.secret(&env)?;
        }
        if let Some(oidc) = &self.oidc {
            oidc.secret(&env)?;
        }
        // A preset's destination is an example. Without its secret the server does not use it, and the log reports
        // that.
        for source in self.sync.iter().filter(|source| !source.deliver_is_presets) {
            if let Some(endpoint) = &source.deliver {
                endpoint.secret(&env)?;
            }
        }
        Ok(())
    }

    /// Refuses unsafe settings in production. Accepts everything in development.
    pub(super) fn check_production(&self) -> Result<(), Failure> {
        refuse(self.production_problems())
    }

    /// Returns the problems in production, and none in development.
    pub(crate) fn production_problems(&self) -> Vec<Message> {
        if self.environment == Environment::Development {
            return Vec::new();
        }
        let mut problems = Vec::new();
        self.judge_origins(&mut problems);
        self.judge_reach(&mut problems);
        self.judge_database(&mut problems);
        if let Some(oidc) = self.oidc.as_ref().filter(|oidc| text::is_exposed(&oidc.issuer)) {
            problems.push(Message::new("production-oidc-http").text("url", &oidc.issuer));
        }
        if self.push.allow_private {
            problems.push(Message::new("production-push-private"));
        }
        problems
    }

    fn judge_origins(&self, problems: &mut Vec<Message>) {
        for origin in &self.cors_origins {
            if origin == "*" {
                problems.push(Message::new("production-cors-all"));
            } else if text::is_exposed(origin) {
                problems.push(Message::new("production-cors-http").text("origin", origin));
            }
        }
    }

    fn judge_reach(&self, problems: &mut Vec<Message>) {
        let public = self.public_url.as_deref();
        if let Some(url) = public.filter(|url| text::is_exposed(url)) {
            problems.push(Message::new("production-url-http").text("url", url));
        }
        let covered = self.behind_proxy || public.is_some_and(|url| url.starts_with("https://"));
        if !text::is_loopback(&self.listen) && !covered {
            problems.push(Message::new("production-listen").text("address", &self.listen));
        }
    }

    fn judge_database(&self, problems: &mut Vec<Message>) {
        if let Some(path) = self.database.strip_prefix("sqlite:") {
            if path.contains(":memory:") {
                problems.push(Message::new("production-memory"));
            }
            return;
        }
        let urls = [Some(&self.database), self.database_direct.as_ref()].into_iter().flatten();
        let parsed = urls.filter_map(|url| PostgresUrl::parse(url).ok());
        let hosts: BTreeSet<String> = parsed.flat_map(|url| url.plaintext_hosts()).collect();
        if !hosts.is_empty() && !self.database_plaintext {
            let hosts: Vec<String> = hosts.into_iter().collect();
            problems.push(Message::new("production-plaintext").text("hosts", hosts.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::settings;
    use crate::texts::terminal::render;

    fn causes(file: &str) -> Vec<String> {
        let settings = settings(&format!("env = \"production\"\n{file}"));
        settings.production_problems().into_iter().map(|problem| render(&problem)).collect()
    }

    #[test]
    fn safe_settings_are_accepted() {
        let safe = [
            "",
            "listen = \"0.0.0.0:80\"\nbehind_proxy = true",
            "listen = \"0.0.0.0:80\"\npublic_url = \"https://turno.example.com\"",
            "cors_origins = [\"https://app.example.com\", \"http://localhost:3000\"]",
            "public_url = \"http://127.0.0.1:7171\"",
            "database = \"postgres://turno@db/turno?sslmode=require\"\n[push]\nallow = [\"10.0.0.0/8\"]",
            "database = \"postgres://turno@db/turno\"\ndatabase_plaintext = true",
            "database = \"postgres://turno@localhost/turno\"",
            "database = \"host=/run/postgresql dbname=turno\"",
        ];
        for file in safe {
            assert_eq!(causes(file), Vec::<String>::new(), "{file}");
        }
    }

    #[test]
    fn each_unsafe_setting_is_named() {
        let cases = [
            ("cors_origins = [\"*\"]", "cors_origins has \"*\""),
            ("cors_origins = [\"http://app.example.com\"]", "cors_origins has http://app.example.com"),
            ("listen = \"0.0.0.0:7171\"", "listen is 0.0.0.0:7171"),
            ("listen = \"[::]:7171\"", "listen is [::]:7171"),
            ("public_url = \"http://turno.example.com\"\nbehind_proxy = true", "public_url is http://turno"),
            ("database = \"sqlite::memory:\"", "in memory"),
            ("database = \"postgres://ana:s3cret@db,localhost/turno\"", "db is reached without TLS"),
            (
                "database = \"postgres://localhost/turno\"\ndatabase_direct = \"host=db sslmode=prefer\"",
                "db is reached without TLS",
            ),
            ("[push]\nallow_private = true", "push.allow_private"),
            (
                "[oidc]\nissuer = \"http://id.example.com\"\nclient_id = \"turno\"\nclient_secret_env = \"S\"\n\
                 roles = { staff = \"editor\" }",
                "oidc.issuer is http://id.example.com",
            ),
        ];
        for (file, cause) in cases {
            let found = causes(file);
            assert!(found.len() == 1 && found[0].contains(cause), "{file}: {found:?}");
        }
    }

    #[test]
    fn all_problems_are_reported_at_once_and_only_in_production() {
        let file = "listen = \"0.0.0.0:1\"\ncors_origins = [\"*\"]\n[push]\nallow_private = true";
        assert!(settings(file).check_production().is_ok());
        let failure = settings(&format!("env = \"production\"\n{file}")).check_production().unwrap_err();
        assert_eq!(failure.cause().matches("\n    - ").count(), 3, "{}", failure.cause());
        assert_eq!(failure.next().matches("\n    - ").count(), 4, "one step each, and the way out: {}", failure.next());
    }
}
