//! Quotes names and texts for generated SQL. Every name from the configuration goes through these functions, so that it
//! cannot inject SQL.

use std::fmt::Write;

/// The longest name in bytes. PostgreSQL silently cuts longer names, so that two of them could become the same name.
pub const IDENT_MAX: usize = 63;

/// The reason why a text cannot be a name in the database, or part of a statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadIdent {
    /// The name is empty.
    #[error("a name in the database is empty; give it 1 to {IDENT_MAX} bytes")]
    Empty,
    /// The name has more than [`IDENT_MAX`] bytes.
    #[error("{0:?} has more than {IDENT_MAX} bytes, and the database would cut it; shorten it")]
    TooLong(String),
    /// The text contains NUL, which no statement can contain.
    #[error("a name or a text contains a NUL character; remove it")]
    Nul,
}

/// Quotes a name, so that keywords, capitals, dots and quotes in it have no meaning.
///
/// ```
/// use turno_core::sync::quote_ident;
/// assert_eq!(quote_ident("idper").unwrap(), "\"idper\"");
/// assert_eq!(quote_ident("a\"; drop table b; --").unwrap(), "\"a\"\"; drop table b; --\"");
/// assert!(quote_ident("a\0b").is_err());
/// ```
pub fn quote_ident(name: &str) -> Result<String, BadIdent> {
    if name.is_empty() {
        return Err(BadIdent::Empty);
    }
    if name.contains('\0') {
        return Err(BadIdent::Nul);
    }
    if name.len() > IDENT_MAX {
        return Err(BadIdent::TooLong(name.to_owned()));
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

/// Quotes a text. A text with a backslash gets the `E'…'` form, which does not depend on `standard_conforming_strings`.
///
/// ```
/// use turno_core::sync::quote_literal;
/// assert_eq!(quote_literal("d'Artagnan").unwrap(), "'d''Artagnan'");
/// assert_eq!(quote_literal(r"a\'b").unwrap(), r"E'a\\''b'");
/// ```
pub fn quote_literal(text: &str) -> Result<String, BadIdent> {
    if text.contains('\0') {
        return Err(BadIdent::Nul);
    }
    let doubled = text.replace('\'', "''");
    Ok(if doubled.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") })
}

/// Encloses the body of a function in dollar quotes that do not occur in it.
pub fn dollar_quote(body: &str) -> String {
    let mut tag = "$turno$".to_owned();
    let mut n = 0;
    while body.contains(&tag) {
        n += 1;
        tag = format!("$turno{n}$");
    }
    format!("{tag}{body}{tag}")
}

/// Joins the parts to a name of at most [`IDENT_MAX`] bytes. A longer `name` is cut and gets a hash, so that different
/// names stay different.
pub fn fit_ident(before: &str, name: &str, behind: &str) -> String {
    let whole = format!("{before}{name}{behind}");
    if whole.len() <= IDENT_MAX {
        return whole;
    }
    let mut hash = String::with_capacity(9);
    for byte in &blake3::hash(name.as_bytes()).as_bytes()[..4] {
        let _ = write!(hash, "{byte:02x}");
    }
    let mut end = IDENT_MAX.saturating_sub(before.len() + behind.len() + hash.len() + 1).min(name.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{before}{}_{hash}{behind}", &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parses a quoted name as PostgreSQL does. Returns `None` if the text is not exactly one name.
    fn read_ident(sql: &str) -> Option<String> {
        let inner = sql.strip_prefix('"')?.strip_suffix('"')?;
        let mut name = String::new();
        let mut rest = inner.chars();
        while let Some(character) = rest.next() {
            if character == '"' && rest.next() != Some('"') {
                return None;
            }
            name.push(character);
        }
        Some(name)
    }

    /// Parses a quoted text in the same way, for both values of `standard_conforming_strings`.
    fn read_literal(sql: &str) -> Option<String> {
        let escaped = sql.starts_with('E');
        let inner = sql.strip_prefix('E').unwrap_or(sql).strip_prefix('\'')?.strip_suffix('\'')?;
        let mut text = String::new();
        let mut rest = inner.chars();
        while let Some(character) = rest.next() {
            match character {
                '\'' if rest.next() != Some('\'') => return None,
                '\\' if !escaped || rest.next() != Some('\\') => return None,
                _ => text.push(character),
            }
        }
        Some(text)
    }

    #[test]
    fn hostile_names_are_quoted_as_one_name() {
        let hostile = [
            "\"",
            "\"\"",
            "a\".\"b",
            "a.b",
            "order",
            "Ñandú 🦙",
            "x\"; drop schema turno cascade; --",
            "/* */",
            "$turno$",
            "a\nb",
            "\\",
            "'",
            " ",
        ];
        for name in hostile {
            let quoted = quote_ident(name).expect("a valid name");
            assert_eq!(read_ident(&quoted).as_deref(), Some(name), "{quoted}");
        }
    }

    #[test]
    fn invalid_names_are_refused_and_never_cut() {
        assert_eq!(quote_ident(""), Err(BadIdent::Empty));
        assert_eq!(quote_ident("a\0"), Err(BadIdent::Nul));
        assert!(quote_ident(&"x".repeat(63)).is_ok());
        assert!(matches!(quote_ident(&"x".repeat(64)), Err(BadIdent::TooLong(_))));
        assert!(matches!(quote_ident(&"ñ".repeat(32)), Err(BadIdent::TooLong(_))), "bytes count, not characters");
        assert!(quote_ident(&format!("{}x", "ñ".repeat(31))).is_ok());
        assert_eq!(quote_literal("a\0"), Err(BadIdent::Nul));
    }

    #[test]
    fn dollar_quotes_never_occur_in_the_body() {
        assert_eq!(dollar_quote("begin end"), "$turno$begin end$turno$");
        assert_eq!(dollar_quote("a $turno$ b $turno1$"), "$turno2$a $turno$ b $turno1$$turno2$");
    }

    proptest! {
        #[test]
        fn quoted_name_is_parsed_back_to_the_same_name(name in "[^\0]{1,15}") {
            prop_assert_eq!(read_ident(&quote_ident(&name).expect("short and without NUL")), Some(name));
        }

        #[test]
        fn quoted_text_is_parsed_back_to_the_same_text(text in "[^\0]{0,80}") {
            prop_assert_eq!(read_literal(&quote_literal(&text).expect("without NUL")), Some(text));
        }

        #[test]
        fn generated_name_always_fits(name in "\\PC{1,200}") {
            let made = fit_ident("turno_", &name, "_one_current");
            prop_assert!(made.len() <= IDENT_MAX && made.starts_with("turno_") && made.ends_with("_one_current"));
        }
    }
}
