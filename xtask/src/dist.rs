//! `cargo xtask dist`: the packages of Turno, in `target/dist/packages/`, beside what cargo builds for the profile `dist`.
//!
//! The sources are under `packaging/`. Archives and packages depend only on the commit: entries are sorted, and their
//! times are `SOURCE_DATE_EPOCH` or the commit's. `--check` installs, starts, upgrades and removes what was made.

mod archive;
mod crates;
mod deb;
mod files;
mod image;
mod licences;
mod lifecycle;
mod manifests;
mod program;
mod sandbox;
mod sbom;
mod stage;
mod unit;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::product;
use crate::tools::{Problem, StepResult, cargo, root, stopwatch};
use program::{prepare, tool};
use stage::Stage;

/// The version in names and in the package.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The cargo profile of packages, and the one of the checks, which is built by the tests anyway.
const RELEASED: &str = "dist";
const DEVELOPED: &str = "dev";

/// The arguments of the command.
#[derive(Debug, PartialEq)]
struct Options {
    profile: String,
    /// A program that was built elsewhere. `None` builds it.
    program: Option<PathBuf>,
    /// The base of the image. `None` makes no image, but the folder that it is built from.
    base: Option<image::Base>,
    check: bool,
}

impl Options {
    /// Returns the first unknown argument as the error.
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self { profile: RELEASED.into(), program: None, base: None, check: false };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().map(ToString::to_string).ok_or_else(|| (*argument).to_string());
            match *argument {
                "--profile" => options.profile = value()?,
                "--program" => options.program = Some(value()?.into()),
                "--image" => options.base = Some(image::Base::Registry),
                "--debootstrap" => options.base = Some(image::Base::Debootstrap),
                "--check" => options.check = true,
                unknown => return Err(unknown.into()),
            }
        }
        Ok(options)
    }
}

/// Makes the packages and, with `--check`, tests them.
pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(unknown) => {
            eprintln!("unknown argument or missing value: `{unknown}`; `cargo xtask` shows the usage");
            return ExitCode::from(2);
        }
    };
    let watch = stopwatch();
    let made = make(&options).and_then(|made| if options.check { check(&made) } else { Ok(()) });
    match made {
        Ok(()) => {
            println!("--- dist: ok, {:.1} s", watch().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!("--- dist: FAILED, {problem}");
            ExitCode::FAILURE
        }
    }
}

/// The files of a run.
struct Made {
    stage: Stage,
    package: PathBuf,
    /// The list of what the program contains.
    sbom: PathBuf,
}

fn make(options: &Options) -> Result<Made, Problem> {
    prepare(&["dpkg-shlibdeps", "jq", "strip", "systemd-analyze"])?;
    let output = folder("packages")?;
    files::empty_folder(&output)?;
    let program = options.program.clone().map_or_else(|| compile(&options.profile), Ok)?;
    let stage = Stage::make(&program, &options.profile)?;
    archive::program(&stage, &output)?;
    archive::manifests(&stage, &output)?;
    let package = deb::build(&stage, &deb::version(), &output)?;
    let context = image::context(&stage, &output)?;
    if let Some(base) = &options.base {
        image::build(base, &context, &output)?;
    }
    let sbom = sbom::write(&stage, &output)?;
    archive::checksums(&output)?;
    println!("made in {}:", output.display());
    tool("ls").args(["-l"]).arg(&output).run()?;
    Ok(Made { stage, package, sbom })
}

/// Builds `turno` and returns its path.
fn compile(profile: &str) -> Result<PathBuf, Problem> {
    if profile == DEVELOPED {
        product::build("turno")?;
        return product::built("turno");
    }
    cargo(&["build", "--locked", "--package", "turno-server", "--bin", "turno", "--profile", profile])?;
    Ok(product::target()?.join(profile).join("turno"))
}

/// The step `packaging` of `cargo xtask test`: everything that needs neither a release build nor another root folder.
pub(crate) fn test() -> StepResult {
    let options = Options { profile: DEVELOPED.into(), program: None, base: None, check: false };
    let made = make(&options)?;
    inspect(&made)
}

fn inspect(made: &Made) -> StepResult {
    unit::check(&made.stage)?;
    deb::check(&made.package)?;
    sbom::check(&made.sbom)?;
    manifests::compare()
}

fn check(made: &Made) -> StepResult {
    prepare(&["buildah", "debootstrap", "lintian"])?;
    inspect(made)?;
    deb::lint(&made.package)?;
    manifests::render()?;
    lifecycle::check(&made.stage, &made.package)?;
    image::check(&folder("packages")?.join(image::CONTEXT))
}

/// Returns a folder under `target/dist/`.
fn folder(name: &str) -> Result<PathBuf, Problem> {
    Ok(product::target()?.join("dist").join(name))
}

/// Returns a file or folder under `packaging/`.
fn source(path: &str) -> PathBuf {
    root().join("packaging").join(path)
}

/// Prints a claim and whether it holds. Returns an error if it does not.
fn expect(holds: bool, claim: &str) -> StepResult {
    println!("  {} {claim}", if holds { "ok " } else { "NOT" });
    if holds { Ok(()) } else { Err(Problem::failed(format!("not true: {claim}"))) }
}

/// Returns the path as text for a command line.
fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_take_a_profile_a_program_and_a_base() {
        let options = Options::parse(&["--profile", "dev", "--program", "turno", "--debootstrap", "--check"]);
        let base = Some(image::Base::Debootstrap);
        let wanted = Options { profile: "dev".into(), program: Some("turno".into()), base, check: true };
        assert_eq!(options, Ok(wanted));
    }

    #[test]
    fn an_unknown_option_and_a_missing_value_are_named() {
        assert_eq!(Options::parse(&["--nonsense"]), Err("--nonsense".into()));
        assert_eq!(Options::parse(&["--profile"]), Err("--profile".into()));
    }
}
