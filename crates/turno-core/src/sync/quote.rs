//! Names and texts in generated SQL. Nothing else puts a name of the configuration into a statement.

use std::fmt::Write;

/// PostgreSQL cuts a longer name without a word, and two that differ only behind the cut would be one.
pub const IDENT_MAX: usize = 63;

/// Why a text cannot be a name in the database, or part of a statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadIdent {
    /// It has no characters.
    #[error("a name in the database is empty; give it 1 to {IDENT_MAX} bytes")]
    Empty,
    /// It would be cut.
    #[error("{0:?} has more than {IDENT_MAX} bytes, and the database would cut it; shorten it")]
    TooLong(String),
    /// No statement can carry it.
    #[error("a name or a text contains a NUL character; remove it")]
    Nul,
}

/// A name, always quoted: no keyword, capital, dot or quote in it means anything.
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

/// A text. With a backslash in it, in the form that means the same whatever `standard_conforming_strings` says.
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

/// The body of a function between dollar quotes that do not occur in it.
pub fn dollar_quote(body: &str) -> String {
    let mut tag = "$turno$".to_owned();
    let mut n = 0;
    while body.contains(&tag) {
        n += 1;
        tag = format!("$turno{n}$");
    }
    format!("{tag}{body}{tag}")
}

/// A name made of others: as it is if it fits, otherwise cut, with a hash of the whole so that it stays apart.
pub fn fitting(before: &str, name: &str, behind: &str) -> String {
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

    /// Reads one quoted name as PostgreSQL does; nothing if the text is not exactly one.
    fn read_ident(sql: &str) -> Option<String> {
        let inner = sql.strip_prefix('"')?.strip_suffix('"')?;
        let mut name = String::new();
        let mut rest = inner.chars();
        while let Some(one) = rest.next() {
            if one == '"' && rest.next() != Some('"') {
                return None;
            }
            name.push(one);
        }
        Some(name)
    }

    /// The same of one text, whatever `standard_conforming_strings` says.
    fn read_literal(sql: &str) -> Option<String> {
        let escaped = sql.starts_with('E');
        let inner = sql.strip_prefix('E').unwrap_or(sql).strip_prefix('\'')?.strip_suffix('\'')?;
        let mut text = String::new();
        let mut rest = inner.chars();
        while let Some(one) = rest.next() {
            match one {
                '\'' if rest.next() != Some('\'') => return None,
                '\\' if !escaped || rest.next() != Some('\\') => return None,
                _ => text.push(one),
            }
        }
        Some(text)
    }

    #[test]
    fn hostile_names_stay_names() {
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
            let quoted = quote_ident(name).expect("it can be a name");
            assert_eq!(read_ident(&quoted).as_deref(), Some(name), "{quoted}");
        }
    }

    #[test]
    fn what_cannot_be_a_name_is_refused_and_never_cut() {
        assert_eq!(quote_ident(""), Err(BadIdent::Empty));
        assert_eq!(quote_ident("a\0"), Err(BadIdent::Nul));
        assert!(quote_ident(&"x".repeat(63)).is_ok());
        assert!(matches!(quote_ident(&"x".repeat(64)), Err(BadIdent::TooLong(_))));
        assert!(matches!(quote_ident(&"ñ".repeat(32)), Err(BadIdent::TooLong(_))), "bytes count, not characters");
        assert!(quote_ident(&format!("{}x", "ñ".repeat(31))).is_ok());
        assert_eq!(quote_literal("a\0"), Err(BadIdent::Nul));
    }

    #[test]
    fn a_body_never_ends_its_own_quotes() {
        assert_eq!(dollar_quote("begin end"), "$turno$begin end$turno$");
        assert_eq!(dollar_quote("a $turno$ b $turno1$"), "$turno2$a $turno$ b $turno1$$turno2$");
    }

    proptest! {
        #[test]
        fn any_name_is_read_back_as_it_was(name in "[^\0]{1,15}") {
            prop_assert_eq!(read_ident(&quote_ident(&name).expect("short and without NUL")), Some(name));
        }

        #[test]
        fn any_text_is_read_back_as_it_was(text in "[^\0]{0,80}") {
            prop_assert_eq!(read_literal(&quote_literal(&text).expect("without NUL")), Some(text));
        }

        #[test]
        fn a_made_name_always_fits(name in "\\PC{1,200}") {
            let made = fitting("turno_", &name, "_one_current");
            prop_assert!(made.len() <= IDENT_MAX && made.starts_with("turno_") && made.ends_with("_one_current"));
        }
    }
}
