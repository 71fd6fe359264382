//! The page `docs/reference/cli.md`, generated from the definition of the command line. A test compares them.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command};

const PAGE: &str = "../../docs/reference/cli.md";

const INTRODUCTION: &str = "\
# The command line

Made from `turno --help` of every command; a test keeps it so. Run the tests of `turno-server` with
`TURNO_UPDATE_DOCS=1` to write it anew.

## JSON

`--json` prints one JSON document to stdout, and messages in English. Fields are only added, never renamed or removed.
`lease`, `queue`, `task`, `why`, `audit list` and `healthcheck` print the server's answer, which
[openapi.json](openapi.json) describes. `events` prints the data of one event per line. The other commands print:

| command | prints |
|---|---|
| `config` | `[{\"key\",\"value\",\"origin\"}]` |
| `migrate` | `{\"database\",\"found\",\"wanted\",\"compatible\",\"migrated\"}`: the schema's version before, and the program's |
| `backup` | `{\"database\",\"file\"}` |
| `check` | `{\"findings\":[{\"invariant\",\"subject\",\"detail\"}]}`, with `--repair` also `mended` |
| `audit verify` | `{\"valid\":true,\"n\",\"hash\",\"head\"}` or `{\"valid\":false,\"broken\"}` |
| `user list` | `{\"items\":[…]}` |
| `user add`, `change`, `disable`, `enable`, `password` | `{\"id\",\"name\",\"role\",\"disabled\",\"has_password\",\"created_at\"}` |
| `user show` | the same, with `tokens` |
| `user remove` | `{\"id\",\"removed\":true}` |
| `token list` | `{\"items\":[{\"id\",\"user\",\"machine\",\"permissions\",\"resources\",\"queues\",\"expires_at\",\"created_at\",\"last_used_at\"}]}` |
| `token create` | one such item, with the secret in `token` |
| `token revoke` | `{\"id\",\"revoked\":true}` |
| `sync plan`, `install`, `remove` | `{\"sources\":[…]}` with `name` and `sql`; `name`, `table` and `queue`; `name` and `removed` |
| `sync status`, `resync`, `check` | `{\"sources\":[…]}`; a source that failed has `name`, `problem` and `next` |
";

fn page() -> String {
    let mut command = super::help::command();
    command.build();
    let mut page = INTRODUCTION.to_owned();
    write(&mut page, &command, "turno", true);
    page
}

fn write(page: &mut String, command: &Command, path: &str, top: bool) {
    let level = if path.matches(' ').count() > 1 { "###" } else { "##" };
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(page, "\n{level} `{path}`\n\n{}", sentence(&about));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let _ = writeln!(page, "\n```text\n{usage}\n```");
    let commands: Vec<&Command> = command.get_subcommands().filter(|inner| inner.get_name() != "help").collect();
    if !commands.is_empty() {
        let _ = writeln!(page, "\n| command | |\n|---|---|");
        for inner in &commands {
            let name = inner.get_name();
            let link = format!("{path} {name}").replace(' ', "-");
            let about = inner.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "| [`{name}`](#{link}) | {} |", escaped(&about));
        }
    }
    // Options that a group passes on to its commands are listed with the group only.
    let shown = |argument: &&Arg| !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version");
    let inherited = |argument: &&Arg| top || !is_global(argument);
    let group = !commands.is_empty();
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(shown)
        .filter(|argument| inherited(argument) || (group && !is_everywhere(argument)))
        .collect();
    if !arguments.is_empty() {
        let _ = writeln!(page, "\n| option | |\n|---|---|");
        for argument in arguments {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "| `{}` | {}{} |", name(argument), escaped(&help), extras(argument));
        }
    }
    if let Some(after) = command.get_after_help() {
        let _ = writeln!(page, "\n```text\n{after}\n```");
    }
    for inner in commands {
        write(page, inner, &format!("{path} {}", inner.get_name()), false);
    }
}

fn is_global(argument: &Arg) -> bool {
    argument.is_global_set()
}

/// The options of every command are listed once, at the top.
fn is_everywhere(argument: &Arg) -> bool {
    matches!(argument.get_id().as_str(), "database" | "config")
}

fn sentence(about: &str) -> String {
    let about = escaped(about);
    if about.ends_with('.') { about } else { format!("{about}.") }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<").replace("\n\n", " ").replace('\n', " ")
}

fn name(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default();
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    match argument.get_long() {
        Some(long) if argument.get_action().takes_values() => format!("--{long} {}", values.join(" ")),
        Some(long) => format!("--{long}"),
        None => values.join(" "),
    }
}

fn extras(argument: &Arg) -> String {
    let mut extras = String::new();
    let values: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if argument.get_action().takes_values() && !values.is_empty() {
        let _ = write!(extras, " ({})", values.join(", "));
    }
    let defaults = argument.get_default_values();
    if let ([default], true) = (defaults, argument.get_action().takes_values()) {
        let _ = write!(extras, " (default `{}`)", default.to_string_lossy());
    }
    if let Some(variable) = argument.get_env() {
        let _ = write!(extras, " (variable `{}`)", variable.to_string_lossy());
    }
    extras
}

#[test]
fn the_reference_page_matches_the_command_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = page();
    if std::env::var_os("TURNO_UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("the path has a parent")).expect("the folder can be created");
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "{PAGE} is not what the program says; run this test with TURNO_UPDATE_DOCS=1");
}
