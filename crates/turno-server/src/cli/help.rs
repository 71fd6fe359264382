//! The definition of the command line in the reader's language.
//!
//! The definition contains the English texts. For Spanish, each text is replaced: `locales/help.*.ftl` has the help of
//! commands and options, `locales/examples.es.ftl` the examples. Texts that clap generates are replaced in its output.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, value_parser};

use super::Cli;
use crate::failure::Failure;
use crate::texts::{Language, terminal};

/// The widest line, as wide as a common terminal.
const WIDEST: usize = 80;

/// Returns the definition of all commands, in the reader's language.
pub(super) fn command() -> Command {
    let command = Cli::command().max_term_width(WIDEST).mut_subcommand("demo", demo_options);
    match terminal::language() {
        Language::English => command,
        Language::Spanish => translate_command(command, "turno"),
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

fn translate_command(mut command: Command, path: &str) -> Command {
    if let Some(about) = command.get_about().map(ToString::to_string) {
        command = command.about(terminal::help(&about));
    }
    if let Some(about) = command.get_long_about().map(ToString::to_string) {
        command = command.long_about(about.split("\n\n").map(terminal::help).collect::<Vec<_>>().join("\n\n"));
    }
    if command.get_after_help().is_some()
        && let Some(examples) = terminal::examples(path)
    {
        command = command.after_help(examples);
    }
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = command.mut_args(translate_option);
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| translate_command(inner, &format!("{path}-{name}")))
    })
}

fn translate_option(option: Arg) -> Arg {
    let (help, heading) = (option.get_help().map(ToString::to_string), option.get_help_heading().and_then(heading));
    // clap would render the default in English. Replacing it afterwards would break the line wrapping.
    let defaults: Vec<_> = option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = (!defaults.is_empty() && !option.is_hide_default_value_set())
        .then(|| format!(" {DEFAULT}{}]", defaults.join(" ")));
    let option = match (help, default) {
        (Some(help), Some(default)) => option.help(translate_help(&help) + &default).hide_default_value(true),
        (Some(help), None) => option.help(translate_help(&help)),
        (None, _) => option,
    };
    match heading {
        Some(heading) => option.help_heading(heading),
        None => option,
    }
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

/// Translates the help of an option. Defaults and variables in brackets are no part of the sentence.
fn translate_help(help: &str) -> String {
    let (sentence, brackets) = help.split_once(" [").unwrap_or((help, ""));
    let within = |bracket: &str| match bracket.strip_prefix("default: ").and_then(|rest| rest.strip_suffix(']')) {
        Some(default) => format!(" {DEFAULT}{}]", terminal::help(default)),
        None => format!(" [{bracket}"),
    };
    let brackets = brackets.split(" [").filter(|bracket| !bracket.is_empty()).map(within);
    terminal::help(sentence) + &brackets.collect::<String>()
}

/// Prints the requested help, or reports what is wrong with the arguments.
pub(super) fn end(error: &clap::Error) -> Result<ExitCode, Failure> {
    if let Some(failure) = below_zero(error) {
        return Err(failure);
    }
    match terminal::language() {
        Language::English => error.exit(),
        Language::Spanish => {
            let text = clap_in_spanish(&error.to_string(), error.use_stderr());
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
    (error.kind() == ErrorKind::UnknownArgument && digit).then(|| {
        Failure::usage(
            format!("{given} was taken for an option, and there is none of that name"),
            "write a value of 0 or more; what is to begin with a dash stands behind --, as in: turno queue enqueue QUEUE -- -5",
        )
    })
}

const DEFAULT: &str = "[por omisión: ";
/// Texts that clap generates in a page of help.
const CLAPS: [(&str, &str); 14] = [
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
    ("For more information, try '--help'.", "Para saber más, pruebe '--help'."),
];

fn clap_in_spanish(text: &str, is_error: bool) -> String {
    let text = if is_error { terminal::translate(text) } else { text.to_owned() };
    let text = format!("{}\n", text.trim_end());
    CLAPS.iter().fold(text, |text, (english, spanish)| text.replace(english, spanish))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::terminal::tests::{examples_in_spanish, help_in_spanish, helps};
    use clap::FromArgMatches;
    use std::collections::BTreeSet;
    use std::path::Path;

    use crate::cli::global::GlobalArgs;

    /// Collects every text of the definition: help of commands and options, and the paths of commands with examples.
    fn texts(command: &Command, path: &str, translate_help: &mut BTreeSet<String>, below: &mut BTreeSet<String>) {
        let about = command.get_about().into_iter().chain(command.get_long_about()).map(ToString::to_string);
        translate_help.extend(about.flat_map(|about| about.split("\n\n").map(str::to_owned).collect::<Vec<_>>()));
        for option in command.get_arguments() {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            let (sentence, brackets) = help.split_once(" [").unwrap_or((&help, ""));
            translate_help.insert(sentence.to_owned());
            let default = |bracket: &str| bracket.strip_prefix("default: ")?.strip_suffix(']').map(str::to_owned);
            // Only defaults in words: a plain value is the same in every language.
            translate_help.extend(brackets.split(" [").filter_map(default).filter(|text| text.contains(' ')));
            assert!(
                option.get_help_heading().is_none_or(|english| heading(english).is_some()),
                "{path} {}",
                option.get_id()
            );
        }
        if command.get_after_help().is_some() {
            below.insert(path.to_owned());
        }
        command
            .get_subcommands()
            .for_each(|inner| texts(inner, &format!("{path}-{}", inner.get_name()), translate_help, below));
    }

    #[test]
    fn every_command_and_option_has_spanish_help() {
        let (mut translate_help, mut below) = (BTreeSet::new(), BTreeSet::new());
        texts(&command(), "turno", &mut translate_help, &mut below);
        let missing: Vec<_> = translate_help.iter().filter(|text| help_in_spanish(text).is_none()).collect();
        assert!(missing.is_empty(), "add them to locales/help.*.ftl: {missing:#?}");
        let orphans: Vec<_> = helps().filter(|text| !translate_help.contains(text)).collect();
        assert!(orphans.is_empty(), "these help texts are unused: {orphans:#?}");
        for path in below {
            let examples = examples_in_spanish(&path).unwrap_or_else(|| panic!("{path} in locales/examples.es.ftl"));
            assert!(examples.lines().all(|line| line.chars().count() <= WIDEST), "{path}: {examples}");
        }
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
