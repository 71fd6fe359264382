//! Free text from people and workers: kept for people to read, never interpreted.

use crate::limits::TEXT_MAX;

/// The text as it is kept: cut at [`TEXT_MAX`] without breaking a character, and without NUL, which
/// PostgreSQL cannot store in a text.
pub fn kept(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_MAX.min(text.len()))].replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_text_is_bounded_whole_and_storable() {
        let long = "ñ".repeat(TEXT_MAX);
        assert!(kept(&long).len() <= TEXT_MAX && kept(&long).ends_with('ñ'));
        assert_eq!(kept("a\0b"), "a\u{fffd}b");
        assert_eq!(kept("línea\nnueva"), "línea\nnueva");
    }
}
