//! Runs the commands of the operating pages as printed, with the program of this build, other paths and their own
//! databases.
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::path::{Path, PathBuf};
use std::process::Command;

use turno_testkit::postgres::Cluster;

/// Returns the shell block of a page that begins with this comment.
fn block(page: &str, comment: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating").join(page);
    let page = std::fs::read_to_string(page).unwrap();
    let found = page.split(&format!("```sh\n# {comment}\n")).nth(1).and_then(|rest| rest.split("```").next());
    found.unwrap_or_else(|| panic!("no block begins with {comment:?}")).to_owned()
}

/// The commands around the blocks: a server that `systemctl` starts and stops, work before the backup, work that the
/// restore loses, and what must hold afterwards.
const DRILL: &str = r#"
set -euo pipefail
for program in curl psql createdb pg_dump pg_restore; do
    command -v $program > /dev/null || { echo "install $program (Debian: curl, postgresql-client)"; exit 1; }
done
server=
trap '[ -z "$server" ] || kill $server' EXIT
systemctl() {
    case $1 in
    start)
        : > out # without the address of the last server
        turno serve --listen 127.0.0.1:0 > out 2> log &
        server=$!
        until url=$(sed -n 's/^listening on //p' out) && [ -n "$url" ]; do kill -0 $server; sleep 0.1; done
        export TURNO_URL=$url ;;
    stop) kill $server; wait $server; server= ;;
    esac
}
api() { curl -sS --fail-with-body -H "Authorization: Bearer $TURNO_TOKEN" "$@"; }
number() { grep -o "\"$1\":[0-9]*" | head -n 1 | grep -o '[0-9]*'; }
claim() { api --json '{}' $TURNO_URL/v1/leases/caja:3/claim; }
enqueue() { api --json "{\"id\":\"$1\",\"key\":\"ana\",\"payload\":1}" $TURNO_URL/v1/queues/bot/items > /dev/null; }

turno user add eva --role admin
export TURNO_TOKEN=$(turno token create --user eva)
systemctl start
turno queue put bot --kind lane --window 0s > /dev/null
enqueue before-1
enqueue before-2
claim > lease; fence=$(number fence < lease)
api --json "{\"fence\":$fence}" $TURNO_URL/v1/leases/caja:3/release > /dev/null

BACK UP

enqueue lost
claim > lease; lost=$(number fence < lease)
[ $lost -gt $fence ]

RESTORE

[ "$(turno queue items bot --json | grep -o '"id":"[^"]*"' | tr '\n' ' ')" = '"id":"before-1" "id":"before-2" ' ]
claim > lease; fence=$(number fence < lease)
[ $fence -gt $lost ] || { echo "fence $fence was given before: $lost"; exit 1; }
api --json '{"instance":"w"}' $TURNO_URL/v1/queues/bot/claim > claimed
grep -q before-1 claimed
delivery=$(grep -o '"delivery":"[^"]*"' claimed)
api --json "{\"deliveries\":[{$delivery,\"fence\":$(number fence < claimed)}]}" $TURNO_URL/v1/queues/bot/ack | grep -q acked
turno audit list --json | grep -o database_life | head -n 1
turno check
"#;

/// Runs the drill for a database and returns its output.
fn drill(database: &str, url: &str, variables: &[(&str, &str)]) -> String {
    let folder = std::env::temp_dir().join(format!("turno-drill-{database}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let place = |text: String| {
        let folder = folder.display();
        text.replace("/var/lib/turno", &format!("{folder}")).replace("/var/backups", &format!("{folder}"))
    };
    let [back_up, restore] =
        ["back up", "restore"].map(|what| place(block("backup.md", &format!("{what} {database}"))));
    let script = DRILL.replace("BACK UP", &back_up).replace("RESTORE", &restore);
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_turno"));
    let drilled = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&folder)
        .env("PATH", format!("{}:{}", programs.parent().unwrap().display(), std::env::var("PATH").unwrap()))
        .env("TURNO_DATABASE", place(url.to_owned()))
        .env("LC_ALL", "C")
        .env_remove("TURNO_LANG")
        .envs(variables.iter().copied())
        .output()
        .expect("bash is installed");
    let output = format!("{}\n{}", String::from_utf8_lossy(&drilled.stdout), String::from_utf8_lossy(&drilled.stderr));
    assert!(drilled.status.success(), "{output}");
    std::fs::remove_dir_all(&folder).unwrap();
    output
}

#[test]
fn a_backup_of_sqlite_is_restored_as_the_page_says() {
    let output = drill("SQLite", "sqlite:/var/lib/turno/turno.db", &[]);
    assert!(output.contains("database_life"), "the new file is noticed: {output}");
}

#[test]
fn a_dump_of_postgres_is_restored_as_the_page_says() {
    // A separate server, because the page names the database.
    let cluster = Cluster::start().unwrap();
    let url = cluster.url("postgres");
    let port = url.rsplit(':').next().unwrap().split('/').next().unwrap();
    let variables = [("PGHOST", "127.0.0.1"), ("PGPORT", port), ("PGUSER", "turno")];
    let made = Command::new("createdb").arg("turno").envs(variables).status();
    assert!(made.is_ok_and(|status| status.success()), "createdb is installed (Debian: postgresql-client)");
    let output = drill("PostgreSQL", &format!("postgres://turno@127.0.0.1:{port}/turno"), &variables);
    assert!(output.contains("database_life"), "the new database is noticed: {output}");
}
