//! The setting of the examples in the library's documentation.

use crate::conformance::fresh_directory;
use turno::queue::{Kind, Policy, QueueHandle};
use turno::{Error, Turno};

/// Runs an example on a fresh SQLite database. Panics if the example fails, so that its doc test fails.
#[expect(clippy::unwrap_used, reason = "an example is a test")]
pub fn example(body: impl AsyncFnOnce(Turno) -> Result<(), Error>) {
    let directory = fresh_directory();
    let url = format!("sqlite:{}/doc.db", directory.display());
    let run = async { body(Turno::open(&url).await?).await };
    tokio::runtime::Runtime::new().unwrap().block_on(run).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
}

/// Runs an example on a fresh SQLite database with an inbox.
pub fn queue_example(body: impl AsyncFnOnce(Turno, QueueHandle) -> Result<(), Error>) {
    example(async |turno| {
        let queue = turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await?;
        body(turno, queue).await
    });
}
