//! Times in the API: RFC 3339, UTC, with milliseconds.

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use turno::core::time::Time;

/// A time for output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(pub(crate) Time);

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A time beyond the calendar means never. It is shown as the last representable instant.
        let at =
            Timestamp::from_millisecond(self.0.0).unwrap_or(if self.0.0 < 0 { Timestamp::MIN } else { Timestamp::MAX });
        write!(f, "{at:.3}")
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<Time> for Stamp {
    fn from(time: Time) -> Stamp {
        Stamp(time)
    }
}

impl utoipa::PartialSchema for Stamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .examples([serde_json::json!("2026-01-15T10:30:00.000Z")])
            .into()
    }
}

impl utoipa::ToSchema for Stamp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rendered_in_utc_with_milliseconds() {
        assert_eq!(Stamp(Time(1_736_937_000_000)).to_string(), "2025-01-15T10:30:00.000Z");
        assert_eq!(Stamp(Time(1_736_937_000_007)).to_string(), "2025-01-15T10:30:00.007Z");
        assert!(Stamp(Time(i64::MAX)).to_string().starts_with("9999-"));
    }
}
