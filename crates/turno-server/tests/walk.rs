//! Runs the commands of the README and of `docs/start.md` as printed: in the same order, with the program of this build,
//! other ports and its own database.
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use turno_testkit::postgres::Cluster;

fn read(page: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap()
}

/// Returns the shell blocks of a page, without those that build or call cargo.
fn blocks(page: &str) -> Vec<String> {
    let page = read(page);
    assert!(!page.contains("curl -f"), "a failed call shows its problem");
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.filter(|block| !block.contains("cargo ")).collect()
}

/// Returns a port without a listener.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Runs the commands in an empty folder and returns their output.
fn walk(name: &str, blocks: &[String], database: &str) -> String {
    let mut script = format!("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n{}", blocks.join("\n"));
    for port in ["7171", "7172", "7173"] {
        script = script.replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{}", free_port()));
    }
    // The pages start the first server without naming its port.
    let first = script.split("http://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().to_owned();
    script = script.replace("postgres://localhost/turno", database);
    let folder = std::env::temp_dir().join(format!("turno-walk-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_turno")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let walked = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&folder)
        .env("PATH", path)
        .env("TURNO_LISTEN", format!("127.0.0.1:{first}"))
        .env_remove("TURNO_DATABASE")
        .env_remove("DATABASE_URL")
        .env_remove("TURNO_LANG")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("bash is installed");
    let output = format!("{}\n{}", String::from_utf8_lossy(&walked.stdout), String::from_utf8_lossy(&walked.stderr));
    assert!(walked.status.success(), "{output}");
    std::fs::remove_dir_all(&folder).unwrap();
    output
}

#[test]
fn the_five_lines_of_the_readme_work_as_printed() {
    let blocks = blocks("README.md");
    assert_eq!(blocks.len(), 2, "the README starts a server and calls it");
    assert_eq!(blocks[1].lines().count(), 5);
    let output = walk("readme", &blocks, "");
    for wanted in ["\"state\":\"locked\"", "\"outcome\":\"queued\"", "\"id\":\"mail-1\""] {
        assert!(output.contains(wanted), "{wanted} in {output}");
    }
}

#[tokio::test]
async fn the_ten_minutes_with_curl_work_as_printed() {
    let blocks = blocks("docs/start.md");
    assert_eq!(blocks.len(), 3, "the page has three blocks: one server, a lease, two servers");
    let output = walk("start", &blocks, &Cluster::for_tests().fresh_database().await);
    for wanted in
        ["\"state\":\"locked\"", "\"renewed\":true", "event: lease.released", "\"outcome\":\"acked\"", "mail-2"]
    {
        assert!(output.contains(wanted), "{wanted} in {output}");
    }
}

#[test]
fn the_spanish_pages_print_the_same_commands() {
    for (english, spanish) in [("README.md", "README.es.md"), ("docs/start.md", "docs/es/start.md")] {
        assert_eq!(blocks(english), blocks(spanish), "{spanish}");
    }
}
