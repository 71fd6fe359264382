//! Opening a database without migrating it.

use super::world::{World, fresh_url};
use std::sync::Arc;
use turno::clock::Clock;
use turno::store::{SchemaFault, StoreError};
use turno::{Error, Options, Turno};

super::cases![
    reading_the_schema_of_an_empty_database_creates_nothing,
    an_engine_without_migration_works_on_an_existing_schema,
    an_open_engine_reports_readiness,
];

fn cautious() -> Options {
    Options { clock: Arc::new(Clock::system()), sweep: false, migrate: false, ..Options::default() }
}

async fn reading_the_schema_of_an_empty_database_creates_nothing(world: World) {
    let (url, _directory) = fresh_url(world.backend()).await;
    let state = turno::schema(&url).await.unwrap();
    assert_eq!((state.found, state.compatible), (0, false));
    let refused = Turno::open_with(&url, cautious()).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Store(StoreError::Schema(SchemaFault::Missing { .. } | SchemaFault::Old { .. }))),
        "{refused}"
    );
    assert_eq!(turno::schema(&url).await.unwrap(), state, "no table was created");
}

async fn an_engine_without_migration_works_on_an_existing_schema(world: World) {
    let state = turno::schema(world.url()).await.unwrap();
    assert!(state.compatible && state.found == state.wanted && state.found > 0);
    let turno = Turno::open_with(world.url(), cautious()).await.unwrap();
    assert_eq!(turno.ready().await, Ok(()));
}

async fn an_open_engine_reports_readiness(world: World) {
    assert_eq!(world.turno.ready().await, Ok(()));
}
