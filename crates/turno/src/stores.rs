//! The databases behind the contract in `store`. Both have the same tables and give the same answers.

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
mod statement;

use crate::engine::Options;
use crate::error::{Error, Misuse};
use crate::store::{SchemaState, Store};
use std::sync::Arc;

/// Opens the database that the URL names. Creates or upgrades the schema only if the options say so.
pub(crate) async fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>, Error> {
    let (clock, migrate) = (options.clock.clone(), options.migrate);
    Ok(match parse_url(url)? {
        #[cfg(feature = "sqlite")]
        Backend::Sqlite(path) => Arc::new(sqlite::open(path, clock, migrate).await?),
        #[cfg(feature = "postgres")]
        Backend::Postgres(url) => {
            Arc::new(postgres::PostgresStore::open(url, options.direct.as_deref(), clock, migrate).await?)
        }
    })
}

/// Reads the schema's version of the database that the URL names, and changes nothing.
pub(crate) async fn schema(url: &str) -> Result<SchemaState, Error> {
    Ok(match parse_url(url)? {
        #[cfg(feature = "sqlite")]
        Backend::Sqlite(path) => sqlite::schema(path).await?,
        #[cfg(feature = "postgres")]
        Backend::Postgres(url) => postgres::PostgresStore::schema_of(url).await?,
    })
}

/// The database of a URL.
enum Backend<'a> {
    /// The path of a file.
    #[cfg(feature = "sqlite")]
    Sqlite(&'a str),
    /// The whole URL, or libpq's `key=value` text.
    #[cfg(feature = "postgres")]
    Postgres(&'a str),
}

fn parse_url(url: &str) -> Result<Backend<'_>, Error> {
    #[cfg(feature = "sqlite")]
    if let Some(path) = url.strip_prefix("sqlite:") {
        return Ok(Backend::Sqlite(path));
    }
    #[cfg(feature = "postgres")]
    if postgres::url::PostgresUrl::recognizes(url) {
        return Ok(Backend::Postgres(url));
    }
    Err(Misuse::DatabaseUrl.into())
}
