//! Looking at the schema, and refusing to touch it.

use super::world::{World, fresh_url};
use std::sync::Arc;
use turno::clock::Clock;
use turno::store::StoreError;
use turno::{Error, Options, Turno};

super::cases![
    a_database_without_a_schema_is_looked_at_and_not_touched,
    an_engine_that_may_not_migrate_works_on_a_schema_that_is_there,
    an_open_engine_says_whether_it_is_ready,
];

fn cautious() -> Options {
    Options { clock: Arc::new(Clock::system()), sweep: false, migrate: false, ..Options::default() }
}

async fn a_database_without_a_schema_is_looked_at_and_not_touched(world: World) {
    let (url, _directory) = fresh_url(world.backend()).await;
    let state = turno::schema(&url).await.unwrap();
    assert_eq!((state.found, state.compatible), (0, false));
    let refused = Turno::open_with(&url, cautious()).await.unwrap_err();
    assert!(matches!(&refused, Error::Store(StoreError::Schema(text)) if text.contains("migrate")), "{refused}");
    assert_eq!(turno::schema(&url).await.unwrap(), state, "nothing was made");
}

async fn an_engine_that_may_not_migrate_works_on_a_schema_that_is_there(world: World) {
    let state = turno::schema(world.url()).await.unwrap();
    assert!(state.compatible && state.found == state.wanted && state.found > 0);
    let turno = Turno::open_with(world.url(), cautious()).await.unwrap();
    assert_eq!(turno.ready().await, Ok(()));
}

async fn an_open_engine_says_whether_it_is_ready(world: World) {
    assert_eq!(world.turno.ready().await, Ok(()));
}
