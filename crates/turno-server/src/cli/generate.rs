//! `turno completions` and `turno man`: generated from the definition of the command line.

use std::io::Write;
use std::path::PathBuf;

use clap_complete::Shell;

use super::help::command;
use super::output::talk;
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;

const COMPLETIONS: &str = "\
Examples:
  turno completions bash > ~/.local/share/bash-completion/completions/turno
  turno completions zsh > \"${fpath[1]}/_turno\"
  turno completions fish > ~/.config/fish/completions/turno.fish";

/// Arguments of `turno completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

const MAN: &str = "\
Examples:
  turno man | man -l -                     read it
  turno man ~/.local/share/man/man1        a page for every command";

/// Arguments of `turno man`.
#[derive(clap::Args, Debug)]
#[command(after_help = MAN)]
pub(crate) struct ManArgs {
    /// A folder for one page per command; without it the first page goes to stdout
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn completions(arguments: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "turno", &mut script);
    // A closed stdout is ignored.
    let _ = std::io::stdout().write_all(&script);
    Ok(())
}

pub(crate) fn man(arguments: &ManArgs) -> Result<(), Failure> {
    let cannot = |place: Message, error: &std::io::Error| {
        Failure::failed(Message::new("man-failed").message("place", place).message("cause", io_cause(error)))
    };
    let Some(folder) = &arguments.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command()).render(&mut page).map_err(|error| cannot(Message::new("man-page"), &error))?;
        let _ = std::io::stdout().write_all(&page);
        return Ok(());
    };
    let place = || Message::verbatim(folder.display());
    std::fs::create_dir_all(folder).map_err(|error| cannot(place(), &error))?;
    clap_mangen::generate_to(command(), folder).map_err(|error| cannot(place(), &error))?;
    talk(&Message::new("man-written").text("folder", folder.display()));
    Ok(())
}
