//! A small reader of Rust source: tells code from comments and strings, and lists the paths that code uses.
//!
//! It is no parser. It must only be exact enough that a rule is neither broken by a comment that explains
//! it nor evaded by a grouped `use`. Macros' bodies count as code.

/// A source taken apart. Line breaks are kept everywhere, so that line numbers stay true.
pub(super) struct Source {
    /// The code, with comments and the contents of literals blanked out.
    pub(super) code: String,
    /// String literals: line and contents as written.
    pub(super) strings: Vec<(usize, String)>,
}

impl Source {
    pub(super) fn of(text: &str) -> Self {
        let mut source = Self { code: String::with_capacity(text.len()), strings: Vec::new() };
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let taken = if let Some(length) = comment(rest) {
                source.blank(&rest[..length]);
                length
            } else if let Some((length, open, close)) = string(rest, source.code.chars().last()) {
                source.strings.push((source.line(), rest[open..length - close].to_string()));
                source.blank(&rest[..length]);
                length
            } else if let Some(length) = character(rest) {
                source.blank(&rest[..length]);
                length
            } else {
                source.code.push(next);
                next.len_utf8()
            };
            rest = &rest[taken..];
        }
        source
    }

    fn line(&self) -> usize {
        self.code.matches('\n').count() + 1
    }

    fn blank(&mut self, text: &str) {
        self.code.extend(text.chars().map(|one| if one == '\n' { '\n' } else { ' ' }));
    }

    /// Every path in the code with its line; grouped imports are written out: `use std::{fs, time::Instant}`
    /// gives `std::fs` and `std::time::Instant`.
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

/// The literal's length, and how much of it is its opening and its closing.
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
    // `r` ends many names; only one that begins here begins a raw string.
    let begins = !before.is_some_and(|one| one.is_alphanumeric() && one != 'b' || one == '_');
    let hashes = rest.strip_prefix('r')?.chars().take_while(|one| *one == '#').count();
    if !begins || !rest[1 + hashes..].starts_with('"') {
        return None;
    }
    let (open, closing) = (hashes + 2, format!("\"{}", "#".repeat(hashes)));
    let end = rest[open..].find(&closing);
    Some(end.map_or((rest.len(), open, 0), |end| (open + end + closing.len(), open, closing.len())))
}

/// A character literal; a lifetime is none.
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
        let source = Source::of("a /* b /* c */ */ d // e\nlet f = \"g\\\"h\"; r#\"i\"j\"#; 'k' '\\'' &'l m\n\"n");
        let words: Vec<&str> = source.code.split_whitespace().collect();
        assert_eq!(words, ["a", "d", "let", "f", "=", ";", ";", "&'l", "m"]);
        let strings = [(2, "g\\\"h".to_string()), (2, "i\"j".to_string()), (3, "n".to_string())];
        assert_eq!(source.strings, strings);
    }

    #[test]
    fn grouped_imports_are_written_out() {
        let text = "use std::{\n  fs,\n  time::{Duration, Instant},\n};\nfn f() { tokio::spawn(x); }";
        let paths = Source::of(text).paths();
        for path in ["std::fs", "std::time::Duration", "std::time::Instant", "tokio::spawn", "x"] {
            assert!(paths.iter().any(|(_, found)| found == path), "{path} in {paths:?}");
        }
        assert!(paths.contains(&(3, "std::time::Instant".into())));
    }
}
