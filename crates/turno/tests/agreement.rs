//! The model and the real stores agree on every answer to the same random commands.

use turno_testkit::agree::agree;
use turno_testkit::conformance::Backend;

/// Enough for every command to meet every condition many times. The simulator runs longer sequences.
const COMMANDS: usize = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_agrees_with_the_model_on_random_commands() {
    for seed in 1..=12 {
        agree(Backend::Sqlite, seed, COMMANDS).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_agrees_with_the_model_on_random_commands() {
    for seed in 1..=12 {
        agree(Backend::Postgres, seed, COMMANDS).await;
    }
}
