//! The definition of the command line in the reader's language.
//!
//! The definition contains the English texts. Spanish ones are in `locales/help.*` and `locales/examples.*`, by the path of
//! the command and the id of the argument: `help-lease-claim`, `help-lease-claim--ttl`. An argument that several commands
//! share has a shorter path: `help-lease--json`, `help--server`. Texts that clap generates are replaced in its output.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, value_parser};

use super::Cli;
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::{Language, terminal};

/// The widest line, as wide as a common terminal.
const WIDEST: usize = 80;

/// Returns the definition of all commands, in the reader's language.
pub(super) fn command() -> Command {
    let command = Cli::command().max_term_width(WIDEST).mut_subcommand("demo", demo_options);
    match terminal::language() {
        Language::English => command,
        Language::Spanish => translate_command(command, "turno", &terminal::find),
    }
}

/// Redefines the global options for the demo, which reads neither variables nor files.
fn demo_options(demo: Command) -> Command {
    let heading = "Global options";
    let database = Arg::new("database").long("database").value_name("URL").help_heading(heading);
    // The same type as elsewhere, because every command reads this option in the same way.
    let config = Arg::new("config").long("config").value_name("FILE").value_parser(value_parser!(PathBuf));
    let config = config.hide(true).help("Not used by the demo");
    demo.arg(database.help("An empty database of PostgreSQL, to show sync with real triggers")).arg(config)
}

/// Finds a message of the reader's language.
type Find<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Translates a command and its subcommands. `path` joins the names of the commands with dashes.
fn translate_command(mut command: Command, path: &str, find: Find<'_>) -> Command {
    let id = command_id(path);
    if let Some(about) = find(&id) {
        command = command.about(about);
    }
    if let Some(about) = find(&format!("{id}.long")).filter(|_| command.get_long_about().is_some()) {
        command = command.long_about(about);
    }
    if let Some(examples) = find(&format!("examples-{path}")).filter(|_| command.get_after_help().is_some()) {
        command = command.after_help(examples);
    }
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = command.mut_args(|option| translate_option(option, path, find));
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| translate_command(inner, &format!("{path}-{name}"), find))
    })
}

/// Returns the id of the help of a command.
fn command_id(path: &str) -> String {
    format!("help-{}", path.strip_prefix("turno-").unwrap_or(path))
}

/// Returns the ids of the help of an argument, the most specific one first.
fn argument_ids(argument: &Arg, path: &str) -> Vec<String> {
    let name = argument.get_id().as_str().replace(['_', '.'], "-");
    let words: Vec<&str> = path.split('-').skip(1).collect();
    let paths = (0..=words.len()).rev().map(|count| words[..count].join("-"));
    paths.map(|path| format!("help-{path}--{name}").replace("---", "--")).collect()
}

fn translate_option(option: Arg, path: &str, find: Find<'_>) -> Arg {
    let option = match option.get_help_heading().and_then(heading) {
        Some(heading) => option.help_heading(heading),
        None => option,
    };
    let ids = argument_ids(&option, path);
    let Some((id, text)) = ids.iter().find_map(|id| Some((id, find(id)?))) else { return option };
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let brackets = translate_brackets(&help, find(&format!("{id}.default")));
    // clap would render the default in English. Replacing it afterwards would break the line wrapping.
    let defaults: Vec<_> = option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    match defaults.is_empty() || option.is_hide_default_value_set() {
        true => option.help(text + &brackets),
        false => {
            let default = format!(" {DEFAULT}{}]", defaults.join(" "));
            option.help(text + &brackets + &default).hide_default_value(true)
        }
    }
}

/// Translates the brackets after the sentence: `[default: …]`, whose value may be in words, and `[env: …]`.
fn translate_brackets(help: &str, default: Option<String>) -> String {
    let brackets = help.split(" [").skip(1).map(|bracket| {
        match bracket.strip_prefix("default: ").and_then(|rest| rest.strip_suffix(']')) {
            Some(english) => format!(" {DEFAULT}{}]", default.as_deref().unwrap_or(english)),
            None => format!(" [{bracket}"),
        }
    });
    brackets.collect()
}

/// Translates the heading of a group of options. clap requires a static text.
fn heading(english: &str) -> Option<&'static str> {
    match english {
        "Global options" => Some("Opciones de todos los comandos"),
        "Server" => Some("Servidor"),
        "Policy" => Some("Política"),
        "Push" => Some("Envío"),
        _ => None,
    }
}

/// Prints the requested help, or reports what is wrong with the arguments.
pub(super) fn end(error: &clap::Error) -> Result<ExitCode, Failure> {
    if let Some(failure) = below_zero(error) {
        return Err(failure);
    }
    match terminal::language() {
        Language::English => error.exit(),
        Language::Spanish => {
            let text = if error.use_stderr() { render_error(error) } else { replace_words(&error.to_string()) };
            // A closed stream is ignored.
            let _ = if error.use_stderr() {
                std::io::stderr().write_all(text.as_bytes())
            } else {
                std::io::stdout().write_all(text.as_bytes())
            };
            Ok(u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from))
        }
    }
}

/// Explains a negative number. clap takes it for an option and advises how to pass it, but no value here is negative.
fn below_zero(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    let digit = given.strip_prefix('-')?.starts_with(|one: char| one.is_ascii_digit());
    (error.kind() == ErrorKind::UnknownArgument && digit)
        .then(|| Failure::usage(Message::new("argument-negative").text("value", given)))
}

const DEFAULT: &str = "[por omisión: ";
/// Texts that clap generates in a page of help.
const CLAPS: [(&str, &str); 13] = [
    ("Usage:", "Uso:"),
    ("\nCommands:", "\nComandos:"),
    ("\nOptions:", "\nOpciones:"),
    ("\nArguments:", "\nArgumentos:"),
    ("[OPTIONS]", "[OPCIONES]"),
    ("[COMMAND]", "[COMANDO]"),
    ("<COMMAND>", "<COMANDO>"),
    ("[possible values: ", "[valores: "),
    ("Print help (see more with '--help')", "Muestra la ayuda (más con '--help')"),
    ("Print help (see a summary with '-h')", "Muestra la ayuda (resumida con '-h')"),
    ("Print help", "Muestra la ayuda"),
    ("Print version", "Muestra la versión"),
    ("Print this message or the help of the given subcommand(s)", "Muestra esta ayuda o la de un comando"),
];

fn replace_words(text: &str) -> String {
    let text = format!("{}\n", text.trim_end());
    CLAPS.iter().fold(text, |text, (english, spanish)| text.replace(english, spanish))
}

/// Renders an error of clap in Spanish, from its kind and its data.
fn render_error(error: &clap::Error) -> String {
    let text = |kind| error.get(kind).map(context_text).unwrap_or_default();
    let (argument, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let prior = text(ContextKind::PriorArg);
    let id = match error.kind() {
        ErrorKind::UnknownArgument => "clap-unknown-argument",
        ErrorKind::InvalidSubcommand => "clap-unknown-command",
        ErrorKind::MissingRequiredArgument => "clap-missing-argument",
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "clap-missing-command",
        ErrorKind::InvalidValue if value.is_empty() => "clap-missing-value",
        ErrorKind::InvalidValue => "clap-invalid-value",
        ErrorKind::ValueValidation => "clap-refused-value",
        ErrorKind::ArgumentConflict if prior.is_empty() || prior == argument => "clap-repeated-argument",
        ErrorKind::ArgumentConflict => "clap-conflict",
        _ => "clap-other",
    };
    let cause = std::error::Error::source(error).map_or_else(|| error.kind().to_string(), ToString::to_string);
    let message = Message::new(id).text("argument", argument).text("value", value).text("other", prior);
    let message = message.text("command", text(ContextKind::InvalidSubcommand)).text("cause", cause);
    let mut lines = vec![format!("error: {}", terminal::render(&message))];
    let hints = [
        (ContextKind::ValidValue, "clap-valid-values"),
        (ContextKind::ValidSubcommand, "clap-valid-commands"),
        (ContextKind::SuggestedArg, "clap-meant"),
        (ContextKind::SuggestedSubcommand, "clap-meant"),
        (ContextKind::SuggestedValue, "clap-meant"),
    ];
    let hints = hints.into_iter().map(|(kind, id)| (text(kind), id)).filter(|(names, _)| !names.is_empty());
    lines.extend(hints.map(|(names, id)| format!("  {}", terminal::render(&Message::new(id).text("names", names)))));
    if let Some(usage) = error.get(ContextKind::Usage) {
        lines.push(format!("\n{}", replace_words(&usage.to_string()).trim_end()));
    }
    lines.push(format!("\n{}\n", terminal::render(&Message::new("clap-more"))));
    lines.join("\n")
}

fn context_text(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(texts) => texts.join(", "),
        ContextValue::StyledStrs(texts) => texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        ContextValue::None => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Texts;
    use clap::FromArgMatches;
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use crate::cli::global::GlobalArgs;

    const FILE: &str = include_str!("../../locales/help.es.ftl");

    /// The Spanish messages, and what the definition asks for.
    struct Walk {
        texts: Texts,
        /// The English text of each Spanish message in use.
        used: BTreeMap<String, String>,
        missing: Vec<String>,
    }

    impl Walk {
        fn find(&self, id: &str) -> Option<String> {
            let none = fluent_bundle::FluentArgs::new();
            self.texts.find(Language::Spanish, id, &none).map(std::borrow::Cow::into_owned)
        }

        /// Notes which message translates this text. One message may translate one English text only.
        fn note(&mut self, ids: &[String], english: &str) {
            match ids.iter().find(|id| self.find(id).is_some()) {
                None => self.missing.push(format!("{} = {english}", ids[0])),
                Some(id) => {
                    let known = self.used.entry(id.clone()).or_insert_with(|| english.to_owned());
                    assert_eq!(known, english, "{id} would translate both; add {}", ids[0]);
                }
            }
        }

        fn look(&mut self, command: &Command, path: &str) {
            let id = command_id(path);
            self.note(std::slice::from_ref(&id), &command.get_about().map(ToString::to_string).unwrap_or_default());
            if let Some(about) = command.get_long_about().map(ToString::to_string) {
                self.note(&[format!("{id}.long")], &about);
            }
            for option in command.get_arguments() {
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                let mut parts = help.split(" [");
                let ids = argument_ids(option, path);
                self.note(&ids, parts.next().unwrap_or_default());
                let mut defaults = parts.filter_map(|part| part.strip_prefix("default: ")?.strip_suffix(']'));
                // Only defaults in words: a plain value is the same in every language.
                if let Some(words) = defaults.next().filter(|default| default.contains(' ')) {
                    let found = ids.iter().find(|id| self.find(id).is_some()).unwrap_or(&ids[0]);
                    self.note(&[format!("{found}.default")], words);
                }
                let heading = option.get_help_heading().is_none_or(|english| heading(english).is_some());
                assert!(heading, "{path} {}", option.get_id());
            }
            if command.get_after_help().is_some() {
                let examples = self.find(&format!("examples-{path}"));
                let examples = examples.unwrap_or_else(|| panic!("{path} in locales/examples.es.ftl"));
                assert!(examples.lines().all(|line| line.chars().count() <= WIDEST), "{path}: {examples}");
            }
            command.get_subcommands().for_each(|inner| self.look(inner, &format!("{path}-{}", inner.get_name())));
        }
    }

    #[test]
    fn every_command_and_option_has_spanish_help() {
        let texts = Texts::load_terminal(Language::Spanish);
        let mut walk = Walk { texts, used: BTreeMap::new(), missing: Vec::new() };
        walk.look(&command(), "turno");
        assert!(walk.missing.is_empty(), "add them to locales/help.es.ftl:\n{}", walk.missing.join("\n"));
        let ids = FILE.lines().filter(|line| line.starts_with("help-"));
        let ids: BTreeSet<&str> = ids.filter_map(|line| line.split_once(" =")).map(|(id, _)| id).collect();
        let unused: Vec<_> = ids.iter().filter(|id| !walk.used.contains_key(**id)).collect();
        assert!(unused.is_empty(), "no command has these: {unused:?}");
    }

    /// Collects the words that lead to each command.
    fn typed(command: &Command, path: &[String], found: &mut Vec<Vec<String>>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let path = [path, &[inner.get_name().to_owned()]].concat();
            typed(inner, &path, found);
            found.push(path);
        }
    }

    #[test]
    fn every_command_takes_the_options_of_all_commands() {
        let mut commands = Vec::new();
        typed(&command(), &["turno".to_owned()], &mut commands);
        assert!(commands.len() > 60, "{}", commands.len());
        let global = ["--database", "postgres://db/turno", "--config", "turno.toml"].map(str::to_owned);
        for words in commands {
            // Other required arguments are missing here; clap still parses the given ones.
            let matches = command().ignore_errors(true).try_get_matches_from([words.clone(), global.to_vec()].concat());
            let matches = matches.unwrap_or_else(|error| panic!("{words:?}: {error}"));
            let parsed = GlobalArgs::from_arg_matches(&matches).unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert_eq!(parsed.typed_database(), Some("postgres://db/turno"), "{words:?}");
            assert_eq!(parsed.typed_config(), Some(Path::new("turno.toml")), "{words:?}");
        }
    }

    #[test]
    fn no_help_is_wider_than_a_common_terminal() {
        fn look(command: &mut Command, path: &str) {
            for help in [command.render_help(), command.render_long_help()] {
                for line in help.to_string().lines() {
                    assert!(line.chars().count() <= WIDEST || !line.contains(' '), "{path}: {line}");
                }
            }
            for inner in command.get_subcommands_mut() {
                let path = format!("{path} {}", inner.get_name());
                look(inner, &path);
            }
        }
        let mut command = command();
        command.build();
        look(&mut command, "turno");
    }
}
