//! Request bodies of tasks and lines, and which fields a line has for its kind.

use serde::Deserialize;
use turno::core::fault::Invalid;
use turno::core::id::{Serial, Sku};
use turno::core::task::{Goods, Line, Movement, NewLine};

use crate::http::problem::{Code, Problem, bad_field};
use crate::texts::message::Message;

/// How the units of a line are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskLineKind)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// By serial numbers, one per unit.
    Serialized,
    /// By a quantity.
    Quantity,
}

impl Kind {
    pub(super) fn from_goods(goods: &Goods) -> Kind {
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

/// A new line.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = NewTaskLine)]
#[serde(deny_unknown_fields)]
pub(super) struct NewLineBody {
    kind: Kind,
    /// `in` or `out`. Default: `in`.
    #[serde(default)]
    #[schema(value_type = String)]
    movement: Movement,
    /// The article.
    #[schema(value_type = String, max_length = 200)]
    sku: Sku,
    /// The serial number of each unit, without duplicates. Required for a serialized line.
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 1000)]
    serials: Option<Vec<Serial>>,
    /// The number of units. Required for a quantity line.
    #[schema(minimum = 1)]
    quantity: Option<i64>,
}

/// Converts the lines of a body. Names the line and the field of the first error.
pub(super) fn lines(bodies: Vec<NewLineBody>) -> Result<Vec<NewLine>, Problem> {
    let line = |(index, body): (usize, NewLineBody)| {
        let NewLineBody { kind, movement, sku, serials, quantity } = body;
        let goods = goods(&format!("lines[{index}]."), kind, serials, quantity)?;
        Ok(NewLine { movement, sku, goods })
    };
    bodies.into_iter().enumerate().map(line).collect()
}

/// Returns the goods of a line, or the problem of the field that does not fit its kind. `prefix` precedes the field's
/// name.
fn goods(prefix: &str, kind: Kind, serials: Option<Vec<Serial>>, quantity: Option<i64>) -> Result<Goods, Problem> {
    let bad =
        |field: &str, id| Err(Problem::new(Code::BadField).field(&format!("{prefix}{field}")).cause(Message::new(id)));
    match (kind, serials, quantity) {
        (Kind::Serialized, _, Some(_)) => bad("quantity", "error-line-serials-only"),
        (Kind::Serialized, None, _) => bad("serials", "error-line-no-serials"),
        (Kind::Serialized, Some(serials), _) if serials.is_empty() => bad("serials", "error-line-empty-serials"),
        (Kind::Serialized, Some(serials), _) => Ok(Goods::Serialized(serials)),
        (Kind::Quantity, Some(_), _) => bad("serials", "error-line-quantity-only"),
        (Kind::Quantity, _, None) => bad("quantity", "error-line-no-quantity"),
        (Kind::Quantity, _, Some(quantity)) => Ok(Goods::Quantity(quantity)),
    }
}

/// Returns the goods after a patch, or `None` if the patch does not change them. Without a kind, the line keeps its
/// own.
pub(super) fn patched(
    line: &Line,
    kind: Option<Kind>,
    serials: Option<Vec<Serial>>,
    quantity: Option<i64>,
) -> Result<Option<Goods>, Problem> {
    let has = Kind::from_goods(&line.goods);
    match (kind, &serials, quantity) {
        (None, None, None) => Ok(None),
        (Some(kind), None, None) if kind == has => Ok(None),
        (kind, ..) => goods("", kind.unwrap_or(has), serials, quantity).map(Some),
    }
}

/// Converts an invalid field of a task to a problem. An index is the position of the line.
pub(super) fn validation_problem(invalid: &Invalid) -> Problem {
    let field = match invalid.index {
        Some(index) => format!("lines[{index}].{}", invalid.field),
        None => invalid.field.to_owned(),
    };
    bad_field(&field, &invalid.fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::{Language, Texts};
    use turno::core::fault::Fault;

    fn field(problem: &Problem) -> String {
        let document = problem.document(&Texts::load(), Language::English, None);
        document["field"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn invalid_field_of_a_line_is_named_with_its_position() {
        let twice = Invalid::new("serials", Fault::Twice(Serial::new("S2A").expect("a valid serial")));
        let long = Invalid::new("title", Fault::Length { max: 200 });
        for (invalid, expected) in [(twice.clone().at(1), "lines[1].serials"), (long, "title")] {
            assert_eq!(field(&validation_problem(&invalid)), expected);
        }
        let twice = validation_problem(&twice).document(&Texts::load(), Language::Spanish, None);
        assert_eq!(twice["detail"], "El número de serie S2A está dos veces");
    }

    #[test]
    fn field_that_does_not_fit_the_kind_of_a_line_is_refused() {
        let serials = || Some(vec![Serial::new("A1").expect("a valid serial")]);
        assert_eq!(goods("", Kind::Serialized, serials(), None).expect("the fields fit the kind").units(), 1);
        assert_eq!(goods("", Kind::Quantity, None, Some(3)).expect("the fields fit the kind").units(), 3);
        for (kind, serials, quantity, wrong) in [
            (Kind::Serialized, serials(), Some(1), "x.quantity"),
            (Kind::Serialized, None, None, "x.serials"),
            (Kind::Serialized, Some(Vec::new()), None, "x.serials"),
            (Kind::Quantity, serials(), Some(1), "x.serials"),
            (Kind::Quantity, None, None, "x.quantity"),
        ] {
            assert_eq!(
                field(&goods("x.", kind, serials, quantity).expect_err("the fields do not fit the kind")),
                wrong
            );
        }
    }
}
