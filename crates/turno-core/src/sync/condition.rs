//! Which columns a condition reads, and whether the trigger can evaluate it without a query.
//!
//! A condition is SQL from the configuration. A *plain* condition consists only of columns of [`Column::plain`] types,
//! constants, comparisons, arithmetic and logic. Its result depends on no setting of the session, and each name in it is
//! a column of the row. So the trigger evaluates it as an expression over the fields of its record, which is several
//! times cheaper than a query. Every other condition is *free*: the trigger evaluates it in a query, as it stands.
//!
//! If this module does not understand a text, the condition is free and reads more columns than it names. This costs
//! time and is never wrong.

use super::quote::{BadIdent, quote_ident};

/// A column of the source's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The type is boolean, a whole number, numeric, a text with its usual collation, uuid or an enumeration. The text
    /// and the comparisons of such values depend on no setting.
    pub plain: bool,
}

/// A condition, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainCondition(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Column(String),
}

/// The words that a plain condition may contain beside columns.
const WORDS: [&str; 12] =
    ["and", "or", "not", "is", "null", "true", "false", "in", "between", "like", "distinct", "from"];
/// The alias of the row in conditions.
const ROW: &str = "r";

impl PlainCondition {
    /// Returns the parts of a condition, or `None` if it is not plain.
    pub fn parse(text: &str, columns: &[Column]) -> Option<PlainCondition> {
        let is_plain = |name: &str| columns.iter().any(|column| column.plain && column.name == name);
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = match first {
                'a'..='z' | 'A'..='Z' | '_' | '"' => {
                    let (name, mut length) = read_name(rest)?;
                    let word = name.as_str();
                    if first != '"' && WORDS.contains(&word) {
                        // Some of these words may be names. Only the database's parser tells them apart.
                        if columns.iter().any(|column| column.name == word) {
                            return None;
                        }
                        parts.push(Part::Text(rest.get(..length)?.to_owned()));
                    } else if first != '"' && word == ROW && rest[length..].starts_with('.') {
                        let (name, behind) = read_name(&rest[length + 1..])?;
                        length += 1 + behind;
                        parts.push(Part::Column(Some(name).filter(|name| is_plain(name))?));
                    } else {
                        parts.push(Part::Column(Some(name).filter(|name| is_plain(name))?));
                    }
                    // A function, a field of a row, or a constant with its type: not a column.
                    let behind = rest[length..].trim_start();
                    if matches!(parts.last(), Some(Part::Column(_))) && behind.starts_with(['(', '.', '\'', '"']) {
                        return None;
                    }
                    rest = &rest[length..];
                    continue;
                }
                '\'' => read_string(rest)?,
                '0'..='9' => read_number(rest)?,
                '-' if rest.starts_with("--") => return None,
                '/' if rest.starts_with("/*") => return None,
                '|' if rest.starts_with("||") => 2,
                '=' | '<' | '>' | '!' | '+' | '-' | '*' | '/' | '%' | '(' | ')' | ',' => 1,
                space if space.is_ascii_whitespace() => 1,
                _ => return None,
            };
            parts.push(Part::Text(rest.get(..length)?.to_owned()));
            rest = &rest[length..];
        }
        Some(PlainCondition(parts))
    }

    /// Returns the columns that the condition reads.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Column(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Renders the condition over the fields of a record.
    pub fn render(&self, record: &str) -> Result<String, BadIdent> {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Column(name) => Ok(format!("{record}.{}", quote_ident(name)?)),
        });
        parts.collect()
    }
}

/// Returns the columns that a free condition may read: those whose names occur in its text, or all of them if it may
/// read the whole row.
pub fn columns_read<'a>(text: &str, columns: &'a [Column]) -> Vec<&'a str> {
    let folded = text.to_lowercase();
    let whole = folded.contains("u&") || reads_whole_row(&folded);
    let occurs = |name: &str| {
        let name = name.to_lowercase();
        folded.contains(&name) || folded.contains(&name.replace('"', "\"\""))
    };
    columns.iter().map(|column| column.name.as_str()).filter(|name| whole || occurs(name)).collect()
}

/// Returns whether the row's alias occurs in a text other than before a column (`r.x`).
fn reads_whole_row(folded: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    folded.match_indices(ROW).any(|(at, _)| {
        let (before, behind) = (&folded[..at], &folded[at + ROW.len()..]);
        let alone = !before.ends_with(in_name) && !behind.starts_with(in_name);
        let field = behind.strip_prefix('.').is_some_and(|name| name.starts_with(in_name) || name.starts_with('"'));
        alone && !field
    })
}

/// Reads a name as PostgreSQL does, with its length in the text.
fn read_name(text: &str) -> Option<(String, usize)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut name = String::new();
        let mut chars = quoted.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c != '"' {
                name.push(c);
            } else if chars.next_if(|(_, next)| *next == '"').is_some() {
                name.push('"');
            } else {
                return Some((name, at + 2));
            }
        }
        return None;
    }
    let length = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    // Names with other characters are folded by rules of the database's encoding.
    let foreign = text[length..].starts_with(|c: char| !c.is_ascii() || c == '$');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (begins && !foreign).then(|| (text[..length].to_ascii_lowercase(), length))
}

/// Returns the length of a text constant. A backslash may be an escape, which depends on a setting.
fn read_string(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => return None,
            '\'' if chars.next_if(|(_, next)| *next == '\'').is_none() => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn read_number(text: &str) -> Option<usize> {
    let length = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let ends = !text[length..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (ends && text[..length].matches('.').count() < 2).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let plain = ["idper", "principal", "algoritmo_pass", "Nombre", "a\"b", "e", "date", "between", "ñ"];
        let plain = plain.iter().map(|name| Column { name: (*name).to_owned(), plain: true });
        plain.chain([Column { name: "cuando".to_owned(), plain: false }]).collect()
    }

    fn rendered(text: &str) -> Option<String> {
        PlainCondition::parse(text, &columns()).map(|condition| condition.render("new").expect("short names"))
    }

    #[test]
    fn plain_conditions_are_rendered_over_the_fields_of_a_record() {
        for (text, expected) in [
            ("principal", "new.\"principal\""),
            (
                "idper is not null and algoritmo_pass = 'PG-SHA256'",
                "new.\"idper\" is not null and new.\"algoritmo_pass\" = 'PG-SHA256'",
            ),
            (
                "r.IDPER >= 1.5 or not (r.\"Nombre\" in ('it''s', 'b'))",
                "new.\"idper\" >= 1.5 or not (new.\"Nombre\" in ('it''s', 'b'))",
            ),
            ("\"a\"\"b\" || '-' <> 'r.x'", "new.\"a\"\"b\" || '-' <> 'r.x'"),
            ("principal is not distinct\nfrom true", "new.\"principal\" is not distinct\nfrom true"),
        ] {
            assert_eq!(rendered(text).as_deref(), Some(expected));
        }
        let condition = PlainCondition::parse("principal and r.idper > 0", &columns()).unwrap();
        assert_eq!(condition.columns().collect::<Vec<_>>(), ["principal", "idper"]);
    }

    #[test]
    fn conditions_with_functions_casts_comments_or_unknown_names_are_not_plain() {
        for text in [
            "lower(algoritmo_pass) = 'x'",
            "idper::text = '1'",
            "principal -- why",
            "principal /* why */",
            "cuando > 1",
            "e'a' = 'b'",
            "date '2026-01-01' > '1'",
            "date ('x')",
            "algoritmo_pass = E'a'",
            "algoritmo_pass = 'a\\'",
            "r is not null",
            "r.* is null",
            "\"r\".idper = 1",
            "exists (select 1)",
            "current_date = '1'",
            "idper = $1",
            "algoritmo_pass ~ 'a'",
            "idper = 1e5",
            "idper = 1; drop table x",
            "principal'",
            "\"principal",
            "ñ = '1'",
            "between between 1 and 2",
            "idper[1] = 1",
            "algoritmo_pass collate \"C\" = 'a'",
            "idper.x = 1",
            "r.cuando = 1",
            "idper @> 1",
            "idper | 1 = 1",
            "idper = 1.2.3",
            "idper = 1a",
            "now",
            "principal\u{a0}and principal",
        ] {
            assert_eq!(rendered(text), None, "{text}");
        }
    }

    #[test]
    fn a_free_condition_reads_the_columns_it_names_or_all_of_them() {
        let columns = columns();
        let read = |text| columns_read(text, &columns);
        assert_eq!(read("lower(ALGORITMO_PASS) = 'x'"), ["algoritmo_pass", "e"]);
        assert_eq!(read("\"a\"\"b\" = '1'"), ["a\"b"]);
        assert_eq!(read("r.cuando > now()"), ["cuando"]);
        for text in [
            "r is null",
            "r.* is null",
            "to_jsonb(r) ? 'x'",
            "(r).idper = 1",
            "U&\"\\0069dper\" = 1",
            "\"r\".idper = 1",
        ] {
            assert_eq!(read(text).len(), columns.len(), "{text}");
        }
    }
}
