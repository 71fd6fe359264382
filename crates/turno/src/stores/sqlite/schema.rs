//! Migrations: the files in order, each once, also if two processes start at the same time.

use super::statements as sql;
use crate::store::StoreError;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

/// One step of the schema.
struct Migration {
    /// Its number.
    version: i64,
    /// The oldest program, by the newest version it knows, that can go on beside this schema.
    min_compatible: i64,
    /// What it does.
    text: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, min_compatible: 1, text: include_str!("migrations/0001_engine.sql") },
    Migration { version: 2, min_compatible: 1, text: include_str!("migrations/0002_events.sql") },
    Migration { version: 3, min_compatible: 1, text: include_str!("migrations/0003_library.sql") },
    Migration { version: 4, min_compatible: 1, text: include_str!("migrations/0004_application.sql") },
    // An older program would hand out groups without their size.
    Migration { version: 5, min_compatible: 5, text: include_str!("migrations/0005_queue_reads.sql") },
];

/// Runs what is missing. A newer schema is fine as long as it says so.
///
/// The write lock is taken before the version is read: whoever comes second finds the work done.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let exists: bool = tx.query_row(sql::SCHEMA_EXISTS, [], |row| row.get(0))?;
    let stored: Option<(i64, i64)> = if exists {
        tx.query_row(sql::SCHEMA_READ, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?
    } else {
        None
    };
    let (version, min_compatible) = stored.unwrap_or((0, 0));
    if version > known && min_compatible > known {
        return Err(StoreError::Schema(format!(
            "the database has schema {version}, which needs a program that knows schema {min_compatible}; this one \
             knows {known}: install a newer turno"
        )));
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > version) {
        tx.execute_batch(migration.text)?;
        tx.execute(sql::SCHEMA_CLEAR, [])?;
        tx.execute(sql::SCHEMA_SAVE, [migration.version, migration.min_compatible])?;
    }
    tx.commit()?;
    Ok(())
}
