//! The flags that override the configuration, generated from the list of keys.

use super::key::{KEYS, Key};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::collections::BTreeMap;

/// The values given by flags. `#[command(flatten)]` adds the flags to a command.
///
/// `--database` is not among them: it is an option of every command, and [`Overrides::with`] adds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overrides {
    given: BTreeMap<&'static str, String>,
}

/// A key whose flag every command defines.
const GLOBAL: &str = "database";

impl Overrides {
    /// Adds the value of a key, if there is one.
    pub(crate) fn with(mut self, key: &'static str, value: Option<String>) -> Overrides {
        debug_assert!(KEYS.iter().any(|one| one.name == key), "{key} is no key");
        if let Some(value) = value {
            self.given.insert(key, value);
        }
        self
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.given.get(key).map(String::as_str)
    }
}

fn flags() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.name != GLOBAL)
}

fn arg(key: &'static Key) -> Arg {
    let default = match key.default {
        Some(default) if !default.is_empty() && !key.placeholder.is_empty() => format!(" [default: {default}]"),
        _ => String::new(),
    };
    // A flag `no-…` has the same effect as the variable set to `false`.
    let value = if key.flag.starts_with("no-") { "=false" } else { "" };
    let help = format!("{}{default} [env: {}{value}]", key.help, key.variable);
    // The short help omits the keys of tables, because they are rarely needed.
    let arg = Arg::new(key.name).long(key.flag).help(help).hide_short_help(key.name.contains('.'));
    if key.placeholder.is_empty() {
        return arg.action(ArgAction::SetTrue);
    }
    let list = matches!(key.shape, super::field::Shape::Texts(_));
    arg.value_name(key.placeholder).action(if list { ArgAction::Append } else { ArgAction::Set })
}

impl clap::Args for Overrides {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Overrides::augment_args(command)
    }
}

impl clap::FromArgMatches for Overrides {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Overrides, clap::Error> {
        let mut overrides = Overrides::default();
        overrides.update_from_arg_matches(matches)?;
        Ok(overrides)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for key in flags() {
            let value = if key.placeholder.is_empty() {
                matches.get_flag(key.name).then(|| (!key.flag.starts_with("no-")).to_string())
            } else {
                let all = matches.get_many::<String>(key.name);
                all.map(|all| all.map(String::as_str).collect::<Vec<_>>().join(","))
            };
            if let Some(value) = value {
                self.given.insert(key.name, value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn given(words: &[&str]) -> Overrides {
        let command = Overrides::augment_args(Command::new("turno"));
        command.clone().debug_assert();
        let matches = command.try_get_matches_from([&["turno"], words].concat()).unwrap();
        Overrides::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn only_given_flags_override() {
        assert_eq!(given(&[]), Overrides::default());
        let said = given(&["--no-migrate", "--behind-proxy", "--env", "production", "--limits-requests=7"]);
        assert_eq!(said.get("migrate"), Some("false"));
        assert_eq!(said.get("behind_proxy"), Some("true"));
        assert_eq!(said.get("env"), Some("production"));
        assert_eq!(said.get("limits.requests"), Some("7"));
        assert_eq!(said.get("listen"), None);
    }

    #[test]
    fn a_list_is_given_by_repeating_its_flag() {
        let said = given(&["--cors-origin", "https://a.example", "--cors-origin", "https://b.example"]);
        assert_eq!(said.get("cors_origins"), Some("https://a.example,https://b.example"));
    }
}
