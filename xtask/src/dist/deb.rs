//! The Debian package, built with `dpkg-deb`.

use std::path::{Path, PathBuf};

use super::program::tool;
use super::stage::Stage;
use super::{VERSION, expect, files, folder, source};
use crate::tools::{Problem, StepResult};

const SCRIPTS: &[&str] = &["postinst", "postrm", "prerm"];
/// Files that the package must contain, with permissions and owner as `dpkg-deb --contents` prints them.
const CONTENTS: &[(&str, &str)] = &[
    ("-rwxr-xr-x root/root", "./usr/bin/turno"),
    ("-rw-r--r-- root/root", "./etc/turno/turno.toml"),
    ("-rw------- root/root", "./etc/default/turno"),
    ("-rw-r--r-- root/root", "./lib/systemd/system/turno.service"),
    ("-rw-r--r-- root/root", "./usr/lib/sysusers.d/turno.conf"),
    ("-rw-r--r-- root/root", "./usr/share/bash-completion/completions/turno"),
    ("-rw-r--r-- root/root", "./usr/share/fish/vendor_completions.d/turno.fish"),
    ("-rw-r--r-- root/root", "./usr/share/zsh/vendor-completions/_turno"),
    ("-rw-r--r-- root/root", "./usr/share/man/man1/turno.1.gz"),
    ("-rw-r--r-- root/root", "./usr/share/man/man1/turno-serve.1.gz"),
    ("-rw-r--r-- root/root", "./usr/share/doc/turno/copyright"),
    ("-rw-r--r-- root/root", "./usr/share/doc/turno/configuration.md"),
];

/// Returns the version of the package: the program's, and the package's first revision.
pub(super) fn version() -> String {
    format!("{VERSION}-1")
}

/// Builds the package with this version number and returns its path.
pub(super) fn build(stage: &Stage, version: &str, output: &Path) -> Result<PathBuf, Problem> {
    let tree = folder("work/deb")?;
    files::empty_folder(&tree)?;
    add_files(stage, version, &tree)?;
    let architecture = tool("dpkg").arg("--print-architecture").capture()?;
    add_control(version, architecture.trim(), &tree)?;
    let package = output.join(format!("turno_{version}_{}.deb", architecture.trim()));
    let compression: &[&str] = if stage.small { &["-Zxz"] } else { &["-Zgzip", "-z1"] };
    let build = tool("dpkg-deb").args(["--build", "--root-owner-group"]).args(compression);
    build.args([&tree, &package]).env("SOURCE_DATE_EPOCH", &stage.epoch).run()?;
    Ok(package)
}

fn add_files(stage: &Stage, version: &str, tree: &Path) -> StepResult {
    let copies = [
        ("turno.toml", "etc/turno/turno.toml"),
        ("turno.service", "lib/systemd/system/turno.service"),
        ("turno.sysusers", "usr/lib/sysusers.d/turno.conf"),
        ("completions/turno.bash", "usr/share/bash-completion/completions/turno"),
        ("completions/turno.fish", "usr/share/fish/vendor_completions.d/turno.fish"),
        ("completions/_turno", "usr/share/zsh/vendor-completions/_turno"),
        ("configuration.md", "usr/share/doc/turno/configuration.md"),
        ("THIRD-PARTY.txt", "usr/share/doc/turno/THIRD-PARTY.txt"),
        ("CHANGELOG.md", "usr/share/doc/turno/changelog"),
    ];
    for (from, to) in copies {
        files::copy(&stage.folder.join(from), &tree.join(to), 0o644)?;
    }
    files::copy(&stage.program(), &tree.join("usr/bin/turno"), 0o755)?;
    files::copy(&source("deb/default"), &tree.join("etc/default/turno"), 0o600)?;
    files::copy(&source("deb/copyright"), &tree.join("usr/share/doc/turno/copyright"), 0o644)?;
    files::write(&tree.join("usr/share/doc/turno/changelog.Debian"), 0o644, changelog(stage, version)?)?;
    files::make_folder(&tree.join("usr/share/man"))?;
    tool("cp").arg("-r").arg(stage.folder.join("man/man1")).arg(tree.join("usr/share/man")).run()?;
    let documents = "find usr/share/man usr/share/doc/turno/changelog* -type f -exec gzip -9n {} + \
                     && chmod -R u=rwX,go=rX usr/share/man usr/share/doc";
    tool("sh").args(["-c", documents]).within(tree).run()
}

/// Returns the changelog that Debian's tools read. Ours is beside it.
fn changelog(stage: &Stage, version: &str) -> Result<String, Problem> {
    let date = tool("date").args(["--utc", "--rfc-email", "--date"]).arg(format!("@{}", stage.epoch)).capture()?;
    let maintainer = files::read(&source("deb/control"))?;
    let maintainer = maintainer.lines().find_map(|line| line.strip_prefix("Maintainer: ")).unwrap_or_default();
    Ok(format!(
        "turno ({version}) stable; urgency=medium\n\n  * Changes: /usr/share/doc/turno/changelog.gz\n\n \
         -- {maintainer}  {}\n",
        date.trim()
    ))
}

fn add_control(version: &str, architecture: &str, tree: &Path) -> StepResult {
    let libraries = libraries(tree)?;
    let size = tool("du").args(["--summarize", "--apparent-size", "--block-size=1024"]).arg(tree).capture()?;
    let size = size.split_whitespace().next().unwrap_or("0");
    let control = files::read(&source("deb/control"))?
        .replace("@VERSION@", version)
        .replace("@ARCHITECTURE@", architecture)
        .replace("@SIZE@", size)
        .replace("@LIBRARIES@", &libraries);
    files::write(&tree.join("DEBIAN/control"), 0o644, control)?;
    files::copy(&source("deb/conffiles"), &tree.join("DEBIAN/conffiles"), 0o644)?;
    for script in SCRIPTS {
        files::copy(&source("deb").join(script), &tree.join("DEBIAN").join(script), 0o755)?;
    }
    let sums = "find usr lib -type f -printf '%P %H/%P\\n' | LC_ALL=C sort | cut -d' ' -f2 | xargs md5sum";
    let sums = tool("sh").args(["-c", sums]).within(tree).capture()?;
    files::write(&tree.join("DEBIAN/md5sums"), 0o644, sums)
}

/// Returns the packages of the libraries that the program is linked with, such as `libc6 (>= 2.34)`.
fn libraries(tree: &Path) -> Result<String, Problem> {
    // dpkg-shlibdeps reads the control file of a source package.
    let work = folder("work/shlibdeps")?;
    files::write(&work.join("debian/control"), 0o644, "Source: turno\n\nPackage: turno\nArchitecture: any\n")?;
    let program = tree.join("usr/bin/turno");
    let found = tool("dpkg-shlibdeps").arg("-O").arg(program).within(&work).capture()?;
    let found = found.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    found.map(str::to_owned).ok_or_else(|| Problem::failed("dpkg-shlibdeps found no libraries"))
}

/// Checks contents, dependencies, configuration files and scripts of a built package.
pub(super) fn check(package: &Path) -> StepResult {
    let contents = tool("dpkg-deb").arg("--contents").arg(package).capture()?;
    for (mode, path) in CONTENTS {
        let found = contents.lines().find(|line| line.split_whitespace().next_back() == Some(path));
        expect(found.is_some_and(|line| line.starts_with(mode)), &format!("the package has {path} as {mode}"))?;
    }
    let field = |name: &str| tool("dpkg-deb").arg("--field").arg(package).arg(name).capture();
    let depends = field("Depends")?;
    expect(depends.contains("libc6 (>= "), &format!("it depends on its libraries: {}", depends.trim()))?;
    expect(field("Version")?.trim() == version(), &format!("its version is {}", version()))?;
    for script in SCRIPTS {
        tool("sh").arg("-n").arg(source("deb").join(script)).run()?;
    }
    let control = tool("dpkg-deb").arg("--info").arg(package).arg("conffiles").capture()?;
    expect(control == files::read(&source("deb/conffiles"))?, "its configuration files are the listed ones")
}

/// Runs Debian's own check of packages. Errors fail; warnings are shown.
pub(super) fn lint(package: &Path) -> StepResult {
    tool("lintian").args(["--allow-root", "--fail-on=error"]).arg(package).run()
}
