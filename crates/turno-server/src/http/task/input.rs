//! Tasks and lines as they come in, and which fields a line takes for which kind.

use serde::Deserialize;
use turno::core::id::{Serial, Sku};
use turno::core::task::{Goods, Line, Movement, NewLine};

use crate::http::problem::{Code, Problem};

/// How the units of a line are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskLineKind)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// One by one, by their serial numbers.
    Serialized,
    /// So many.
    Quantity,
}

impl Kind {
    pub(super) fn of(goods: &Goods) -> Kind {
        match goods {
            Goods::Serialized(_) => Kind::Serialized,
            Goods::Quantity(_) => Kind::Quantity,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Serialized => "serialized",
            Kind::Quantity => "quantity",
        }
    }
}

/// A line to be.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = NewTaskLine)]
#[serde(deny_unknown_fields)]
pub(super) struct NewLineBody {
    kind: Kind,
    /// `in` or `out` [default: in].
    #[serde(default)]
    #[schema(value_type = String)]
    movement: Movement,
    /// Which article.
    #[schema(value_type = String, max_length = 200)]
    sku: Sku,
    /// Of a serialized line: each unit's serial number, none twice.
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 1000)]
    serials: Option<Vec<Serial>>,
    /// Of a line by quantity: how many.
    #[schema(minimum = 1)]
    quantity: Option<i64>,
}

/// The lines of a body.
pub(super) fn lines(bodies: Vec<NewLineBody>) -> Result<Vec<NewLine>, Problem> {
    let line = |(index, body): (usize, NewLineBody)| {
        let NewLineBody { kind, movement, sku, serials, quantity } = body;
        let goods = goods(&format!("lines[{index}]."), kind, serials, quantity)?;
        Ok(NewLine { movement, sku, goods })
    };
    bodies.into_iter().enumerate().map(line).collect()
}

/// What moves, by the kind of the line; `place` stands before the name of a field that does not fit.
fn goods(place: &str, kind: Kind, serials: Option<Vec<Serial>>, quantity: Option<i64>) -> Result<Goods, Problem> {
    let bad =
        |field: &str, cause: &str| Err(Problem::new(Code::BadField).field(&format!("{place}{field}")).cause(cause));
    match (kind, serials, quantity) {
        (Kind::Serialized, _, Some(_)) => bad("quantity", "a serialized line has serials, and no quantity"),
        (Kind::Serialized, None, _) => bad("serials", "a serialized line needs its serials"),
        (Kind::Serialized, Some(serials), _) if serials.is_empty() => bad("serials", "at least one is needed"),
        (Kind::Serialized, Some(serials), _) => Ok(Goods::Serialized(serials)),
        (Kind::Quantity, Some(_), _) => bad("serials", "a line by quantity has a quantity, and no serials"),
        (Kind::Quantity, _, None) => bad("quantity", "a line by quantity needs its quantity"),
        (Kind::Quantity, _, Some(quantity)) => Ok(Goods::Quantity(quantity)),
    }
}

/// The goods that a patch gives a line, if it does: without a kind, those of the kind that the line has.
pub(super) fn patched(
    line: &Line,
    kind: Option<Kind>,
    serials: Option<Vec<Serial>>,
    quantity: Option<i64>,
) -> Result<Option<Goods>, Problem> {
    let has = Kind::of(&line.goods);
    match (kind, &serials, quantity) {
        (None, None, None) => Ok(None),
        (Some(kind), None, None) if kind == has => Ok(None),
        (kind, ..) => goods("", kind.unwrap_or(has), serials, quantity).map(Some),
    }
}

/// The problem of a rule of form, whose text begins with the place of the field, as in `/lines/1/serials: …`.
pub(super) fn bad_form(text: &str) -> Problem {
    let Some((pointer, cause)) = text.strip_prefix('/').and_then(|text| text.split_once(": ")) else {
        return Problem::new(Code::Invalid).cause(text);
    };
    let mut field = String::new();
    for part in pointer.split('/') {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            field.push_str(&format!("[{part}]"));
        } else {
            field.push_str(if field.is_empty() { "" } else { "." });
            field.push_str(part);
        }
    }
    let problem = Problem::new(Code::BadField).field(&field).cause(cause);
    match cause.strip_suffix(" is there twice") {
        Some(serial) => problem.arg("fault", "twice").arg("serial", serial),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::{Language, Texts};

    fn field(problem: &Problem) -> String {
        let document = problem.document(&Texts::load(), Language::English, None);
        document["field"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_place_of_a_rule_of_form_becomes_the_name_of_its_field() {
        for (text, expected) in
            [("/lines/1/serials: A is there twice", "lines[1].serials"), ("/title: too long", "title"), ("odd", "")]
        {
            assert_eq!(field(&bad_form(text)), expected);
        }
        let twice = bad_form("/serials: S2A is there twice").document(&Texts::load(), Language::Spanish, None);
        assert_eq!(twice["detail"], "El número de serie S2A está dos veces");
    }

    #[test]
    fn a_line_takes_what_belongs_to_its_kind_and_names_what_does_not() {
        let serials = || Some(vec![Serial::new("A1").expect("a name")]);
        assert_eq!(goods("", Kind::Serialized, serials(), None).expect("fits").units(), 1);
        assert_eq!(goods("", Kind::Quantity, None, Some(3)).expect("fits").units(), 3);
        for (kind, serials, quantity, wrong) in [
            (Kind::Serialized, serials(), Some(1), "x.quantity"),
            (Kind::Serialized, None, None, "x.serials"),
            (Kind::Serialized, Some(Vec::new()), None, "x.serials"),
            (Kind::Quantity, serials(), Some(1), "x.serials"),
            (Kind::Quantity, None, None, "x.quantity"),
        ] {
            assert_eq!(field(&goods("x.", kind, serials, quantity).expect_err("does not fit")), wrong);
        }
    }
}
