//! The values of the trigger's body (`body.sql`), and the settings of its function.
//!
//! The function runs for every changed row, so both depend on the conditions. Plain conditions are expressions over the
//! fields of the old and the new record, and depend on no setting. Free conditions are evaluated by a query, under the
//! settings of `sql/sync_begin.sql`, so that a condition gives the same result in the trigger, whatever session it fires
//! in, and when the row is read. Each setting costs every changed row some time.

use super::facts::Facts;
use super::render::{list, row_values};
use turno_core::sync::{BadIdent, Column, OnLeave, PlainCondition, Source, columns_read, quote_literal};

/// The settings that every function has, and those that free conditions need: names as the catalogue prints them, and
/// values as they are written in a statement.
const PATH: (&str, &str) = ("search_path", "pg_catalog, pg_temp");
const TEXTS: [(&str, &str); 6] = [
    ("row_security", "off"),
    ("TimeZone", "'UTC'"),
    ("DateStyle", "'ISO, YMD'"),
    ("IntervalStyle", "'postgres'"),
    ("extra_float_digits", "1"),
    ("bytea_output", "'hex'"),
];

/// How the trigger of a source evaluates its conditions.
pub(super) enum Trigger {
    /// By expressions. Without a condition, every row meets it.
    Plain { speaks: Option<PlainCondition>, takes_part: Option<PlainCondition> },
    /// By a query. These are the columns that the conditions may read.
    Free { read: Vec<String> },
}

impl Trigger {
    pub(super) fn new(source: &Source, facts: &Facts) -> Trigger {
        let conditions = [source.current_when.as_deref(), source.enqueue_when.as_deref()];
        match conditions.map(|text| parse(text, &facts.columns)) {
            [Some(speaks), Some(takes_part)] => Trigger::Plain { speaks, takes_part },
            _ => {
                let read = conditions.into_iter().flatten().flat_map(|text| columns_read(text, &facts.columns));
                Trigger::Free { read: read.map(str::to_owned).collect() }
            }
        }
    }

    /// Returns the columns that the conditions may read.
    fn condition_columns(&self) -> Vec<&str> {
        match self {
            Trigger::Plain { speaks, takes_part } => {
                [speaks, takes_part].into_iter().flatten().flat_map(PlainCondition::columns).collect()
            }
            Trigger::Free { read } => read.iter().map(String::as_str).collect(),
        }
    }

    /// Renders the function's settings.
    pub(super) fn settings(&self) -> String {
        let lines = self.pairs().map(|(name, value)| format!("set {} = {value}", name.to_lowercase()));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Renders the function's settings as `sync_function` reads them from the catalogue.
    pub(super) fn config(&self) -> String {
        let pairs = self.pairs().map(|(name, value)| format!("{name}={}", value.trim_matches('\'')));
        pairs.collect::<Vec<_>>().join("; ")
    }

    fn pairs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let texts: &[_] = if matches!(self, Trigger::Free { .. }) { &TEXTS } else { &[] };
        [PATH].into_iter().chain(texts.iter().copied())
    }

    /// Returns the values of the placeholders in `body.sql`.
    pub(super) fn values(&self, source: &Source, facts: &Facts) -> Result<Vec<(&'static str, String)>, BadIdent> {
        let watched: Vec<&str> = source.watch.iter().map(String::as_str).collect();
        let mut compared = Vec::new();
        // The key and the columns that only the conditions read. If these are as before and the compared columns are not,
        // a watched column has changed.
        let mut kept = vec![source.key.as_str()];
        for column in watched.iter().copied().chain([source.key.as_str()]).chain(self.condition_columns()) {
            if !compared.contains(&column) {
                compared.push(column);
                kept.extend(Some(column).filter(|column| !watched.contains(column) && *column != source.key));
            }
        }
        let or_left = match source.on_leave {
            OnLeave::Ignore => "",
            OnLeave::Deactivate => " or turno_new_takes_part is not true",
        };
        let mut values = row_values(source)?;
        let [old_conditions, new_conditions] = ["old", "new"].map(|record| self.conditions(record, &values));
        let (old_conditions, new_conditions) = (old_conditions?, new_conditions?);
        let (new_query, new_matches, new_again) = match self {
            Trigger::Plain { speaks, takes_part } => {
                let matches = [render(speaks, "new")?, render(takes_part, "new")?].join(" and ");
                (String::new(), matches, new_conditions.clone())
            }
            Trigger::Free { .. } => {
                (new_conditions.clone(), "turno_new_speaks and turno_new_takes_part".to_owned(), String::new())
            }
        };
        // A plan can be read before its queue exists. Its function then looks the number up for each mark.
        let number = match facts.queue {
            Some(number) => number.to_string(),
            None => {
                format!("(select q.id from turno.queue q where q.name = {})", quote_literal(source.queue.as_str())?)
            }
        };
        values.extend([
            ("number", number),
            ("is_name", facts.key.is_name("turno_key")),
            ("old_compared", list("old", &compared)?),
            ("new_compared", list("new", &compared)?),
            ("old_watched", list("old", &watched)?),
            ("new_watched", list("new", &watched)?),
            ("old_kept", list("old", &kept)?),
            ("new_kept", list("new", &kept)?),
            ("or_left", or_left.to_owned()),
            ("old_conditions", old_conditions),
            ("new_conditions", new_conditions),
            ("new_query", new_query),
            ("new_matches", new_matches),
            ("new_again", new_again),
        ]);
        Ok(values)
    }

    /// Renders the statements that evaluate the conditions for a record.
    fn conditions(&self, record: &str, values: &[(&str, String)]) -> Result<String, BadIdent> {
        let (speaks, takes_part) = (format!("turno_{record}_speaks"), format!("turno_{record}_takes_part"));
        match self {
            Trigger::Plain { speaks: is_current, takes_part: enqueues } => {
                let (is_current, enqueues) = (render(is_current, record)?, render(enqueues, record)?);
                Ok(format!("{speaks} := {is_current};\n{takes_part} := {enqueues};"))
            }
            Trigger::Free { .. } => {
                let value = |name| values.iter().find(|(known, _)| *known == name).map_or("true", |(_, text)| text);
                Ok(format!(
                    "select {} is true, {} is true into {speaks}, {takes_part} from (select {record}.*) as r;",
                    value("speaks"),
                    value("takes_part")
                ))
            }
        }
    }
}

/// Renders whether a record meets a condition.
fn render(condition: &Option<PlainCondition>, record: &str) -> Result<String, BadIdent> {
    match condition {
        Some(condition) => Ok(format!("(\n{}\n) is true", condition.render(record)?)),
        None => Ok("true".to_owned()),
    }
}

/// Returns `None` if the condition is not plain, and `Some(None)` if there is none.
fn parse(text: Option<&str>, columns: &[Column]) -> Option<Option<PlainCondition>> {
    text.map_or(Some(None), |text| PlainCondition::parse(text, columns).map(Some))
}
