//! Makes sure that PostgreSQL's programs and PgBouncer are installed, because the tests start private clusters and
//! poolers.
//!
//! Nothing is started here, and no system cluster is used. For root on a Debian-like machine the package is
//! installed, so that a fresh CI container needs no preparation. Elsewhere the step fails and a person decides.

use std::path::{Path, PathBuf};

use crate::tools::{self, Problem, StepResult, answers, is_root};

/// Debian's folder of versions: each has its programs in `VERSION/bin`.
pub(crate) const DEBIAN: &str = "/usr/lib/postgresql";
const CLUSTER_CONFIGURATION: &str = "/etc/postgresql-common/createcluster.conf";

/// Finds the newest PostgreSQL and PgBouncer, and installs them if possible.
pub(crate) fn prepare() -> StepResult {
    prepare_server()?;
    prepare_pooler()
}

/// The testkit looks in the same places.
fn prepare_pooler() -> StepResult {
    let is_here = || {
        let packaged = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].iter().any(|path| Path::new(path).is_file());
        packaged || answers("pgbouncer", &["--version"])
    };
    let missing = |what: &str| Problem::Missing {
        what: format!("PgBouncer ({what})"),
        get: "install it (Debian: `apt-get install pgbouncer`, Fedora: `dnf install pgbouncer`, \
              macOS: `brew install pgbouncer`)"
            .into(),
    };
    if is_here() {
        return Ok(());
    }
    if !(is_root() && answers("apt-get", &["--version"])) {
        return Err(missing("pgbouncer was not found"));
    }
    println!("PgBouncer was not found; installing Debian's package");
    let install = ["install", "-y", "--no-install-recommends", "pgbouncer"];
    tools::apt(&["update"]).and_then(|()| tools::apt(&install)).map_err(|why| missing(&why))?;
    if is_here() { Ok(()) } else { Err(missing("apt-get installed it, but pgbouncer was still not found")) }
}

fn prepare_server() -> StepResult {
    if let Some(folder) = find() {
        println!("PostgreSQL: {}", folder.display());
        return Ok(());
    }
    // If the variable names a wrong folder, an installation would not help.
    let named = std::env::var_os("TURNO_PG_BIN").is_some();
    if named || !(is_root() && answers("apt-get", &["--version"])) {
        return Err(missing("initdb and postgres were not found"));
    }
    println!("PostgreSQL was not found; installing Debian's package");
    keep_debian_from_starting_a_cluster();
    apt(&["update"])?;
    apt(&["install", "-y", "--no-install-recommends", "postgresql"])?;
    match find() {
        Some(folder) => {
            println!("PostgreSQL: {}", folder.display());
            Ok(())
        }
        None => Err(missing("apt-get installed it, but initdb and postgres were still not found")),
    }
}

/// Returns `$TURNO_PG_BIN`, else Debian's newest version, else the search path. The testkit uses the same order.
pub(crate) fn find() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("TURNO_PG_BIN") {
        // A folder that is named explicitly is never replaced by another version, which would hide the mistake.
        return Some(PathBuf::from(folder)).filter(|folder| is_server(folder));
    }
    newest(Path::new(DEBIAN)).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| is_server(folder))
    })
}

fn newest(versions: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(versions).ok()?;
    let numbered = entries.flatten().filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path().join("bin")))
    });
    numbered.filter(|(_, folder)| is_server(folder)).max().map(|(_, folder)| folder)
}

pub(crate) fn is_server(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file())
}

fn missing(what: &str) -> Problem {
    let named = match std::env::var("TURNO_PG_BIN") {
        Ok(folder) => format!(" in TURNO_PG_BIN={folder}"),
        Err(_) => String::new(),
    };
    Problem::Missing {
        what: format!("a PostgreSQL server ({what}{named})"),
        get: "install it (Debian: `apt-get install postgresql`, Fedora: `dnf install postgresql-server`, \
              macOS: `brew install postgresql`) or set TURNO_PG_BIN to the folder of its programs"
            .into(),
    }
}

/// Keeps Debian's package from creating and starting a cluster on port 5432. A failure is ignored, because the tests
/// never use such a cluster. An existing file is left alone, because an administrator may have written it.
fn keep_debian_from_starting_a_cluster() {
    let file = Path::new(CLUSTER_CONFIGURATION);
    if file.exists() {
        return;
    }
    let written = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    if let Err(error) = written.and_then(|()| std::fs::write(file, "create_main_cluster = false\n")) {
        println!(
            "could not write {CLUSTER_CONFIGURATION} ({error}); the package may start a cluster, which is harmless"
        );
    }
}

fn apt(arguments: &[&str]) -> StepResult {
    tools::apt(arguments).map_err(|why| missing(&why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_version_wins_by_number_not_by_name() {
        let folder = std::env::temp_dir().join(format!("turno-xtask-postgres-{}", std::process::id()));
        for (version, programs) in
            [("9", &["initdb", "postgres"][..]), ("15", &["initdb", "postgres"]), ("17", &["initdb"])]
        {
            let bin = folder.join(version).join("bin");
            std::fs::create_dir_all(&bin).expect("the temporary folder is writable");
            for program in programs {
                std::fs::write(bin.join(program), "").expect("the temporary folder is writable");
            }
        }
        let found = newest(&folder);
        std::fs::remove_dir_all(&folder).expect("the folder was created above");
        assert_eq!(found, Some(folder.join("15/bin")));
    }
}
