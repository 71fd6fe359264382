//! `turno bench`: where the benchmark is. It measures against the raw limit of the same database and brings a good deal
//! of its own for that, so it is a program of the repository and not part of this one.

use crate::failure::Failure;

/// What the benchmark takes: nothing here.
#[derive(clap::Args, Debug)]
pub(crate) struct BenchArgs {}

pub(crate) fn run(_: &BenchArgs) -> Result<(), Failure> {
    Err(Failure::failed(
        "the benchmark is not built into this program",
        "in a clone of the repository run `cargo run --release -p turno-bench -- --quick`; docs/internals/performance.md shows results",
    ))
}
