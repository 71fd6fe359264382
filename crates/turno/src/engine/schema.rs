//! Whether the database is there, with a schema that this program can use.

use super::Turno;
use crate::error::Error;
use crate::store::SchemaState;
use crate::stores;

/// Looks at the schema of the database that `url` names, and changes nothing: no schema is created, and no file.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let dir = std::env::temp_dir().join(format!("turno-doc-schema-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// let url = format!("sqlite:{}/doc.db", dir.display());
/// assert_eq!(turno::schema(&url).await?.found, 0, "there is no such file yet");
/// turno::Turno::open(&url).await?;
/// assert!(turno::schema(&url).await?.compatible);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), turno::Error>(()) }).unwrap();
/// ```
pub async fn schema(url: &str) -> Result<SchemaState, Error> {
    stores::schema(url).await
}

impl Turno {
    /// Asks the database whether it answers and still has a schema that this program can use: another instance may have
    /// brought a newer one. On SQLite also whether the file is still the one that was opened and can be written; the write
    /// is tried at most once a second.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-ready-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// assert_eq!(turno.ready().await, Ok(()));
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn ready(&self) -> Result<(), Error> {
        Ok(self.inner.store.ready().await?)
    }

    /// Settings of the database under which what was committed can be lost (`fsync = off`), for whoever decides whether
    /// to start on it.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-unsafe-settings-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// assert!(turno.unsafe_settings().await?.is_empty(), "on SQLite they are Turno's own");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn unsafe_settings(&self) -> Result<Vec<String>, Error> {
        Ok(self.inner.store.unsafe_settings().await?)
    }
}
