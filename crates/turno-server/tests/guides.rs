//! Runs the guides as printed: the same commands in the same order, with the program of this build, other ports and
//! their own databases.
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use turno_testkit::postgres::Cluster;

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the shell blocks of a guide, in order.
fn blocks(guide: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/guides").join(guide)).unwrap();
    page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Fails with the names of missing programs, so that a skipped guide does not look like a passed one.
fn needs(programs: &[&str]) {
    let missing = |program: &&&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        !found.status.success()
    };
    let missing: Vec<_> = programs.iter().filter(missing).collect();
    assert!(missing.is_empty(), "install these to walk the guides: {missing:?}");
}

/// Returns a port without a listener.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Runs the commands of a guide and returns their whole output.
fn walk(guide: &str, replaced: &[(&str, &str)]) -> String {
    let mut script =
        format!("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n{}", blocks(guide).join("\n"));
    let first = free_port();
    for (port, free) in [("7171", first), ("7172", free_port()), ("7173", free_port())] {
        script = script.replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{free}"));
    }
    for (from, to) in replaced {
        script = script.replace(from, to);
    }
    let folder = std::env::temp_dir().join(format!("turno-{guide}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    for part in ["examples", "docs"] {
        std::os::unix::fs::symlink(root().join(part), folder.join(part)).unwrap();
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_turno")).parent().unwrap();
    let walked = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&folder)
        .env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()))
        .env("TURNO_LISTEN", format!("127.0.0.1:{first}"))
        .env_remove("TURNO_DATABASE")
        .env_remove("DATABASE_URL")
        // The developer's language may differ from the one that the test expects.
        .env("TURNO_LANG", "es")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("bash is installed");
    let output = format!("{}\n{}", String::from_utf8_lossy(&walked.stdout), String::from_utf8_lossy(&walked.stderr));
    assert!(walked.status.success(), "{output}");
    std::fs::remove_dir_all(&folder).unwrap();
    output
}

#[test]
fn the_chat_bot_guide_works_as_printed() {
    needs(&["bash", "curl", "python3", "node"]);
    let output = walk("chat-bot.md", &[]);
    for wanted in [
        "\"differs\":false",
        "5491122334455: Hola | ¿Disponibilidad 15 enero? | Para 2 personas",
        "5491122334455: Otra cosa",
        "5491122334455: Gracias",
        "1 exhausted item of bot matches",
    ] {
        assert!(output.contains(wanted), "{wanted} in {output}");
    }
}

#[test]
fn the_guide_to_one_run_per_period_works_as_printed() {
    needs(&["bash", "curl"]);
    let output = walk("once-per-period.md", &[]);
    for wanted in [
        "host 2 ended with 75",
        "\n1\n",
        "refused with 2",
        "allowed by its policy",
        "report:weekly was released by eva, host-1 and stays held",
        "item report-2026-11-17 done",
        "\"state\":\"processed\"",
    ] {
        assert!(output.contains(wanted), "{wanted} in {output}");
    }
    assert!(!output.contains("never printed"), "{output}");
}

#[tokio::test]
async fn the_inbox_guide_works_as_printed() {
    needs(&["bash", "curl", "python3"]);
    let database = Cluster::for_tests().fresh_database().await;
    let output = walk("inbox.md", &[("postgres://localhost/turno", &database)]);
    for wanted in ["another holder has it: skipped", "p-1 acked, attempt 2", "p-21 retrying, attempt 1", "expired"] {
        assert!(output.contains(wanted), "{wanted} in {output}");
    }
}

#[tokio::test]
async fn the_sync_guide_works_as_printed() {
    needs(&["bash", "curl", "psql", "python3"]);
    let url = Cluster::for_tests().fresh_database().await;
    let module = free_port().to_string();
    let replaced = [
        ("postgres://turno@localhost/app".to_owned(), url),
        ("127.0.0.1:9000".to_owned(), format!("127.0.0.1:{module}")),
        ("PORT=9000".to_owned(), format!("PORT={module}")),
    ];
    let output = tokio::task::spawn_blocking(move || {
        walk("sync.md", &replaced.each_ref().map(|(from, to)| (from.as_str(), to.as_str())))
    });
    let output = output.await.unwrap();
    for wanted in [
        "create or replace trigger \"tr_sincro_usuarios_modulo_global\"",
        "yes, as configured",
        "usuarios  missing  7",
        "7 was never delivered",
        "ACTUALIZAR 7",
        "\"nombre\": \"Luis\"",
        "\n401\n",
        "7 is queued",
        "the destination has what the sources say",
        "no failures known",
    ] {
        assert!(output.contains(wanted), "{wanted} in {output}");
    }
}
