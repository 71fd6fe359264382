//! Settings that production refuses, because they are dangerous outside a developer's machine.
//!
//! The settings themselves are checked before anything is opened. What the database contains (its own settings,
//! accounts of the demo) is checked once it is open, and before the server accepts requests.

use super::{Environment, Settings, text};
use crate::failure::Failure;

/// A reason why production does not start, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The unsafe setting, as a fragment that begins with the key.
    pub(crate) cause: String,
    /// What to do.
    pub(crate) next: String,
}

impl Problem {
    pub(crate) fn new(cause: impl Into<String>, next: impl Into<String>) -> Problem {
        Problem { cause: cause.into(), next: next.into() }
    }
}

/// Fails with all problems at once, if there are any.
pub(crate) fn refuse(problems: Vec<Problem>) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    let list =
        |part: fn(&Problem) -> &str| problems.iter().map(|one| format!("\n    - {}", part(one))).collect::<String>();
    let cause = format!("production does not start with these settings:{}", list(|one| &one.cause));
    let next = list(|one| &one.next);
    Err(Failure::usage(cause, format!("{next}\n    - or use --env development on a desk")))
}

impl Settings {
    /// Refuses settings that a server does not start with: unsafe ones in production, and a signing secret whose
    /// variable is not set.
    pub(crate) fn check(&self, env: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
        self.check_production()?;
        for endpoint in self.queues.values().filter_map(|queue| queue.push.as_ref()) {
            endpoint.secret(&env)?;
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
    pub(crate) fn production_problems(&self) -> Vec<Problem> {
        if self.environment == Environment::Development {
            return Vec::new();
        }
        let mut problems = Vec::new();
        self.judge_origins(&mut problems);
        self.judge_reach(&mut problems);
        self.judge_database(&mut problems);
        if self.push.allow_private {
            problems.push(Problem::new(
                "push.allow_private lets endpoints set over the API reach every private address",
                "name the networks that are meant in push.allow, and remove push.allow_private",
            ));
        }
        problems
    }

    fn judge_origins(&self, problems: &mut Vec<Problem>) {
        for origin in &self.cors_origins {
            if origin == "*" {
                let cause = "cors_origins has \"*\": every page in the world could call the server";
                problems.push(Problem::new(cause, "list the origins of your pages in cors_origins"));
            } else if text::is_exposed(origin) {
                let cause = format!("cors_origins has {origin}, a page that anybody on the way can change");
                problems.push(Problem::new(cause, "serve that page over https and write https:// in cors_origins"));
            }
        }
    }

    fn judge_reach(&self, problems: &mut Vec<Problem>) {
        let public = self.public_url.as_deref();
        if let Some(url) = public.filter(|url| text::is_exposed(url)) {
            let cause = format!("public_url is {url}: tokens and sessions would travel in the clear");
            problems.push(Problem::new(cause, "serve it over https and write https:// in public_url"));
        }
        let covered = self.behind_proxy || public.is_some_and(|url| url.starts_with("https://"));
        if !text::is_loopback(&self.listen) && !covered {
            let cause =
                format!("listen is {}, which others can reach, and nothing says that HTTPS is in front", self.listen);
            let next =
                "set public_url to the https:// address people use, or behind_proxy = true, or listen on 127.0.0.1";
            problems.push(Problem::new(cause, next));
        }
    }

    fn judge_database(&self, problems: &mut Vec<Problem>) {
        let Some(path) = self.database.strip_prefix("sqlite:") else { return };
        if path.contains(":memory:") {
            let next = "give the database a place that stays, for example sqlite:/var/lib/turno/turno.db";
            problems.push(Problem::new("database is in memory, and gone with the process", next));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::settings;

    fn causes(file: &str) -> Vec<String> {
        let settings = settings(&format!("env = \"production\"\n{file}"));
        settings.production_problems().into_iter().map(|problem| problem.cause).collect()
    }

    #[test]
    fn safe_settings_are_accepted() {
        let safe = [
            "",
            "listen = \"0.0.0.0:80\"\nbehind_proxy = true",
            "listen = \"0.0.0.0:80\"\npublic_url = \"https://turno.example.com\"",
            "cors_origins = [\"https://app.example.com\", \"http://localhost:3000\"]",
            "public_url = \"http://127.0.0.1:7171\"",
            "database = \"postgres://turno@db/turno\"\n[push]\nallow = [\"10.0.0.0/8\"]",
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
            ("[push]\nallow_private = true", "push.allow_private"),
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
        assert_eq!(failure.cause.matches("\n    - ").count(), 3, "{}", failure.cause);
        assert_eq!(failure.next.matches("\n    - ").count(), 4, "one step each, and the way out: {}", failure.next);
    }
}
