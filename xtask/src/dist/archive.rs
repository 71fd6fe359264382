//! Archives that are the same for the same commit, and the list of checksums.

use std::path::{Path, PathBuf};

use super::program::tool;
use super::stage::Stage;
use super::{VERSION, files, source, text};
use crate::tools::{Problem, StepResult};

/// The file with the checksums, in the format of `sha256sum --check`.
const CHECKSUMS: &str = "SHA256SUMS";

/// Packs the program: `turno-VERSION-ARCHITECTURE-linux.tar.gz`.
pub(super) fn program(stage: &Stage, output: &Path) -> Result<PathBuf, Problem> {
    let name = format!("turno-{VERSION}-{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    pack(stage, &stage.folder, &name, &["."], output)
}

/// Packs `packaging/compose` and `packaging/kubernetes`: `turno-VERSION-manifests.tar.gz`.
pub(super) fn manifests(stage: &Stage, output: &Path) -> Result<PathBuf, Problem> {
    pack(stage, &source(""), &format!("turno-{VERSION}-manifests"), &["compose", "kubernetes"], output)
}

/// Packs entries of `folder` below the folder `name` of the archive.
fn pack(stage: &Stage, folder: &Path, name: &str, entries: &[&str], output: &Path) -> Result<PathBuf, Problem> {
    let plain = output.join(format!("{name}.tar"));
    let times = format!("--mtime=@{}", stage.epoch);
    let below = format!("--transform=s,^\\.\\?/\\?,{name}/,S");
    let fixed = ["--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rwX,go+rX,go-w"];
    let files = ["--create".to_owned(), "--file".to_owned(), text(&plain), "--directory".to_owned(), text(folder)];
    tool("tar").args(fixed).args([times, below]).args(files).args(entries).run()?;
    // Without name and time in gzip's header.
    tool("gzip").args(["--no-name", "--force", if stage.small { "-9" } else { "-1" }]).arg(&plain).run()?;
    Ok(output.join(format!("{name}.tar.gz")))
}

/// Writes the checksums of all files in the folder.
pub(super) fn checksums(output: &Path) -> StepResult {
    let find = ["-c", "find . -type f ! -name SHA256SUMS -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum"];
    let sums = tool("sh").args(find).within(output).capture()?;
    files::write(&output.join(CHECKSUMS), 0o644, sums)?;
    tool("sha256sum").args(["--check", "--quiet", CHECKSUMS]).within(output).run()
}
