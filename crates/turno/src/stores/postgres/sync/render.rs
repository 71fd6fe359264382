//! The SQL of a source, as text. `plan` shows exactly what `install` runs.
//!
//! Names go through [`quote_ident`], texts through [`quote_literal`]. Values are filled in one pass, so that the text
//! of a condition is never taken for a placeholder. Conditions are SQL from the configuration. They stand in
//! parentheses on their own lines, so that a comment at the end of one hides nothing.

use super::body;
use super::facts::Facts;
use turno_core::sync::{BadIdent, NOTHING, OnLeave, Source, digest, dollar_quote, quote_ident, quote_literal};

/// The names of the view's other columns. A key column with one of these names is shown as `clave`.
const VIEW_COLUMNS: [&str; 7] = ["id", "accion", "estado", "intentos", "ultimo_error", "creado_en", "actualizado_en"];

/// For the view, if leaving rows are ignored: a row is current but takes no part.
const OR_NOTHING: &str = "
            when exists (
                select from {table} as r where {matches} and {speaks} and {takes_part} is not true
            ) then 'NINGUNA'";

/// The SQL of all objects of a source.
pub(super) struct Rendered {
    /// The function's body and settings, as the catalogue stores them.
    pub(super) body: String,
    pub(super) config: String,
    /// Each object with the statements that create it.
    pub(super) function: Piece,
    pub(super) index: Option<Piece>,
    pub(super) view: Option<Piece>,
    /// The statements that create the triggers, by name.
    triggers: [(String, String); 2],
    check: String,
}

/// An object's statements, with the comment by which the object is recognised later.
pub(super) struct Piece {
    sql: String,
    pub(super) mark: String,
}

impl Rendered {
    pub(super) fn new(source: &Source, facts: &Facts) -> Result<Rendered, BadIdent> {
        let trigger = body::Trigger::new(source, facts);
        let body = fill(include_str!("body.sql"), &trigger.values(source, facts)?);
        let table = source.table.quoted()?;
        let index = if source.one_current_per_key { Some(index(source)?) } else { None };
        let view = source.view.is_some().then(|| view(source, facts)).transpose()?;
        let check = format!(
            "select ({}) is true, ({}) is true, {} from {table} as r limit 0;\n",
            condition(source.current_when.as_deref()),
            condition(source.enqueue_when.as_deref()),
            list("r", &source.columns())?,
        );
        let function = function(source, facts, &trigger, &body)?;
        let config = trigger.config();
        Ok(Rendered { body, config, function, index, view, triggers: triggers(source)?, check })
    }

    /// Returns the statement with which the database checks the conditions, without a semicolon.
    pub(super) fn check(&self) -> &str {
        self.check.trim_end().trim_end_matches(';')
    }

    /// Renders the whole transaction. `outdated` are statements that remove objects that are not wanted any more.
    /// `kept` are names of triggers that stay as they are.
    pub(super) fn plan(&self, source: &Source, outdated: &[String], kept: &[&str]) -> String {
        let mut plan = format!(
            "-- Source {:?}: changes of {} go into the queue {}.\nbegin;\nset local search_path = pg_catalog, pg_temp;\n\
             set local lock_timeout = '10s';\nselect pg_advisory_xact_lock(1953854067, 0);\n",
            source.name, source.table, source.queue
        );
        let mut part = |title: &str, sql: &str| plan.push_str(&format!("\n-- {title}\n{sql}"));
        part("The conditions must be understood; nothing is read.", &self.check);
        if !outdated.is_empty() {
            part("What an earlier configuration of this source has left.", &format!("{}\n", outdated.join("\n")));
        }
        part("The trigger's function: with its owner's rights, callable by nobody.", &self.function.sql);
        let triggers = self.triggers.iter().filter(|(name, _)| !kept.contains(&name.as_str()));
        let triggers: String = triggers.map(|(_, sql)| sql.as_str()).collect();
        if !triggers.is_empty() {
            part("The triggers.", &triggers);
        }
        if let Some(index) = &self.index {
            part("One current row per key.", &index.sql);
        }
        if let Some(view) = &self.view {
            part("The queue for people of the database.", &view.sql);
        }
        plan.push_str("\ncommit;\n");
        plan
    }
}

/// Returns how the comment of every object of the source begins.
pub(super) fn mark_start(name: &str) -> String {
    format!("Turno sync source {name:?}")
}

fn mark(source: &Source, sql: &str) -> String {
    let hash: String = digest(sql)[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {hash}", mark_start(&source.name))
}

/// Returns the qualified name of the trigger's function.
pub(super) fn function_name(source: &Source) -> Result<String, BadIdent> {
    Ok(format!("turno.{}", quote_ident(&source.function())?))
}

fn function(source: &Source, facts: &Facts, trigger: &body::Trigger, body: &str) -> Result<Piece, BadIdent> {
    let name = function_name(source)?;
    let owner = quote_ident(&facts.owner)?;
    let values = [("function", name.clone()), ("settings", trigger.settings()), ("body", dollar_quote(body))];
    let mut sql = fill(include_str!("function.sql"), &values);
    let mark = mark(source, &sql);
    sql.push_str(&format!("alter function {name}() owner to {owner};\n"));
    sql.push_str(&format!("revoke all on function {name}() from public;\n"));
    sql.push_str(&format!("comment on function {name}() is {};\n", quote_literal(&mark)?));
    Ok(Piece { sql, mark })
}

/// Renders the triggers. Row triggers run after the change, so that they see what other triggers changed before it, and
/// for all columns, because such a trigger may change a column that the statement does not name. The trigger for
/// TRUNCATE runs before it, while the rows can still be read.
fn triggers(source: &Source) -> Result<[(String, String); 2], BadIdent> {
    let (table, function) = (source.table.quoted()?, function_name(source)?);
    let (rows, truncate) = (quote_ident(&source.trigger)?, quote_ident(&source.truncate_trigger())?);
    let rows = format!(
        "create or replace trigger {rows} after insert or update or delete on {table}\n    \
         for each row execute function {function}();\n"
    );
    let truncate = format!(
        "create or replace trigger {truncate} before truncate on {table}\n    \
         for each statement execute function {function}();\n"
    );
    Ok([(source.trigger.clone(), rows), (source.truncate_trigger(), truncate)])
}

fn index(source: &Source) -> Result<Piece, BadIdent> {
    let (name, table, key) = (quote_ident(&source.index())?, source.table.quoted()?, quote_ident(&source.key)?);
    let when = condition(source.current_when.as_deref());
    let made = format!("create unique index if not exists {name} on {table} ({key}) where ({when});\n");
    let mark = mark(source, &made);
    let schema = quote_ident(source.table.schema())?;
    let sql = format!("{made}comment on index {schema}.{name} is {};\n", quote_literal(&mark)?);
    Ok(Piece { sql, mark })
}

fn view(source: &Source, facts: &Facts) -> Result<Piece, BadIdent> {
    let Some(relation) = &source.view else { return Err(BadIdent::Empty) };
    let view = relation.quoted()?;
    let key_name = if VIEW_COLUMNS.contains(&source.key.as_str()) { "clave" } else { &source.key };
    let mut values = row_values(source)?;
    values.extend([
        ("view", view.clone()),
        ("typed_key", facts.key.typed("v.key")),
        ("key_name", quote_ident(key_name)?),
        ("matches", facts.key.matches(&format!("r.{}", quote_ident(&source.key)?), "v.key")),
        ("update", quote_literal(&source.update)?),
        ("deactivate", quote_literal(&source.deactivate)?),
        ("nothing", quote_literal(NOTHING)?),
    ]);
    // Filled separately, because one pass fills no placeholder within a value.
    let or_nothing = match source.on_leave {
        OnLeave::Ignore => fill(OR_NOTHING, &values),
        OnLeave::Deactivate => String::new(),
    };
    values.push(("or_nothing", or_nothing));
    let mut sql = fill(include_str!("view.sql"), &values);
    let mark = mark(source, &sql);
    sql.push_str(&format!("alter view {view} owner to {};\n", quote_ident(&facts.owner)?));
    sql.push_str(&format!("revoke all on {view} from public;\n"));
    sql.push_str(&format!("grant select on {view} to {};\n", quote_ident(&facts.table_owner)?));
    sql.push_str(&format!("comment on view {view} is {};\n", quote_literal(&mark)?));
    Ok(Piece { sql, mark })
}

pub(super) fn row_values(source: &Source) -> Result<Vec<(&'static str, String)>, BadIdent> {
    Ok(vec![
        ("key", quote_ident(&source.key)?),
        ("table", source.table.quoted()?),
        ("speaks", format!("({})", condition(source.current_when.as_deref()))),
        ("takes_part", format!("({})", condition(source.enqueue_when.as_deref()))),
        ("queue", quote_literal(source.queue.as_str())?),
    ])
}

/// Renders `alias."a", alias."b"`.
pub(super) fn list(alias: &str, columns: &[&str]) -> Result<String, BadIdent> {
    let quoted = columns.iter().map(|column| Ok(format!("{alias}.{}", quote_ident(column)?)));
    Ok(quoted.collect::<Result<Vec<_>, BadIdent>>()?.join(", "))
}

/// Renders a condition between line breaks; `true` if there is none.
pub(super) fn condition(text: Option<&str>) -> String {
    text.map_or_else(|| "true".to_owned(), |text| format!("\n{text}\n"))
}

/// Replaces `{name}` by its value, in one pass.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut text = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, behind) = rest.split_at(at);
        text.push_str(before);
        let found = values
            .iter()
            .find_map(|(name, value)| Some((value, behind.strip_prefix('{')?.strip_prefix(name)?.strip_prefix('}')?)));
        match found {
            Some((value, behind)) => {
                text.push_str(value);
                rest = behind;
            }
            None => {
                text.push('{');
                rest = &behind[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_within_a_value_is_not_filled() {
        let values = [("a", "{b}".to_owned()), ("b", "2".to_owned())];
        assert_eq!(fill("{a} {b} {c} '{}' {", &values), "{b} 2 {c} '{}' {");
    }

    #[test]
    fn a_comment_at_the_end_of_a_condition_hides_nothing() {
        assert_eq!(format!("({})", condition(Some("a -- why"))), "(\na -- why\n)");
        assert_eq!(condition(None), "true");
    }
}
