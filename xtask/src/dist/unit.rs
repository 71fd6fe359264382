//! The systemd unit: parsed, verified, and rated by `systemd-analyze`.

use std::path::Path;

use super::program::tool;
use super::stage::Stage;
use super::{expect, files, folder, source};
use crate::tools::{Problem, StepResult};

/// The highest exposure that `systemd-analyze security` may find, on its scale from 0 to 10.
const MOST_EXPOSURE: f64 = 2.0;

/// The assignments of a unit file, in their order.
pub(super) struct Unit {
    assignments: Vec<(String, String)>,
}

impl Unit {
    pub(super) fn read(path: &Path) -> Result<Self, Problem> {
        Ok(Self::parse(&files::read(path)?))
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '[']));
        let pairs = lines.filter_map(|line| line.split_once('='));
        Self { assignments: pairs.map(|(key, value)| (key.trim().into(), value.trim().into())).collect() }
    }

    /// Returns the last value of a key, which wins over earlier ones.
    pub(super) fn value(&self, key: &str) -> Result<&str, Problem> {
        let last = self.values(key).last();
        last.ok_or_else(|| Problem::failed(format!("the unit has no `{key}`")))
    }

    pub(super) fn values(&self, key: &str) -> impl Iterator<Item = &str> {
        self.assignments.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Returns the variables of `Environment=`.
    pub(super) fn environment(&self) -> impl Iterator<Item = &str> {
        self.values("Environment").flat_map(str::split_whitespace)
    }
}

/// Verifies the unit with the staged program in place, and rates its hardening.
pub(super) fn check(stage: &Stage) -> StepResult {
    let tree = folder("work/unit")?;
    files::empty_folder(&tree)?;
    files::copy(&stage.program(), &tree.join("usr/bin/turno"), 0o755)?;
    let unit = tree.join("turno.service");
    // The program is not installed here, so that the verified copy names it where it lies.
    let installed = files::read(&source("systemd/turno.service"))?;
    let program = format!("ExecStart={}/usr/bin/turno ", tree.display());
    files::write(&unit, 0o644, installed.replace("ExecStart=/usr/bin/turno ", &program))?;
    let verified = tool("systemd-analyze").args(["verify", "--man=no", "--recursive-errors=no"]).arg(&unit).output()?;
    let complaints = complaints(&String::from_utf8_lossy(&verified.stderr));
    expect(verified.status.success() && complaints.is_empty(), &format!("systemd verifies the unit {complaints}"))?;

    let rated = tool("systemd-analyze").args(["security", "--offline=true", "--no-pager"]).arg(&unit).capture()?;
    let exposure = exposure(&rated).ok_or_else(|| Problem::failed("systemd-analyze security printed no rating"))?;
    expect(exposure < MOST_EXPOSURE, &format!("the exposure of the unit is below {MOST_EXPOSURE} (it is: {exposure})"))
}

/// Returns the complaints about our unit. `verify` also complains about units of the machine.
fn complaints(output: &str) -> String {
    output.lines().filter(|line| line.contains("turno")).collect::<Vec<_>>().join("; ")
}

/// Finds the rating in `→ Overall exposure level for turno.service: 1.2 OK`.
fn exposure(output: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.contains("Overall exposure level"))?;
    line.split(": ").nth(1)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_key_wins_and_comments_do_not_count() {
        let unit = Unit::parse("[Service]\n# User=root\nUser=a\nUser = turno\nEnvironment=A=1 B=2\nEnvironment=C=3\n");
        assert_eq!(unit.value("User"), Ok("turno"));
        assert_eq!(unit.environment().collect::<Vec<_>>(), ["A=1", "B=2", "C=3"]);
        assert!(unit.value("ExecStart").is_err());
    }

    #[test]
    fn the_rating_is_found_and_its_absence_too() {
        assert_eq!(exposure("x\n→ Overall exposure level for turno.service: 1.2 OK 🙂\n"), Some(1.2));
        assert_eq!(exposure("no rating"), None);
    }

    #[test]
    fn complaints_about_other_units_do_not_count() {
        let output = "/lib/systemd/system/x.service:3: odd\n/tmp/turno.service:9: Unknown key name 'Nonsense'\n";
        assert_eq!(complaints(output), "/tmp/turno.service:9: Unknown key name 'Nonsense'");
    }
}
