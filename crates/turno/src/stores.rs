//! The databases behind the contract of `store`: the same tables, the same answers.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::clock::Clock;
use crate::error::Error;
use crate::store::{SchemaState, Store};
use std::sync::Arc;

/// Opens the database that the URL names; its schema is brought up to date only if it may `migrate`.
pub(crate) async fn open(url: &str, clock: Arc<Clock>, migrate: bool) -> Result<Arc<dyn Store>, Error> {
    Ok(match place(url)? {
        Place::Sqlite(path) => Arc::new(sqlite::open(path, clock, migrate).await?),
        Place::Postgres => Arc::new(postgres::PostgresStore::open(url, clock, migrate).await?),
    })
}

/// The schema of the database that the URL names, which is only looked at.
pub(crate) async fn schema(url: &str) -> Result<SchemaState, Error> {
    Ok(match place(url)? {
        Place::Sqlite(path) => sqlite::schema(path).await?,
        Place::Postgres => postgres::PostgresStore::schema_of(url).await?,
    })
}

enum Place<'a> {
    Sqlite(&'a str),
    Postgres,
}

fn place(url: &str) -> Result<Place<'_>, Error> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        return Ok(Place::Sqlite(path));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Place::Postgres);
    }
    Err(Error::Invalid("the database must be given as sqlite:PATH or postgres://USER@HOST/DATABASE".to_owned()))
}
