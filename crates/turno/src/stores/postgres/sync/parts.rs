//! The objects of a source in the database, found by their names, by their function and by the mark in their comments.

use super::super::call::Call;
use super::super::connection::Link;
use super::super::error::TripError;
use super::super::row::get;
use super::super::sql;
use super::facts::Facts;
use super::render::{Rendered, function_name, mark_start};
use crate::store::{Part, PartState};
use turno_core::sync::{BadIdent, Source, SourceRefused, quote_ident};

/// `pg_trigger.tgtype`: after, for each row, of insert, delete and update; and before truncate, for each statement.
const ROWS: i32 = 1 | 4 | 8 | 16;
const TRUNCATE: i32 = 2 | 32;
/// All objects that were found.
pub(super) struct Found {
    function: Option<Function>,
    triggers: Vec<Trigger>,
    classes: Vec<Class>,
}

struct Function {
    body: String,
    definer: bool,
    config: String,
    owner: String,
    mark: Option<String>,
    open: bool,
}

struct Trigger {
    schema: String,
    table: String,
    name: String,
    ours: bool,
    kind: i32,
    enabled: String,
    plain: bool,
}

/// An index, a view, or any other relation with the name of one.
struct Class {
    schema: String,
    name: String,
    kind: String,
    mark: Option<String>,
    sound: bool,
}

impl Found {
    pub(super) async fn read(link: &mut Link, source: &Source) -> Result<Found, TripError> {
        let (function, truncate) = (source.function(), source.truncate_trigger());
        let (mark, index) = (mark_prefix(source), source.index());
        let view = source.view.as_ref();
        let triggers = [source.trigger.as_str(), truncate.as_str()];
        let calls = [
            Call::new(&sql::SYNC_FUNCTION).text(&function),
            Call::new(&sql::SYNC_TRIGGERS)
                .text(&function)
                .text(source.table.schema())
                .text(&source.table.name)
                .texts(triggers.into_iter()),
            Call::new(&sql::SYNC_MARKED)
                .text(&mark)
                .text(source.table.schema())
                .text(if source.one_current_per_key { &index } else { "" })
                .text(view.map_or("", |view| view.schema()))
                .text(view.map_or("", |view| &view.name))
                .text(&index),
        ];
        let mut answers = link.trip(&calls).await?.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        let function = next().first().map(function_from_row).transpose()?;
        let triggers = next().iter().map(trigger_from_row).collect::<Result<_, _>>()?;
        let classes = next().iter().map(class_from_row).collect::<Result<_, _>>()?;
        Ok(Found { function, triggers, classes })
    }

    /// Refuses the source if an object that belongs to something else has a name that it needs.
    pub(super) fn free(&self, source: &Source) -> Result<(), SourceRefused> {
        let taken = |what, name: String| Err(SourceRefused::Taken { what, name });
        if self.function.as_ref().is_some_and(|function| !function.is_ours(source)) {
            return taken("function", format!("turno.{}", source.function()));
        }
        if let Some(trigger) = self.triggers.iter().find(|trigger| !trigger.ours) {
            return taken("trigger", trigger.name.clone());
        }
        match self.classes.iter().find(|class| !class.is_ours(source)) {
            Some(class) => taken(class.kind_name(), format!("{}.{}", class.schema, class.name)),
            None => Ok(()),
        }
    }

    /// Returns statements that remove objects of an earlier configuration, and an index that differs from the wanted
    /// one.
    pub(super) fn outdated(&self, source: &Source, rendered: &Rendered) -> Result<Vec<String>, BadIdent> {
        let mut drops = Vec::new();
        for trigger in self.triggers.iter().filter(|trigger| trigger.ours && !trigger.is_named(source)) {
            drops.push(trigger.drop()?);
        }
        for class in &self.classes {
            let wanted = match class.kind.as_str() {
                "v" => class.is_view(source),
                _ => class.is_index(source) && class.is(rendered.index.as_ref().map(|piece| piece.mark.as_str())),
            };
            if !wanted {
                drops.push(class.drop()?);
            }
        }
        Ok(drops)
    }

    /// Returns the names of triggers that are as wanted and fire for replicated changes too (`enable always`). Replacing
    /// one would reset that, and only the table's owner can set it again.
    pub(super) fn kept(&self, source: &Source) -> Vec<&str> {
        let kept = self.triggers.iter().filter(|trigger| {
            let kind = if trigger.name == source.trigger { ROWS } else { TRUNCATE };
            trigger.enabled == "A" && trigger.is_named(source) && trigger.state(kind) == PartState::Good
        });
        kept.map(|trigger| trigger.name.as_str()).collect()
    }

    /// Returns statements that remove all objects, each with the names it removes, for people.
    pub(super) fn drops(&self, source: &Source) -> Result<Vec<(Vec<String>, String)>, BadIdent> {
        let mut drops = Vec::new();
        for class in self.classes.iter().filter(|class| class.is_ours(source)) {
            drops.push((vec![class.display_name()], class.drop()?));
        }
        if self.function.as_ref().is_some_and(|function| function.is_ours(source)) {
            let triggers = self.triggers.iter().filter(|trigger| trigger.ours).map(Trigger::display_name);
            let names = triggers.chain([format!("function turno.{}", source.function())]).collect();
            // The triggers are dropped with the function. A role that may create a trigger on a foreign table may not
            // drop it.
            drops.push((names, format!("drop function {}() cascade;", function_name(source)?)));
        }
        Ok(drops)
    }

    /// Returns the state of each wanted object, and of each stale one.
    pub(super) fn parts(&self, source: &Source, facts: &Facts, rendered: &Rendered) -> Vec<Part> {
        let mut parts = vec![self.function_part(source, facts, rendered)];
        for (name, kind) in [(source.trigger.clone(), ROWS), (source.truncate_trigger(), TRUNCATE)] {
            let found = self.triggers.iter().find(|trigger| trigger.name == name && trigger.is_on(source));
            let state = found.map_or(PartState::Missing, |trigger| trigger.state(kind));
            parts.push(Part { what: "trigger", name, state });
        }
        let named = |schema: &str, name: &str, mark: &str| {
            let found = self.classes.iter().find(|class| class.schema == schema && class.name == name);
            found.map_or(PartState::Missing, |class| match class.is(Some(mark)) {
                true => PartState::Good,
                false if class.is_ours(source) => PartState::Differs,
                false => PartState::Taken(class.kind_name()),
            })
        };
        if let Some(index) = &rendered.index {
            let (schema, index_name) = (source.table.schema(), source.index());
            let state = named(schema, &index_name, &index.mark);
            parts.push(Part { what: "index", name: format!("{schema}.{index_name}"), state });
        }
        if let (Some(piece), Some(view)) = (&rendered.view, &source.view) {
            let state = named(view.schema(), &view.name, &piece.mark);
            parts.push(Part { what: "view", name: view.display(), state });
        }
        parts.extend(self.stale(source));
        parts
    }

    fn function_part(&self, source: &Source, facts: &Facts, rendered: &Rendered) -> Part {
        let state = self.function.as_ref().map_or(PartState::Missing, |found| {
            let same = found.body == rendered.body
                && found.definer
                && !found.open
                && found.config == rendered.config
                && found.owner == facts.owner
                && found.mark.as_ref() == Some(&rendered.function.mark);
            match same {
                true => PartState::Good,
                false if found.is_ours(source) => PartState::Differs,
                false => PartState::Taken("function"),
            }
        });
        Part { what: "function", name: format!("turno.{}", source.function()), state }
    }

    fn stale<'a>(&'a self, source: &'a Source) -> impl Iterator<Item = Part> + 'a {
        let triggers = self.triggers.iter().filter(|trigger| trigger.ours && !trigger.is_named(source));
        let triggers = triggers.map(|trigger| ("trigger", format!("{} on {}", trigger.name, trigger.table)));
        let unwanted = |class: &&Class| class.is_ours(source) && !class.is_index(source) && !class.is_view(source);
        let classes = self.classes.iter().filter(unwanted);
        let classes = classes.map(|class| (class.kind_name(), format!("{}.{}", class.schema, class.name)));
        triggers.chain(classes).map(|(what, name)| Part { what, name, state: PartState::Stale })
    }
}

/// Ends with a space, which no name contains, so that a source is not mistaken for one whose name it begins with.
fn mark_prefix(source: &Source) -> String {
    format!("{} ", mark_start(&source.name))
}

/// Returns whether a comment marks its object as belonging to this source.
fn is_marked(mark: Option<&str>, source: &Source) -> bool {
    mark.is_some_and(|mark| mark.starts_with(&mark_prefix(source)))
}

impl Function {
    fn is_ours(&self, source: &Source) -> bool {
        is_marked(self.mark.as_deref(), source)
    }
}

impl Trigger {
    fn is_on(&self, source: &Source) -> bool {
        self.schema == source.table.schema() && self.table == source.table.name
    }

    fn is_named(&self, source: &Source) -> bool {
        self.is_on(source) && (self.name == source.trigger || self.name == source.truncate_trigger())
    }

    fn state(&self, kind: i32) -> PartState {
        match self.enabled.as_str() {
            _ if !self.ours => PartState::Taken("trigger"),
            _ if self.kind != kind || !self.plain => PartState::Differs,
            "O" | "A" => PartState::Good,
            _ => PartState::Disabled,
        }
    }

    fn display_name(&self) -> String {
        format!("trigger {} on {}.{}", self.name, self.schema, self.table)
    }

    fn drop(&self) -> Result<String, BadIdent> {
        let (schema, table) = (quote_ident(&self.schema)?, quote_ident(&self.table)?);
        Ok(format!("drop trigger {} on {schema}.{table};", quote_ident(&self.name)?))
    }
}

impl Class {
    fn is_ours(&self, source: &Source) -> bool {
        is_marked(self.mark.as_deref(), source)
    }

    fn is_index(&self, source: &Source) -> bool {
        let named = self.schema == source.table.schema() && self.name == source.index();
        source.one_current_per_key && self.kind != "v" && named
    }

    fn is_view(&self, source: &Source) -> bool {
        let named = |view: &turno_core::sync::Relation| self.schema == view.schema() && self.name == view.name;
        self.kind == "v" && source.view.as_ref().is_some_and(named)
    }

    fn is(&self, mark: Option<&str>) -> bool {
        self.sound && self.mark.as_deref() == mark
    }

    fn kind_name(&self) -> &'static str {
        // `pg_class.relkind`.
        match self.kind.as_str() {
            "v" => "view",
            "i" | "I" => "index",
            "r" | "p" => "table",
            "m" => "materialized view",
            "f" => "foreign table",
            "S" => "sequence",
            _ => "relation",
        }
    }

    fn display_name(&self) -> String {
        format!("{} {}.{}", self.kind_name(), self.schema, self.name)
    }

    fn drop(&self) -> Result<String, BadIdent> {
        Ok(format!("drop {} {}.{};", self.kind_name(), quote_ident(&self.schema)?, quote_ident(&self.name)?))
    }
}

fn function_from_row(row: &tokio_postgres::Row) -> Result<Function, TripError> {
    Ok(Function {
        body: get(row, 0)?,
        definer: get(row, 1)?,
        config: get(row, 2)?,
        owner: get(row, 3)?,
        mark: get(row, 4)?,
        open: get(row, 5)?,
    })
}

fn trigger_from_row(row: &tokio_postgres::Row) -> Result<Trigger, TripError> {
    Ok(Trigger {
        schema: get(row, 0)?,
        table: get(row, 1)?,
        name: get(row, 2)?,
        ours: get(row, 3)?,
        kind: get(row, 4)?,
        enabled: get(row, 5)?,
        plain: get(row, 6)?,
    })
}

fn class_from_row(row: &tokio_postgres::Row) -> Result<Class, TripError> {
    Ok(Class { schema: get(row, 0)?, name: get(row, 1)?, kind: get(row, 2)?, mark: get(row, 3)?, sound: get(row, 4)? })
}
