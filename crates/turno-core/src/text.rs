//! Free text from people and workers: kept for people to read, never interpreted.

use crate::limits::TEXT_MAX;

/// The text as it is kept: cut at [`TEXT_MAX`] without breaking a character, and without NUL, which
/// PostgreSQL cannot store in a text.
pub fn kept(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_MAX.min(text.len()))].replace('\0', "\u{fffd}")
}

/// So many of something, for people: `1 entry`, `2 entries`.
pub fn counted(count: impl Into<i128>, one: &str, many: &str) -> String {
    match count.into() {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// What stands for whatever [`json_cut`] leaves out.
pub const JSON_CUT: &str = "\"…\"";

/// Whether arrays and objects in this JSON are nested at most so deep.
pub fn json_is_within(json: &str, depth: usize) -> bool {
    // So deep, it would at least be so long.
    json.len() <= depth || !Levels::of(json).any(|(_, level)| level > depth)
}

/// JSON with at most so many levels: what lies deeper is left out, so that readers with a bound can read the rest.
pub fn json_cut(json: &str, depth: usize) -> String {
    let (mut kept, mut from, mut inside) = (String::with_capacity(json.len().min(1 << 16)), 0, false);
    for (at, level) in Levels::of(json) {
        if level > depth && !inside {
            kept.push_str(&json[from..at]);
            kept.push_str(JSON_CUT);
            inside = true;
        } else if level == depth && inside {
            // The bracket that closes the outermost one left out.
            from = at + 1;
            inside = false;
        }
    }
    kept + if inside { "" } else { &json[from..] }
}

/// The brackets of a JSON text with the level that each leads to; brackets inside texts are none.
struct Levels<'a> {
    bytes: std::iter::Enumerate<std::slice::Iter<'a, u8>>,
    level: usize,
    in_text: bool,
}

impl Levels<'_> {
    fn of(json: &str) -> Levels<'_> {
        Levels { bytes: json.as_bytes().iter().enumerate(), level: 0, in_text: false }
    }
}

impl Iterator for Levels<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        loop {
            let (at, byte) = self.bytes.next()?;
            match (byte, self.in_text) {
                (b'\\', true) => drop(self.bytes.next()),
                (b'"', _) => self.in_text = !self.in_text,
                (b'[' | b'{', false) => {
                    self.level += 1;
                    return Some((at, self.level));
                }
                (b']' | b'}', false) => {
                    self.level = self.level.saturating_sub(1);
                    return Some((at, self.level));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_as_one_and_none_as_many() {
        let told = [0, 1, 2].map(|count| counted(count, "entry", "entries"));
        assert_eq!(told, ["0 entries", "1 entry", "2 entries"]);
    }

    #[test]
    fn kept_text_is_bounded_whole_and_storable() {
        let long = "ñ".repeat(TEXT_MAX);
        assert!(kept(&long).len() <= TEXT_MAX && kept(&long).ends_with('ñ'));
        assert_eq!(kept("a\0b"), "a\u{fffd}b");
        assert_eq!(kept("línea\nnueva"), "línea\nnueva");
    }

    #[test]
    fn levels_of_json_are_counted_outside_of_texts() {
        let nested = |levels: usize| format!("{}1{}", r#"{"a":["#.repeat(levels), "]}".repeat(levels));
        assert!(json_is_within(&nested(50), 100) && !json_is_within(&nested(51), 100));
        let brackets = format!(r#"["{}","\\\"[","\\\\"]"#, "[".repeat(500));
        assert!(json_is_within(&brackets, 1), "{brackets}");
        assert!(json_is_within("[[1],[2],[3]]", 2) && json_is_within("7", 0));
    }

    #[test]
    fn what_lies_too_deep_is_left_out_and_the_rest_stays_as_it_is() {
        assert_eq!(json_cut(r#"{"a":[1,{"b":[]},[2]],"c":"[["}"#, 2), r#"{"a":[1,"…","…"],"c":"[["}"#);
        assert_eq!(json_cut(r#"[ 1, {"ñ":2}]"#, 2), r#"[ 1, {"ñ":2}]"#);
        assert_eq!(json_cut("[[[", 1), r#"["…""#, "what is no JSON stays none");
    }
}
