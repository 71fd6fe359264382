//! Everything that CI does, as Rust: `cargo xtask test` runs all of it.
//!
//! Only the standard library is used, so that the checks build in a second and before anything else. Programs for
//! users are not here: they belong to `turno`.

mod api;
mod browser;
mod bundle;
mod deny;
mod dist;
mod docs;
mod npm;
mod postgres;
mod product;
mod site;
mod test;
mod tidy;
mod tools;
mod versions;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test                      every step, in order; what CI runs
cargo xtask test --only STEP[,STEP]   some steps, while developing
cargo xtask list                      the steps and what each one checks
cargo xtask versions [--only N,N]     the stores on PostgreSQL 14 to 18, and each database alone
cargo xtask fuzz                      made-up requests as each role, two minutes each, on both databases
cargo xtask fuzz --seconds N          the same with another time per role; --database sqlite|postgres for one database
cargo xtask bundle                    joins web/turno/*.js into web/turno.js
cargo xtask deny                      advisories, licences and sources of all dependencies (needs the network)
cargo xtask dist                      packages for users, in target/dist/packages/
cargo xtask dist --image              also the container image, on Debian's image from a registry
cargo xtask dist --debootstrap        also the container image, on a base made by debootstrap (as root)
cargo xtask dist --check              also installs, starts, upgrades and removes them (as root)
cargo xtask dist --profile dev        the same with an unoptimised program, while developing
cargo xtask dist --program FILE       the same with a program that was built elsewhere
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => test::run(None),
        ["test", "--only", names] => test::run(Some(names)),
        ["versions"] => versions::run(None),
        ["versions", "--only", numbers] => versions::run(Some(numbers)),
        ["list"] => test::list(),
        ["fuzz", rest @ ..] => api::fuzz(rest),
        ["bundle"] => bundle::run(),
        ["deny"] => deny::run(),
        ["dist", rest @ ..] => dist::run(rest),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        other => {
            eprint!("unknown arguments `{}`; these are known:\n\n{USAGE}", other.join(" "));
            ExitCode::from(2)
        }
    }
}
