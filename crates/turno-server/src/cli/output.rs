//! The output of commands: data on stdout, messages on stderr; tables for people, JSON for programs.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::stopwatch;
use crate::texts::message::Message;
use crate::texts::terminal::{heading, render};

/// The output format.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct Format {
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// Writes lines to stdout. A closed stdout is ignored, because the command itself goes on.
pub(crate) fn say<T: AsRef<str>>(lines: &[T]) {
    let mut stdout = std::io::stdout().lock();
    for line in lines {
        if writeln!(stdout, "{}", line.as_ref()).is_err() {
            return;
        }
    }
    let _ = stdout.flush();
}

/// Writes a message to stderr, in the reader's language. Scripts do not parse it.
pub(crate) fn talk(message: &Message) {
    let _ = writeln!(std::io::stderr(), "{}", render(message));
}

/// Returns whether stdout is a terminal that shows colours: see <https://no-color.org>.
fn coloured() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb") && std::io::stdout().is_terminal()
}

/// Rows under a header, in aligned columns.
#[derive(Debug)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Makes a table with these columns. Each name is the end of a `head-` message.
    pub(crate) fn new(header: &[&str]) -> Table {
        Table { header: header.iter().map(|name| heading(name).to_uppercase()).collect(), rows: Vec::new() }
    }

    /// Adds a row with as many cells as the header has.
    pub(crate) fn row<T: ToString, const N: usize>(&mut self, cells: [T; N]) {
        debug_assert_eq!(cells.len(), self.header.len());
        self.rows.push(cells.iter().map(|cell| printable(&cell.to_string())).collect());
    }

    /// Prints the table. Without rows prints `nothing` to stderr instead.
    pub(crate) fn print(&self, nothing: &Message) {
        if self.rows.is_empty() {
            talk(nothing);
        } else {
            say(&self.lines(coloured()));
        }
    }

    fn lines(&self, coloured: bool) -> Vec<String> {
        let all = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let mut lines: Vec<String> = all().map(line).collect();
        if coloured {
            lines[0] = format!("\u{1b}[1m{}\u{1b}[0m", lines[0]);
        }
        lines
    }
}

/// The properties of one thing, one per line.
#[derive(Debug, Default)]
pub(crate) struct Card {
    rows: Vec<(String, String)>,
}

impl Card {
    /// Adds a line, unless the value is empty. The name is the end of a `head-` message.
    pub(crate) fn line(&mut self, name: &str, value: impl Into<Option<String>>) {
        if let Some(value) = value.into().filter(|value| !value.is_empty()) {
            self.rows.push((heading(name), printable(&value)));
        }
    }

    pub(crate) fn print(&self, title: &str) {
        let width = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let title = printable(title);
        let title = if coloured() { format!("\u{1b}[1m{title}\u{1b}[0m") } else { title };
        let rows = self.rows.iter().map(|(name, value)| format!("  {name:width$}  {value}"));
        say(&std::iter::once(title).chain(rows).collect::<Vec<_>>());
    }
}

/// Replaces control characters, because names and errors come from users and a terminal would obey them.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}

/// Renders a time relative to `now`: `12 s ago`, `in 3 min 4 s`.
pub(crate) fn relative(now: Timestamp, then: Timestamp) -> String {
    let ms = then.as_millisecond().saturating_sub(now.as_millisecond());
    render(&match ms {
        -999..=0 => Message::new("when-just-now"),
        1..=999 => Message::new("when-moment"),
        ms if ms < 0 => Message::new("when-past").text("span", rounded(ms)),
        _ => Message::new("when-future").text("span", rounded(ms)),
    })
}

/// Renders the time from one instant to another: `12 s`, `3 min 4 s`.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> String {
    rounded(to.as_millisecond().saturating_sub(from.as_millisecond()))
}

/// Renders a duration with at most two units, without a trailing zero: `5 min`, `5 min 3 s`.
pub(crate) fn rounded(ms: i64) -> String {
    let text = stopwatch::format_duration(Duration::from_millis(ms.unsigned_abs()));
    let short = [" 0 s", " 0 min", " 0 h"].into_iter().find_map(|rest| text.strip_suffix(rest));
    short.unwrap_or(&text).to_owned()
}

/// Renders a duration of a policy: `30 s`, `500 ms`.
pub(crate) fn span(ms: i64) -> String {
    if ms.abs() < 1_000 || ms % 1_000 != 0 && ms < 10_000 {
        return format!("{ms} ms");
    }
    rounded(ms)
}

/// Renders a JSON value as a cell: texts without quotes, null as `-`.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["name", "role"]);
        table.row(["José Ñandú", "editor"]);
        table.row(["Ana", "admin"]);
        assert_eq!(table.lines(false), ["NAME        ROLE", "José Ñandú  editor", "Ana         admin"]);
        assert_eq!(table.lines(true)[0], "\u{1b}[1mNAME        ROLE\u{1b}[0m");
    }

    #[test]
    fn control_characters_in_a_cell_are_replaced() {
        let mut table = Table::new(&["name"]);
        table.row(["a\u{1b}[31mb\nc"]);
        assert_eq!(table.lines(false)[1], "a [31mb c");
    }

    #[test]
    fn times_are_relative_to_now() {
        let at = |ms| Timestamp::from_millisecond(ms).expect("a time");
        assert_eq!(relative(at(100_000), at(40_000)), "1 min ago");
        assert_eq!(relative(at(100_000), at(130_500)), "in 30 s");
        assert_eq!(relative(at(100_000), at(100_999)), "in a moment");
        assert_eq!(relative(at(100_000), at(99_001)), "just now");
        assert_eq!(between(at(100_000), at(163_000)), "1 min 3 s");
    }

    #[test]
    fn policy_durations_have_at_most_two_units() {
        assert_eq!((span(500), span(1_500), span(15_000)), ("500 ms".into(), "1500 ms".into(), "15 s".into()));
        assert_eq!((span(3_600_000), span(604_800_000)), ("1 h".into(), "7 d".into()));
    }
}
