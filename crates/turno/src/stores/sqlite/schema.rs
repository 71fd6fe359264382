//! Migrations: the files in order, each once, also if several processes start at the same time.

use super::sql;
use crate::store::{SchemaFault, SchemaState, StoreError};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

/// A migration.
struct Migration {
    /// The schema's version after it.
    version: i64,
    /// The oldest schema version whose programs can use the schema after it.
    min_compatible: i64,
    /// The statements.
    text: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, min_compatible: 1, text: include_str!("migrations/0001_engine.sql") },
    Migration { version: 2, min_compatible: 1, text: include_str!("migrations/0002_events.sql") },
    Migration { version: 3, min_compatible: 1, text: include_str!("migrations/0003_library.sql") },
    Migration { version: 4, min_compatible: 1, text: include_str!("migrations/0004_application.sql") },
    // An older program would hand out groups without their size.
    Migration { version: 5, min_compatible: 5, text: include_str!("migrations/0005_queue_reads.sql") },
    Migration { version: 6, min_compatible: 5, text: include_str!("migrations/0006_answers.sql") },
    Migration { version: 7, min_compatible: 5, text: include_str!("migrations/0007_sync.sql") },
    Migration { version: 8, min_compatible: 5, text: include_str!("migrations/0008_push.sql") },
    Migration { version: 9, min_compatible: 5, text: include_str!("migrations/0009_attempts.sql") },
    Migration { version: 10, min_compatible: 5, text: include_str!("migrations/0010_absorbed.sql") },
    Migration { version: 11, min_compatible: 5, text: include_str!("migrations/0011_came_back.sql") },
    Migration { version: 12, min_compatible: 5, text: include_str!("migrations/0012_action.sql") },
    Migration { version: 13, min_compatible: 5, text: include_str!("migrations/0013_lives.sql") },
    Migration { version: 14, min_compatible: 5, text: include_str!("migrations/0014_lease_expiry.sql") },
    Migration { version: 15, min_compatible: 5, text: include_str!("migrations/0015_outage.sql") },
    Migration { version: 16, min_compatible: 5, text: include_str!("migrations/0016_intake.sql") },
    Migration { version: 17, min_compatible: 5, text: include_str!("migrations/0017_applied_lines.sql") },
    Migration { version: 18, min_compatible: 5, text: include_str!("migrations/0018_scopes.sql") },
    Migration { version: 19, min_compatible: 5, text: include_str!("migrations/0019_private_events.sql") },
    Migration { version: 20, min_compatible: 5, text: include_str!("migrations/0020_lease_holder.sql") },
    Migration { version: 21, min_compatible: 5, text: include_str!("migrations/0021_sign_in_pace.sql") },
    Migration { version: 22, min_compatible: 5, text: include_str!("migrations/0022_identity.sql") },
    Migration { version: 23, min_compatible: 5, text: include_str!("migrations/0023_sync_mark.sql") },
];

/// Returns the newest version that this program knows.
fn known() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Returns the schema's version, and the oldest one whose programs can use it; zeros if there is no schema.
fn stored(connection: &Connection) -> Result<(i64, i64), StoreError> {
    let exists: bool = connection.query_row(&sql::SCHEMA_EXISTS, [], |row| row.get(0))?;
    if !exists {
        return Ok((0, 0));
    }
    let stored = connection.query_row(&sql::SCHEMA_READ, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(stored.unwrap_or((0, 0)))
}

/// Reads the schema's version.
pub(super) fn state(connection: &Connection) -> Result<SchemaState, StoreError> {
    let (version, min_compatible) = stored(connection)?;
    Ok(SchemaState::new(version, min_compatible, known()))
}

/// Returns the state of a file that does not exist.
pub(super) fn none() -> SchemaState {
    SchemaState::new(0, 0, known())
}

/// Applies the missing migrations. Accepts a newer schema if that permits this program.
///
/// Takes the write lock before reading the version, so that a second process finds the work done.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let known = known();
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (version, min_compatible) = stored(&tx)?;
    if version > known && min_compatible > known {
        let number = |version| u32::try_from(version).unwrap_or(0);
        return Err(StoreError::Schema(SchemaFault::New { found: number(version), wanted: number(known) }));
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > version) {
        tx.execute_batch(migration.text)?;
        tx.execute(&sql::SCHEMA_CLEAR, [])?;
        tx.execute(&sql::SCHEMA_SAVE, [migration.version, migration.min_compatible])?;
    }
    tx.commit()?;
    Ok(())
}
