//! The README's ten minutes, walked as they stand there: the same commands, in the same order, with the program of this
//! build, other ports and a database of its own.
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use turno_testkit::postgres::Cluster;

/// The shell blocks of a section, without those that build.
fn blocks(page: &str, heading: &str) -> Vec<String> {
    let section = page.split(&format!("\n## {heading}\n")).nth(1).expect("the README has this section");
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.filter(|block| !block.contains("cargo build")).collect()
}

/// A port that nobody listens on at this moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn the_ten_minutes_of_the_readme_work_as_they_stand_there() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let blocks = blocks(&page, "Ten minutes with curl");
    assert_eq!(blocks.len(), 3, "one server, a lease, two servers");
    let mut script = format!("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n{}", blocks.join("\n"));
    for port in ["7171", "7172", "7173"] {
        script = script.replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{}", free_port()));
    }
    // The first server is started as a reader would start it, without naming its port.
    let first = script.split("http://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().to_owned();
    script = script.replace("postgres://localhost/turno", &Cluster::for_tests().fresh_database().await);

    let folder = std::env::temp_dir().join(format!("turno-walk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_turno")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let walked = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&folder)
        .env("PATH", path)
        .env("TURNO_LISTEN", format!("127.0.0.1:{first}"))
        .env_remove("TURNO_DATABASE")
        .env_remove("TURNO_LANG")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("there is a shell");
    let said = format!("{}\n{}", String::from_utf8_lossy(&walked.stdout), String::from_utf8_lossy(&walked.stderr));
    assert!(walked.status.success(), "{said}");
    for wanted in
        ["\"state\":\"locked\"", "\"renewed\":true", "event: lease.released", "\"outcome\":\"acked\"", "mail-2"]
    {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
