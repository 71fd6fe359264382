//! What a database's schema is, compared with the one that this program knows.

use super::StoreError;

/// A schema, as found and as wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaState {
    /// The number of the database's schema; 0 if it has none yet.
    pub found: u32,
    /// The number of the newest schema that this program knows.
    pub wanted: u32,
    /// This program can work with it as it is: it is this one, or a newer one that allows it.
    pub compatible: bool,
}

impl SchemaState {
    /// The state of a database with schema `found`, which programs can use that know `min_compatible`.
    pub(crate) fn of(found: i64, min_compatible: i64, wanted: i64) -> SchemaState {
        let number = |version: i64| u32::try_from(version).unwrap_or(0);
        let compatible = found == wanted || (found > wanted && min_compatible <= wanted);
        SchemaState { found: number(found), wanted: number(wanted), compatible }
    }

    /// Says what to do if this program cannot work with it.
    pub(crate) fn required(self) -> Result<(), StoreError> {
        let SchemaState { found, wanted, compatible } = self;
        let text = match found {
            _ if compatible => return Ok(()),
            0 => format!("the database has no schema yet, and this program needs {wanted}; run turno migrate"),
            _ if found < wanted => {
                format!("the database has schema {found}, and this program needs {wanted}; run turno migrate")
            }
            _ => format!(
                "the database has schema {found}, which needs a newer program; this one knows {wanted}: upgrade it"
            ),
        };
        Err(StoreError::Schema(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_compatible_if_it_is_this_one_or_a_newer_one_that_allows_it() {
        let state = |found, min| SchemaState::of(found, min, 6);
        assert!(state(6, 4).compatible && state(6, 4).required().is_ok());
        assert!(state(9, 6).compatible && !state(9, 7).compatible);
        assert!(!state(5, 1).compatible && !state(0, 0).compatible);
        let said = |found, min| state(found, min).required().unwrap_err().to_string();
        assert!(said(0, 0).contains("no schema yet") && said(5, 1).contains("turno migrate"));
        assert!(said(9, 7).contains("upgrade"));
    }
}
