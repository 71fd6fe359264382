//! Free text from people and workers, and the nesting of JSON.
//!
//! Free text is stored for people to read. The engine never interprets it.

use crate::limits::TEXT_MAX;

/// Returns the text as it is stored: cut at [`TEXT_MAX`] without breaking a character, and without NUL, because
/// PostgreSQL cannot store NUL in a text.
pub fn clip_text(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_MAX.min(text.len()))].replace('\0', "\u{fffd}")
}

/// Returns whether the text has a character that changes the direction of the text around it. In a display name such a
/// character can make one name look like another.
pub fn has_bidi_control(text: &str) -> bool {
    let is_bidi =
        |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().any(is_bidi)
}

/// Renders a count with its noun in the singular or plural: `1 entry`, `2 entries`.
pub fn pluralize(count: impl Into<i128>, one: &str, many: &str) -> String {
    match count.into() {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// The JSON value that [`json_cut`] puts in place of each part it removes.
pub const JSON_CUT: &str = "\"…\"";

/// Returns whether arrays and objects in this JSON are nested at most `depth` levels deep.
pub fn json_is_within(json: &str, depth: usize) -> bool {
    // Each level needs at least one bracket, so a shorter text cannot be nested deeper.
    json.len() <= depth || !Levels::new(json).any(|(_, level)| level > depth)
}

/// Returns the JSON with at most `depth` levels, so that parsers with a nesting limit can read it. Replaces each deeper
/// part by [`JSON_CUT`].
pub fn json_cut(json: &str, depth: usize) -> String {
    let (mut kept, mut from, mut inside) = (String::with_capacity(json.len().min(1 << 16)), 0, false);
    for (at, level) in Levels::new(json) {
        if level > depth && !inside {
            kept.push_str(&json[from..at]);
            kept.push_str(JSON_CUT);
            inside = true;
        } else if level == depth && inside {
            // This bracket closes the outermost removed part.
            from = at + 1;
            inside = false;
        }
    }
    kept + if inside { "" } else { &json[from..] }
}

/// Iterates over the brackets of a JSON text outside of strings. Each comes with the nesting level after it.
struct Levels<'a> {
    bytes: std::iter::Enumerate<std::slice::Iter<'a, u8>>,
    level: usize,
    in_text: bool,
}

impl Levels<'_> {
    fn new(json: &str) -> Levels<'_> {
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
    fn only_a_count_of_one_is_singular() {
        let rendered = [0, 1, 2].map(|count| pluralize(count, "entry", "entries"));
        assert_eq!(rendered, ["0 entries", "1 entry", "2 entries"]);
    }

    #[test]
    fn stored_text_is_bounded_and_has_whole_characters_and_no_nul() {
        let long = "ñ".repeat(TEXT_MAX);
        assert!(clip_text(&long).len() <= TEXT_MAX && clip_text(&long).ends_with('ñ'));
        assert_eq!(clip_text("a\0b"), "a\u{fffd}b");
        assert_eq!(clip_text("línea\nnueva"), "línea\nnueva");
    }

    #[test]
    fn brackets_inside_json_strings_do_not_count_as_levels() {
        let nested = |levels: usize| format!("{}1{}", r#"{"a":["#.repeat(levels), "]}".repeat(levels));
        assert!(json_is_within(&nested(50), 100) && !json_is_within(&nested(51), 100));
        let brackets = format!(r#"["{}","\\\"[","\\\\"]"#, "[".repeat(500));
        assert!(json_is_within(&brackets, 1), "{brackets}");
        assert!(json_is_within("[[1],[2],[3]]", 2) && json_is_within("7", 0));
    }

    #[test]
    fn json_cut_replaces_deep_parts_and_keeps_the_rest() {
        assert_eq!(json_cut(r#"{"a":[1,{"b":[]},[2]],"c":"[["}"#, 2), r#"{"a":[1,"…","…"],"c":"[["}"#);
        assert_eq!(json_cut(r#"[ 1, {"ñ":2}]"#, 2), r#"[ 1, {"ñ":2}]"#);
        assert_eq!(json_cut("[[[", 1), r#"["…""#, "invalid JSON stays invalid");
    }
}
