//! Migrates the schema to this version, also if several processes do so at the same time.

use super::call::Call;
use super::connection::Link;
use super::row::get;
use super::sql;
use crate::store::{SchemaFault, SchemaState, StoreError};
use tokio_postgres::Row;

/// A migration, and the oldest schema version whose programs can use the schema after it.
pub(super) struct Migration {
    version: i32,
    min_compatible: i32,
    text: &'static str,
}

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, min_compatible: 1, text: include_str!("migrations/0001_engine.sql") },
    Migration { version: 2, min_compatible: 1, text: include_str!("migrations/0002_events.sql") },
    Migration { version: 3, min_compatible: 1, text: include_str!("migrations/0003_library.sql") },
    // An older program would take back deliveries that a transaction is completing.
    Migration { version: 4, min_compatible: 4, text: include_str!("migrations/0004_application.sql") },
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

/// Applies the missing migrations in one transaction: all of them or none.
pub(super) async fn migrate(link: &mut Link) -> Result<(), StoreError> {
    let result = steps(link, MIGRATIONS).await;
    if result.is_err() {
        link.abandon();
    }
    result
}

/// Reads the version of the database's schema, and changes nothing.
pub(super) async fn look(link: &mut Link) -> Result<SchemaState, StoreError> {
    let answers = link.trip(&[Call::new(&sql::SCHEMA_EXISTS)]).await?;
    let exists: bool = first(&answers).map_or(Ok(false), |row| get(row, 0))?;
    if !exists {
        return state(&[]);
    }
    state(&link.trip(&[Call::new(&sql::SCHEMA_READ)]).await?.concat())
}

/// Builds the state from the rows of the schema table.
pub(super) fn state(rows: &[Row]) -> Result<SchemaState, StoreError> {
    let mine = MIGRATIONS.last().map_or(0, |migration| migration.version);
    let (has, min_compatible): (i32, i32) = match rows.first() {
        Some(row) => (get(row, 0)?, get(row, 1)?),
        None => (0, 0),
    };
    Ok(SchemaState::new(has.into(), min_compatible.into(), mine.into()))
}

async fn steps(link: &mut Link, migrations: &[Migration]) -> Result<(), StoreError> {
    let calls = [Call::new(&sql::BEGIN), Call::new(&sql::SCHEMA_LOCK), Call::new(&sql::SCHEMA_EXISTS)];
    let answers = link.trip(&calls).await?;
    let exists: bool = first(&answers).map_or(Ok(false), |row| get(row, 0))?;
    let mine = migrations.last().map_or(0, |migration| migration.version);
    let number = |version: i32| u32::try_from(version).unwrap_or(0);
    let mut has = 0;
    if exists {
        let answers = link.trip(&[Call::new(&sql::SCHEMA_READ)]).await?;
        if let Some(row) = first(&answers) {
            has = get(row, 0)?;
            let min_compatible: i32 = get(row, 1)?;
            if min_compatible > mine {
                return Err(StoreError::Schema(SchemaFault::New { found: number(has), wanted: number(mine) }));
            }
        }
    }
    for migration in migrations.iter().filter(|migration| migration.version > has) {
        link.script(migration.text).await?;
        let note = Call::new(&sql::SCHEMA_SAVE).int(migration.version).int(migration.min_compatible);
        link.trip(&[note]).await?;
    }
    link.trip(&[Call::new(&sql::COMMIT)]).await?;
    Ok(())
}

fn first(answers: &[Vec<Row>]) -> Option<&Row> {
    answers.last().and_then(|rows| rows.first())
}
