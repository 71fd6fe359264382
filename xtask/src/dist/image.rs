//! The container image, built with `buildah`, which needs neither a daemon nor, with chroot isolation, namespaces.

use std::path::{Path, PathBuf};

use super::program::{Tool, tool};
use super::stage::Stage;
use super::{VERSION, expect, files, folder, sandbox, source};
use crate::product::{Running, get};
use crate::tools::{Problem, StepResult};

/// The folder that the image is built from, among the packages.
pub(super) const CONTEXT: &str = "container";
const BASE_IMAGE: &str = "localhost/turno-base";

/// What the image is built on.
#[derive(Debug, PartialEq)]
pub(super) enum Base {
    /// The Containerfile's default, from a registry.
    Registry,
    /// A base made here, where no registry can be reached.
    Debootstrap,
}

/// Makes the folder for `buildah build` and `docker build`.
pub(super) fn context(stage: &Stage, output: &Path) -> Result<PathBuf, Problem> {
    let context = output.join(CONTEXT);
    files::copy(&source("container/Containerfile"), &context.join("Containerfile"), 0o644)?;
    files::copy(&stage.program(), &context.join("turno"), 0o755)?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"] {
        files::copy(&stage.folder.join(name), &context.join(name), 0o644)?;
    }
    Ok(context)
}

/// Builds the image and writes it as `turno-VERSION-image.tar`, for `docker load` and `podman load`.
pub(super) fn build(base: &Base, context: &Path, output: &Path) -> StepResult {
    let base = match base {
        Base::Registry => None,
        Base::Debootstrap => Some(make_base()?),
    };
    let arguments = base.map_or_else(Vec::new, |base| vec!["--build-arg".to_owned(), format!("BASE={base}")]);
    let build = buildah()?.args(["build", "--isolation=chroot", "--format=docker", "--tag", &name()]);
    build.args(arguments).arg(context).run()?;
    let archive = output.join(format!("turno-{VERSION}-image.tar"));
    // buildah refuses to write over an archive of an earlier run. A missing file needs no removal.
    let _ = std::fs::remove_file(&archive);
    buildah()?.args(["push", &name()]).arg(format!("docker-archive:{}:turno:{VERSION}", archive.display())).run()
}

/// Makes an image of the fresh system and returns its name.
fn make_base() -> Result<String, Problem> {
    let base = sandbox::base()?;
    let work = folder("work/base-image")?;
    files::empty_folder(&work)?;
    tool("tar")
        .args(["--create", "--numeric-owner", "--file"])
        .arg(work.join("base.tar"))
        .arg("--directory")
        .arg(&base)
        .arg(".")
        .run()?;
    files::write(&work.join("Containerfile"), 0o644, "FROM scratch\nADD base.tar /\nCMD [\"sh\"]\n")?;
    buildah()?.args(["build", "--isolation=chroot", "--tag", BASE_IMAGE]).arg(&work).run()?;
    Ok(BASE_IMAGE.into())
}

fn name() -> String {
    format!("localhost/turno:{VERSION}")
}

/// `buildah` with its own storage, so that images of this machine's user are not touched.
fn buildah() -> Result<Tool, Problem> {
    let storage = folder("work/images")?;
    let places = [format!("--root={}/root", storage.display()), format!("--runroot={}/run", storage.display())];
    Ok(tool("buildah").args(places).arg("--storage-driver=vfs"))
}

/// Builds the image on a local base, compares its settings, and runs its command as its user.
pub(super) fn check(context: &Path) -> StepResult {
    build(&Base::Debootstrap, context, &folder("work")?)?;
    let setting = |path: &str| -> Result<String, Problem> {
        let format = format!("{{{{.Docker.Config.{path}}}}}");
        Ok(buildah()?.args(["inspect", "--type=image", "--format", &format, &name()]).capture()?.trim().to_owned())
    };
    expect(setting("User")? == "10001:10001", "the image's user is not root")?;
    let health = setting("Healthcheck.Test")?;
    expect(health == "[CMD turno healthcheck]", &format!("the image has a health check: {health}"))?;

    let container = buildah()?.args(["from", &name()]).capture()?;
    let container = container.trim();
    let ran = run_container(container);
    let removed = buildah()?.args(["rm", container]).capture();
    ran.and(removed.map(|_| ()))
}

fn run_container(container: &str) -> StepResult {
    let within = |arguments: &[&str]| -> Result<Tool, Problem> {
        Ok(buildah()?.args(["run", "--isolation=chroot", container, "--"]).args(arguments))
    };
    let who = within(&["id", "-u"])?.capture()?;
    expect(who.trim() == "10001", &format!("programs in the container run as user 10001 (it was: {})", who.trim()))?;
    let refused = within(&["turno", "serve"])?.output()?;
    expect(!refused.status.success(), "`turno serve` refuses a public address without HTTPS")?;

    // Port 0 and the loopback address, because chroot isolation shares the network of this machine.
    let command = within(&["turno", "serve", "--listen", "127.0.0.1:0"])?.into_command();
    let mut server = Running::start(command)?;
    let address = server.listening()?;
    get(address, "/readyz")?;
    let healthy = within(&["turno", "healthcheck", "--server", &format!("http://{address}")])?;
    expect(healthy.capture().is_ok(), "the health check succeeds while the server runs")?;
    // A container engine signals the program. buildah itself would end with an error.
    let program = program_below(server.id()).ok_or_else(|| Problem::failed("no turno runs in the container"))?;
    let (status, _) = server.stop_by(program)?;
    expect(status.success(), &format!("the container ends with exit code 0 (it was: {status})"))?;
    let healthy = within(&["turno", "healthcheck", "--server", &format!("http://{address}")])?;
    expect(healthy.capture().is_err(), "the health check fails without a server")
}

/// Returns the process `turno` among the descendants of a process. Every thread lists the children that it started.
fn program_below(process: u32) -> Option<u32> {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    if name.trim() == "turno" {
        return Some(process);
    }
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<String> = children.collect();
    let mut ids = children.iter().flat_map(|list| list.split_whitespace()).filter_map(|id| id.parse().ok());
    ids.find_map(program_below)
}
