//! Runs the ten minutes of both READMEs as printed: the same commands in the same order, with the program of this build,
//! other ports and their own databases.
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use turno_testkit::postgres::Cluster;

/// Returns the shell blocks of a section, without those that build.
fn blocks(page: &str, heading: &str) -> Vec<String> {
    let section = page.split(&format!("\n## {heading}\n")).nth(1).expect("the README has this section");
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.filter(|block| !block.contains("cargo build")).collect()
}

/// Returns a port without a listener.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn the_ten_minutes_of_the_readme_work_as_printed() {
    walk("README.md", "Ten minutes with curl").await;
}

#[tokio::test]
async fn the_ten_minutes_of_the_spanish_readme_work_as_printed() {
    walk("README.es.md", "Diez minutos con curl").await;
}

async fn walk(file: &str, heading: &str) {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).unwrap();
    let blocks = blocks(&page, heading);
    assert!(!page.contains("curl -f"), "a failed call shows its problem");
    assert_eq!(blocks.len(), 3, "the section has three blocks: one server, a lease, two servers");
    let mut script = format!("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n{}", blocks.join("\n"));
    for port in ["7171", "7172", "7173"] {
        script = script.replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{}", free_port()));
    }
    // The README starts the first server without naming its port.
    let first = script.split("http://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().to_owned();
    script = script.replace("postgres://localhost/turno", &Cluster::for_tests().fresh_database().await);

    let folder = std::env::temp_dir().join(format!("turno-walk-{file}-{}", std::process::id()));
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
    for wanted in
        ["\"state\":\"locked\"", "\"renewed\":true", "event: lease.released", "\"outcome\":\"acked\"", "mail-2"]
    {
        assert!(output.contains(wanted), "{wanted} in {output}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
