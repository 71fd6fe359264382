//! The rules of this repository that no compiler or linter checks.
//!
//! A check is a pure function from the repository's files to findings, so that tests can show it failing. To add one,
//! write it in a file under `tidy/` and add a line to [`CHECKS`].

mod asvs;
mod bundle;
mod clocks;
mod dependencies;
mod form;
mod invariants;
mod layers;
mod markdown;
mod names;
mod places;
mod rust;
mod sources;
mod sql;
mod tree;
mod twins;
mod walkthrough;
mod words;

use std::fmt;

use crate::tools::{Problem, StepResult, root};
use tree::Tree;

/// The folder of the checks. Its tests contain examples of everything that is forbidden elsewhere.
const OURSELVES: &str = "xtask/src/tidy/";

/// A rule with its name.
type Check = (&'static str, fn(&Tree) -> Vec<Finding>);

const CHECKS: &[Check] = &[
    ("the core is pure", layers::core_is_pure),
    ("SQL lives in the stores", layers::sql_lives_in_the_stores),
    ("one file reads the database's clock", clocks::one_database_clock),
    ("one file reads the machine's clock", clocks::one_machine_clock),
    ("the library knows no HTTP", layers::library_knows_no_http),
    ("examples show the stable API", layers::examples_show_the_stable_api),
    ("SQL files are named and list their columns", sql::files),
    ("both stores have the same migrations", sql::migrations),
    ("files and statements of the stores have twins", twins::have_twins),
    ("Rust files have their form", form::files),
    ("tests never sleep", form::tests_never_sleep),
    ("ARCHITECTURE.md names files that exist", walkthrough::paths_exist),
    ("every invariant has its tests", invariants::every_one_is_tested),
    ("every requirement of the sync preset has its tests", invariants::every_requirement_is_tested),
    ("every requirement of ASVS has a row with its evidence", asvs::every_requirement_has_a_row),
    ("web/turno.js is joined from its modules", bundle::is_joined),
    ("no machine's paths, no registry's hosts", places::nowhere),
    ("every dependency has a row with its reason", dependencies::have_rows),
    ("dependencies come from allowed sources", sources::are_allowed),
    ("comments and pages name their subjects", words::no_riddles),
    ("functions and types have names that say something", names::say_something),
];

/// The checks on texts.
const DOC_CHECKS: &[Check] = &[
    ("links in Markdown files resolve", markdown::links_resolve),
    ("README.md and README.es.md have the same headings", markdown::readmes_match),
    ("pages in docs/es have the headings and code of their English twins", markdown::translations_match),
    ("READMEs and pages agree on what is not promised", markdown::disclaimers_match),
];

/// One violation of a rule. Line 0 means the whole file.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Runs the step `tidy`.
pub(crate) fn run() -> StepResult {
    check(CHECKS)
}

/// Runs the checks of the step `docs`, besides rustdoc.
pub(crate) fn texts() -> StepResult {
    check(DOC_CHECKS)
}

/// Applies the checks to the repository and prints their findings.
fn check(checks: &[Check]) -> StepResult {
    let tree = Tree::read(&root())?;
    let mut all = 0;
    for (name, rule) in checks {
        let findings = rule(&tree);
        println!("{} {name}", if findings.is_empty() { "ok " } else { "NOT" });
        for finding in &findings {
            println!("    {finding}");
        }
        all += findings.len();
    }
    match all {
        0 => Ok(()),
        1 => Err(Problem::failed("1 finding, shown above")),
        many => Err(Problem::failed(format!("{many} findings, shown above"))),
    }
}
