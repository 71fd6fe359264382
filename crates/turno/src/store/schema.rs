//! The schema of a database, compared with the one that this program knows.

use super::{SchemaFault, StoreError};

/// The schema's version, found and wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaState {
    /// The version of the database's schema; 0 if it has none yet.
    pub found: u32,
    /// The newest version that this program knows.
    pub wanted: u32,
    /// Whether this program can use the schema as it is: the versions are equal, or the newer schema permits this one.
    pub compatible: bool,
}

impl SchemaState {
    /// Returns the state of a database with version `found`, which programs that know `min_compatible` or newer can
    /// use.
    pub(crate) fn new(found: i64, min_compatible: i64, wanted: i64) -> SchemaState {
        let number = |version: i64| u32::try_from(version).unwrap_or(0);
        let compatible = found == wanted || (found > wanted && min_compatible <= wanted);
        SchemaState { found: number(found), wanted: number(wanted), compatible }
    }

    /// Returns an error that says what to do, if this program cannot use the schema.
    pub(crate) fn required(self) -> Result<(), StoreError> {
        let SchemaState { found, wanted, compatible } = self;
        Err(StoreError::Schema(match found {
            _ if compatible => return Ok(()),
            0 => SchemaFault::Missing { wanted },
            _ if found < wanted => SchemaFault::Old { found, wanted },
            _ => SchemaFault::New { found, wanted },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equal_schema_or_a_newer_one_that_permits_this_version_is_compatible() {
        let state = |found, min| SchemaState::new(found, min, 6);
        assert!(state(6, 4).compatible && state(6, 4).required().is_ok());
        assert!(state(9, 6).compatible && !state(9, 7).compatible);
        assert!(!state(5, 1).compatible && !state(0, 0).compatible);
        let refusal = |found, min| state(found, min).required().unwrap_err().to_string();
        assert!(refusal(0, 0).contains("no schema yet") && refusal(5, 1).contains("turno migrate"));
        assert!(refusal(9, 7).contains("upgrade"));
    }
}
