//! The list of what the program contains (SBOM), for scanners of vulnerabilities: CycloneDX 1.5, as JSON.
//!
//! It has no serial number, so that the same commit gives the same file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::crates::{Crate, Id};
use super::program::tool;
use super::stage::Stage;
use super::{VERSION, crates, expect, files, licences};
use crate::tools::{Problem, StepResult, root};

/// The package with the program.
const PROGRAM: &str = "turno-server";
/// The table of the JavaScript files in the program.
const VENDOR: &str = "web/console/vendor/README.md";

/// A package of npm whose files are in the program.
#[derive(Debug, PartialEq)]
struct Script {
    name: String,
    version: String,
    licence: String,
}

/// Writes `turno-VERSION.cdx.json`.
pub(super) fn write(stage: &Stage, output: &Path) -> Result<PathBuf, Problem> {
    let format = "+%Y-%m-%dT%H:%M:%SZ";
    let time = tool("date").args(["--utc", format, "--date"]).arg(format!("@{}", stage.epoch)).capture()?;
    let scripts = scripts(&files::read(&root().join(VENDOR))?);
    let file = output.join(format!("turno-{VERSION}.cdx.json"));
    files::write(&file, 0o644, render(&crates::read()?, &scripts, time.trim()))?;
    Ok(file)
}

/// Reads rows such as ``| `htmx/` | `htmx.org` 4.0.0, `dist/htmx.min.js` | … | 0BSD |``.
fn scripts(table: &str) -> Vec<Script> {
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.trim_end_matches([' ', '|']).split(" | ").collect();
        let (name, rest) = cells.get(1)?.strip_prefix('`')?.split_once("` ")?;
        let version = rest.split(',').next()?;
        Some(Script { name: name.into(), version: version.into(), licence: (*cells.last()?).into() })
    });
    rows.collect()
}

fn render(crates: &BTreeMap<Id, Crate>, scripts: &[Script], time: &str) -> String {
    let is_program = |(name, _): &Id| name == PROGRAM;
    let others = crates.iter().filter(|(id, _)| !is_program(id));
    let components: Vec<String> =
        others.map(|(id, entry)| component(id, entry)).chain(scripts.iter().map(script)).collect();
    let dependencies: Vec<String> = crates
        .iter()
        .map(|(id, entry)| {
            let direct = entry.dependencies.iter().map(reference);
            let scripts = scripts.iter().filter(|_| is_program(id)).map(script_reference);
            let direct: Vec<String> = direct.chain(scripts).map(|name| quote(&name)).collect();
            format!("{{\"ref\":{},\"dependsOn\":[{}]}}", quote(&reference(id)), direct.join(","))
        })
        .collect();
    let program = crates.iter().find(|(id, _)| is_program(id)).map(|(id, entry)| {
        let licence = licence(&entry.licence);
        let (name, version) = (quote("turno"), quote(&id.1));
        format!(
            "{{\"type\":\"application\",\"bom-ref\":{},\"name\":{name},\"version\":{version}{licence}}}",
            quote(&reference(id))
        )
    });
    format!(
        "{{\n\"bomFormat\":\"CycloneDX\",\n\"specVersion\":\"1.5\",\n\"version\":1,\n\"metadata\":{{\"timestamp\":{},\
         \"component\":{}}},\n\"components\":[\n{}\n],\n\"dependencies\":[\n{}\n]\n}}\n",
        quote(time),
        program.unwrap_or_else(|| "null".into()),
        components.join(",\n"),
        dependencies.join(",\n"),
    )
}

/// A crate of this repository has no address (`purl`), because it is in no registry: the name there may be another crate.
fn component(id: &Id, entry: &Crate) -> String {
    let (name, version) = (quote(&id.0), quote(&id.1));
    let scope = if entry.is_linked { "required" } else { "excluded" };
    let registry = entry.checksum.as_ref().map(|sum| {
        let address = format!("pkg:cargo/{}@{}", id.0, id.1.replace('+', "%2B"));
        format!(",\"hashes\":[{{\"alg\":\"SHA-256\",\"content\":{}}}],\"purl\":{}", quote(sum), quote(&address))
    });
    format!(
        "{{\"type\":\"library\",\"bom-ref\":{},\"name\":{name},\"version\":{version},\"scope\":\"{scope}\"{}{}}}",
        quote(&reference(id)),
        licence(&entry.licence),
        registry.unwrap_or_default(),
    )
}

fn script(script: &Script) -> String {
    let (name, version, reference) = (quote(&script.name), quote(&script.version), quote(&script_reference(script)));
    let licence = licence(&script.licence);
    format!(
        "{{\"type\":\"library\",\"bom-ref\":{reference},\"name\":{name},\"version\":{version},\"scope\":\"required\"\
         {licence},\"purl\":{reference}}}"
    )
}

fn licence(expression: &str) -> String {
    if expression.is_empty() {
        return String::new();
    }
    format!(",\"licenses\":[{{\"expression\":{}}}]", quote(expression))
}

fn reference((name, version): &Id) -> String {
    format!("{name}@{version}")
}

fn script_reference(script: &Script) -> String {
    format!("pkg:npm/{}@{}", script.name, script.version)
}

/// Writes a JSON string.
fn quote(text: &str) -> String {
    let escape = |one: char| match one {
        '"' | '\\' => format!("\\{one}"),
        one if one.is_control() => format!("\\u{:04x}", u32::from(one)),
        one => one.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Reads the file with jq, and compares it with `cargo tree`. Also checks the licences of the crates.
pub(super) fn check(file: &Path) -> StepResult {
    let read = |query: &str| tool("jq").args(["--raw-output", query]).arg(file).capture();
    let named = read("[.metadata.component, .components[]] | .[][\"bom-ref\"]")?;
    let (scripts, named): (BTreeSet<_>, BTreeSet<_>) =
        named.lines().map(str::to_owned).partition(|name| name.starts_with("pkg:npm/"));
    let wanted: BTreeSet<String> = crates::list()?.iter().map(reference).collect();
    let differ: Vec<&str> = named.symmetric_difference(&wanted).map(String::as_str).collect();
    let claim = format!("the SBOM is JSON and names the {} crates of the program {}", wanted.len(), differ.join(", "));
    expect(differ.is_empty() && !wanted.is_empty(), &claim)?;
    let folders = std::fs::read_dir(root().join("web/console/vendor")).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.path().is_dir()).count();
    expect(scripts.len() == folders, &format!("the SBOM names the {folders} packages in web/console/vendor"))?;
    let unknown =
        "[.dependencies[] | .ref, .dependsOn[]] - [.metadata.component, .components[] | .[\"bom-ref\"]] | length";
    expect(read(unknown)?.trim() == "0", "its graph names only its components")?;
    let unhashed = "[.components[] | select(.name | startswith(\"turno\") | not) \
                    | select(.[\"bom-ref\"] | startswith(\"pkg:npm/\") | not) \
                    | .hashes[0].content // \"\" | select(test(\"^[0-9a-f]{64}$\") | not)] | length";
    expect(read(unhashed)?.trim() == "0", "every crate of other projects has its SHA-256")?;
    licences::check(&crates::read()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, version: &str) -> Id {
        (name.into(), version.into())
    }

    #[test]
    fn the_file_has_addresses_hashes_licences_and_the_graph() {
        let own = |dependencies: &[Id]| Crate {
            licence: "MIT".into(),
            checksum: None,
            is_linked: true,
            dependencies: dependencies.iter().cloned().collect(),
        };
        let foreign = Crate { licence: "ISC".into(), checksum: Some("0f".into()), ..Crate::default() };
        let foreign_id = named("b", "2.0.0+c");
        let crates = BTreeMap::from([
            (named(PROGRAM, "1.0.0"), own(&[named("turno", "1.0.0")])),
            (named("turno", "1.0.0"), own(std::slice::from_ref(&foreign_id))),
            (foreign_id, foreign),
        ]);
        let scripts = [Script { name: "s".into(), version: "3".into(), licence: "0BSD".into() }];
        let expected = r#"{
"bomFormat":"CycloneDX",
"specVersion":"1.5",
"version":1,
"metadata":{"timestamp":"2026-01-02T03:04:05Z","component":{"type":"application","bom-ref":"turno-server@1.0.0","name":"turno","version":"1.0.0","licenses":[{"expression":"MIT"}]}},
"components":[
{"type":"library","bom-ref":"b@2.0.0+c","name":"b","version":"2.0.0+c","scope":"excluded","licenses":[{"expression":"ISC"}],"hashes":[{"alg":"SHA-256","content":"0f"}],"purl":"pkg:cargo/b@2.0.0%2Bc"},
{"type":"library","bom-ref":"turno@1.0.0","name":"turno","version":"1.0.0","scope":"required","licenses":[{"expression":"MIT"}]},
{"type":"library","bom-ref":"pkg:npm/s@3","name":"s","version":"3","scope":"required","licenses":[{"expression":"0BSD"}],"purl":"pkg:npm/s@3"}
],
"dependencies":[
{"ref":"b@2.0.0+c","dependsOn":[]},
{"ref":"turno@1.0.0","dependsOn":["b@2.0.0+c"]},
{"ref":"turno-server@1.0.0","dependsOn":["turno@1.0.0","pkg:npm/s@3"]}
]
}
"#;
        assert_eq!(render(&crates, &scripts, "2026-01-02T03:04:05Z"), expected);
    }

    #[test]
    fn the_rows_of_scripts_are_read() {
        let table = "| folder | package | for | licence |\n|---|---|---|---|\n| `u/` | `uplot` 1.6.32, `dist/u.js` | charts | MIT |\n";
        let uplot = Script { name: "uplot".into(), version: "1.6.32".into(), licence: "MIT".into() };
        assert_eq!(scripts(table), [uplot]);
    }

    #[test]
    fn quotes_and_control_characters_are_escaped() {
        assert_eq!(quote("a\"b\\c\nd"), r#""a\"b\\c\u000ad""#);
    }
}
