//! Reads Rust source: separates code from comments and strings, and lists the paths that the code uses.
//!
//! The reader is not a parser. It is exact enough that a comment about a rule does not break it, and that a grouped
//! `use` does not hide a path. Bodies of macros count as code.

/// The parts of a source file. Line breaks are kept in each part, so that line numbers stay correct.
pub(super) struct Source {
    /// The code, with comments and the contents of literals blanked out.
    pub(super) code: String,
    /// String literals: line and contents as written.
    pub(super) strings: Vec<(usize, String)>,
    /// Comments, line by line, with their line numbers.
    pub(super) comments: Vec<(usize, String)>,
}

impl Source {
    pub(super) fn parse(text: &str) -> Self {
        let mut source = Self { code: String::with_capacity(text.len()), strings: Vec::new(), comments: Vec::new() };
        let (mut rest, mut line) = (text, 1);
        while let Some(next) = rest.chars().next() {
            let taken = if let Some(length) = comment(rest) {
                source.comments.extend((line..).zip(rest[..length].lines().map(str::to_owned)));
                source.blank(&rest[..length]);
                length
            } else if let Some((length, open, close)) = string(rest, source.code.chars().last()) {
                source.strings.push((line, rest[open..length - close].to_string()));
                source.blank(&rest[..length]);
                length
            } else if let Some(length) = character(rest) {
                source.blank(&rest[..length]);
                length
            } else {
                source.code.push(next);
                next.len_utf8()
            };
            line += rest[..taken].matches('\n').count();
            rest = &rest[taken..];
        }
        source
    }

    fn blank(&mut self, text: &str) {
        self.code.extend(text.chars().map(|one| if one == '\n' { '\n' } else { ' ' }));
    }

    /// Returns every path in the code with its line. Grouped imports are expanded: `use std::{fs, time::Instant}` gives
    /// `std::fs` and `std::time::Instant`.
    pub(super) fn paths(&self) -> Vec<(usize, String)> {
        let mut paths = Vec::new();
        let (mut prefixes, mut current, mut line) = (Vec::new(), String::new(), 1);
        for one in self.code.chars() {
            match one {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ':' => current.push(one),
                '*' if current.ends_with("::") => current.push(one),
                '{' if current.ends_with("::") => prefixes.push(std::mem::take(&mut current)),
                _ => {
                    if !current.trim_matches(':').is_empty() {
                        let path = format!("{}{current}", prefixes.concat());
                        paths.push((line, path.trim_start_matches("::").to_string()));
                    }
                    current.clear();
                    match one {
                        '}' => drop(prefixes.pop()),
                        ';' => prefixes.clear(),
                        _ => {}
                    }
                }
            }
            line += usize::from(one == '\n');
        }
        paths
    }
}

fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            return Some(at);
        }
    }
    Some(rest.len())
}

/// Returns the length of a string literal, and the lengths of its opening and closing.
fn string(rest: &str, before: Option<char>) -> Option<(usize, usize, usize)> {
    if rest.starts_with('"') {
        let mut escaped = false;
        for (at, one) in rest.char_indices().skip(1) {
            match one {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return Some((at + 1, 1, 1)),
                _ => {}
            }
        }
        return Some((rest.len(), 1, 0));
    }
    // Many names end with `r`. Only an `r` at the beginning of a word begins a raw string.
    let begins = !before.is_some_and(|one| one.is_alphanumeric() && one != 'b' || one == '_');
    let hashes = rest.strip_prefix('r')?.chars().take_while(|one| *one == '#').count();
    if !begins || !rest[1 + hashes..].starts_with('"') {
        return None;
    }
    let (open, closing) = (hashes + 2, format!("\"{}", "#".repeat(hashes)));
    let end = rest[open..].find(&closing);
    Some(end.map_or((rest.len(), open, 0), |end| (open + end + closing.len(), open, closing.len())))
}

/// Returns the length of a character literal. A lifetime is not a literal.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    if let Some(escape) = inside.strip_prefix('\\') {
        let skipped = escape.chars().next()?.len_utf8();
        return Some(2 + skipped + escape[skipped..].find('\'')? + 1);
    }
    let one = inside.chars().next()?;
    inside[one.len_utf8()..].starts_with('\'').then_some(one.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        let source = Source::parse("a /* b /* c */ */ d // e\nlet f = \"g\\\"h\"; r#\"i\"j\"#; 'k' '\\'' &'l m\n\"n");
        let words: Vec<&str> = source.code.split_whitespace().collect();
        assert_eq!(words, ["a", "d", "let", "f", "=", ";", ";", "&'l", "m"]);
        let strings = [(2, "g\\\"h".to_string()), (2, "i\"j".to_string()), (3, "n".to_string())];
        assert_eq!(source.strings, strings);
    }

    #[test]
    fn grouped_imports_are_written_out() {
        let text = "use std::{\n  fs,\n  time::{Duration, Instant},\n};\nfn f() { tokio::spawn(x); }";
        let paths = Source::parse(text).paths();
        for path in ["std::fs", "std::time::Duration", "std::time::Instant", "tokio::spawn", "x"] {
            assert!(paths.iter().any(|(_, found)| found == path), "{path} in {paths:?}");
        }
        assert!(paths.contains(&(3, "std::time::Instant".into())));
    }
}
