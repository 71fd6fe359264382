//! Checks of the database's schema and settings.

use super::Turno;
use crate::error::Error;
use crate::store::SchemaState;
use crate::stores;

/// Reads the schema version of the database at `url`. Changes nothing and creates no file.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let dir = std::env::temp_dir().join(format!("turno-doc-schema-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// let url = format!("sqlite:{}/doc.db", dir.display());
/// assert_eq!(turno::schema(&url).await?.found, 0, "the file does not exist yet");
/// turno::Turno::open(&url).await?;
/// assert!(turno::schema(&url).await?.compatible);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), turno::Error>(()) }).unwrap();
/// ```
pub async fn schema(url: &str) -> Result<SchemaState, Error> {
    stores::schema(url).await
}

impl Turno {
    /// Checks that the database answers and that this program can use its schema, because another instance may have
    /// upgraded it. On SQLite also checks that the file is still the opened one and writable; the write is tried at
    /// most once a second.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// assert_eq!(turno.ready().await, Ok(()));
    /// # Ok(()) });
    /// ```
    pub async fn ready(&self) -> Result<(), Error> {
        Ok(self.inner.store.ready().await?)
    }

    /// Returns settings of the database under which committed data can be lost (`fsync = off`), so that the program
    /// can decide whether to start.
    ///
    /// ```
    /// # use turno::Turno;
    /// # turno_testkit::example(async |turno| {
    /// assert!(turno.unsafe_settings().await?.is_empty(), "on SQLite, Turno chooses the settings");
    /// # Ok(()) });
    /// ```
    pub async fn unsafe_settings(&self) -> Result<Vec<String>, Error> {
        Ok(self.inner.store.unsafe_settings().await?)
    }
}
