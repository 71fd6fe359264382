//! The databases behind the contract of `store`: the same tables, the same answers.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::clock::Clock;
use crate::error::Error;
use crate::store::Store;
use std::sync::Arc;

/// Opens the database that the URL names.
pub(crate) async fn open(url: &str, clock: Arc<Clock>) -> Result<Arc<dyn Store>, Error> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        return Ok(Arc::new(sqlite::open(path, clock).await?));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Arc::new(postgres::PostgresStore::open(url, clock).await?));
    }
    Err(Error::Invalid("the database must be given as sqlite:PATH or postgres://USER@HOST/DATABASE".to_owned()))
}
