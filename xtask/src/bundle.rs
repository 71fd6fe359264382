//! Joins the modules under `web/turno` into the one file that the server serves, `web/turno.js`.
//!
//! The joined file is committed, so `cargo build` needs no Node and users can copy one file. Joining needs no parser,
//! because the modules keep to a form that this file checks: imports are single lines from `./x.js`, declarations are
//! exported where they stand, top-level names are unique over all modules, and `index.js` lists the public names. Lines
//! that only the type checker reads (`// @ts-check`, `/** @import … */`) are left out of the joined file.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use crate::tools::root;

pub(crate) const FOLDER: &str = "web/turno/";
pub(crate) const JOINED: &str = "web/turno.js";
const INDEX: &str = "index.js";
const DECLARATIONS: &[&str] = &["const ", "let ", "function ", "async function ", "class "];

/// Writes `web/turno.js`.
pub(crate) fn run() -> ExitCode {
    match read().and_then(|modules| join(&modules)) {
        Ok(text) => match std::fs::write(root().join(JOINED), text) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => eprintln!("failed to write {JOINED}: {error}"),
        },
        Err(problem) => eprintln!("{problem}"),
    }
    ExitCode::FAILURE
}

fn read() -> Result<BTreeMap<String, String>, String> {
    let failed = |error| format!("failed to read {FOLDER}: {error}");
    let mut modules = BTreeMap::new();
    for entry in std::fs::read_dir(root().join(FOLDER)).map_err(failed)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".js") {
            modules.insert(name, std::fs::read_to_string(entry.path()).map_err(failed)?);
        }
    }
    Ok(modules)
}

/// Joins modules (name to text), each after the modules that it imports. Fails if a module breaks the form.
pub(crate) fn join(modules: &BTreeMap<String, String>) -> Result<String, String> {
    let index = modules.get(INDEX).ok_or_else(|| format!("{FOLDER}{INDEX} does not exist"))?;
    let (header, exports) = index.split_once("\nexport ").ok_or_else(|| format!("{INDEX} exports nothing"))?;
    let mut order = Vec::new();
    for name in imports(INDEX, &format!("export {exports}"))? {
        visit(&name, modules, &mut order, &mut BTreeSet::new())?;
    }
    let header: Vec<&str> = header.trim_end().lines().filter(|line| !is_for_types(line)).collect();
    let mut joined = format!("{}\n// Joined from {FOLDER} by `cargo xtask bundle`.\n", header.join("\n").trim_end());
    let mut names = BTreeMap::new();
    for module in &order {
        let body = body(module, &modules[module])?;
        for name in body.lines().filter_map(declared) {
            if let Some(other) = names.insert(name.to_owned(), module.clone()) {
                return Err(format!("{module} and {other} both declare `{name}`"));
            }
        }
        joined.push_str(&format!("\n// {module}: {}\n", body.trim()));
    }
    let mut public: Vec<&str> = index.lines().filter_map(listed).flat_map(|list| list.split(", ")).collect();
    public.sort_unstable();
    if let Some(unknown) = public.iter().find(|name| !names.contains_key(**name)) {
        return Err(format!("{INDEX} exports `{unknown}`, which no module declares"));
    }
    joined.push_str(&format!("\nexport {{ {} }};\n", public.join(", ")));
    Ok(joined)
}

/// Puts a module behind those that it imports. Modules may import each other in a circle.
fn visit(
    name: &str,
    modules: &BTreeMap<String, String>,
    order: &mut Vec<String>,
    seen: &mut BTreeSet<String>,
) -> Result<(), String> {
    if order.iter().any(|done| done == name) || !seen.insert(name.to_owned()) {
        return Ok(());
    }
    let text = modules.get(name).ok_or_else(|| format!("`./{name}` is imported and does not exist"))?;
    for import in imports(name, text)? {
        visit(&import, modules, order, seen)?;
    }
    if !order.iter().any(|done| done == name) {
        order.push(name.to_owned());
    }
    Ok(())
}

/// The modules that a module imports or re-exports.
fn imports(module: &str, text: &str) -> Result<Vec<String>, String> {
    let lines = text.lines().filter(|line| !is_for_types(line));
    let lines = lines.filter(|line| line.starts_with("import ") || line.contains("} from "));
    let name = |line: &str| Some(line.strip_suffix("';")?.split_once(" from './")?.1.to_owned());
    lines
        .map(|line| name(line).ok_or_else(|| format!("{module}: only `… from './x.js';` on one line: {line}")))
        .collect()
}

/// Whether only the type checker reads the line.
fn is_for_types(line: &str) -> bool {
    line == "// @ts-check" || line.starts_with("/** @import ")
}

/// The code without its imports and without `export`; the first comment line opens it.
fn body(module: &str, text: &str) -> Result<String, String> {
    let opening = text.strip_prefix("// ").ok_or_else(|| format!("{module} does not open with its purpose"))?;
    let lines = opening.lines().filter(|line| !line.starts_with("import ") && !is_for_types(line));
    let mut body: Vec<&str> = Vec::new();
    for line in lines {
        let line = line.strip_prefix("export ").unwrap_or(line);
        // One blank line where the imports were.
        if !(line.is_empty() && body.last().is_some_and(|last| last.is_empty())) {
            body.push(line);
        }
    }
    Ok(body.join("\n"))
}

fn declared(line: &str) -> Option<&str> {
    let rest = DECLARATIONS.iter().find_map(|word| line.strip_prefix(word))?;
    rest.split(|one: char| !(one.is_alphanumeric() || one == '_' || one == '$')).next().filter(|name| !name.is_empty())
}

/// The names of a line `export { A, B } from './x.js';`.
fn listed(line: &str) -> Option<&str> {
    line.strip_prefix("export { ")?.split_once(" } from ").map(|(names, _)| names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
        texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    const INDEX_TEXT: &str = "// All.\n\nexport { A } from './a.js';\n";

    #[test]
    fn modules_are_joined_after_those_that_they_import() {
        let joined = join(&modules(&[
            ("index.js", INDEX_TEXT),
            ("a.js", "// First.\n\nimport { b } from './b.js';\n\nexport class A {\n  b = b;\n}\n"),
            ("b.js", "// Second.\n\nimport { A } from './a.js';\n\nexport const b = () => A;\n"),
        ]));
        let expected = "// All.\n// Joined from web/turno/ by `cargo xtask bundle`.\n\n// b.js: Second.\n\nconst b = () => A;\n\n\
                        // a.js: First.\n\nclass A {\n  b = b;\n}\n\nexport { A };\n";
        assert_eq!(joined.as_deref(), Ok(expected));
    }

    #[test]
    fn lines_for_the_type_checker_are_left_out() {
        let typed = "// First.\n\n// @ts-check\n/** @import { T } from '../t.js' */\n\nexport class A {}\n";
        let joined = join(&modules(&[("index.js", INDEX_TEXT), ("a.js", typed)]));
        let expected = "// All.\n// Joined from web/turno/ by `cargo xtask bundle`.\n\n// a.js: First.\n\nclass A {}\n\nexport { A };\n";
        assert_eq!(joined.as_deref(), Ok(expected));
    }

    #[test]
    fn a_module_that_breaks_the_form_is_refused() {
        let refused = |a: &str, b: &str| join(&modules(&[("index.js", INDEX_TEXT), ("a.js", a), ("b.js", b)])).is_err();
        let good = "// First.\nimport { b } from './b.js';\nexport class A {}\n";
        assert!(!refused(good, "// B.\nexport const b = 1;\n"));
        assert!(refused(good, "// B.\nexport const b = 1;\nconst A = 2;\n"), "a name twice");
        assert!(refused("// First.\nimport x from 'x';\nclass A {}\n", "// B.\n"), "an import from elsewhere");
        assert!(refused("// First.\nimport { c } from './c.js';\nclass A {}\n", "// B.\n"), "an unknown module");
        assert!(refused("// First.\nclass C {}\n", "// B.\n"), "an export that no module declares");
        assert!(refused("class A {}\n", "// B.\n"), "no opening");
    }
}
