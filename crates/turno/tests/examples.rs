//! Runs the examples as programs on both databases and compares what they print.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use turno_testkit::postgres::Cluster;

/// Returns the command of an example. Examples are built together with the tests, beside them.
fn example(name: &str) -> Command {
    let tests = std::env::current_exe().expect("this test is a file");
    let folder: PathBuf = tests.ancestors().nth(2).expect("tests are built two folders deep").join("examples");
    Command::new(folder.join(name))
}

/// Returns a fresh database of each kind.
async fn databases(name: &str) -> [String; 2] {
    let folder = std::env::temp_dir().join(format!("turno-example-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("the temporary directory is writable");
    [format!("sqlite:{}", folder.join("turno.db").display()), Cluster::for_tests().fresh_database().await]
}

async fn prints(name: &str, expected: &str) {
    for url in databases(name).await {
        let output = example(name).arg(&url).output().expect("examples are built with the tests");
        assert!(output.status.success(), "{name} on {url}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name} on {url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_example_answers_in_order_and_gives_up_on_the_poison() {
    let expected = "ana: answered 1\nana: answered 3\nana: gave up on 4\nluis: answered 2\n3 processed, 1 exhausted\n";
    prints("worker", expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_guard_example_stops_when_the_lease_is_lost() {
    let expected = "held\nthe lease was lost: another user took it over\nthe new fence is greater: true\n\
                    the late heartbeat is refused: true\n";
    prints("lease_guard", expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_finalize_example_applies_each_line_once() {
    let lines = "  line 1 applied\n  line 2 failed: 5 wanted, 0 in stock\n";
    let both = ["finalized", "repeated"].map(|round| format!("{round}: partially_completed\n{lines}")).concat();
    prints("finalize", &format!("{both}30 nails in stock\n")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chat_bot_example_answers_grouped_messages_together() {
    prints("chat_bot", "ana: Hola | ¿Disponibilidad?\n2 answered, 1 exhausted\n").await;
}

/// Kills the child process when the test ends, even if it fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_example_takes_over_the_item_of_a_killed_instance() {
    for url in databases("inbox_scheduler").await {
        let hung = example("inbox_scheduler").args([&url, "a", "hang"]).stdout(Stdio::piped()).spawn();
        let mut hung = Running(hung.expect("examples are built with the tests"));
        let mut took = String::new();
        BufReader::new(hung.0.stdout.take().expect("stdout is piped"))
            .read_line(&mut took)
            .expect("the example prints text");
        let lost = took.split_whitespace().nth(2).expect("the line names the item").to_owned();
        hung.0.kill().expect("the example runs");
        let others = ["b", "c"].map(|name| {
            let started = example("inbox_scheduler").args([&url, name]).stdout(Stdio::piped()).spawn();
            started.expect("examples are built with the tests")
        });
        let mut lines = Vec::new();
        for other in others {
            let output = other.wait_with_output().expect("the example ends");
            assert!(output.status.success(), "{url}");
            lines.extend(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned));
        }
        let count = |record: &str, how: &str| {
            let start = format!(": {record} {how}");
            lines.iter().filter(|line| line.contains(&start)).count()
        };
        for n in 1..=8 {
            assert_eq!(count(&format!("presentation-{n}"), "processed"), 1, "each record is processed once: {lines:?}");
        }
        assert_eq!(count("presentation-3", "failed"), usize::from(lost != "presentation-3"), "{lines:?}");
        assert_eq!(count(&lost, "processed, attempt 2"), 1, "another instance processed the lost record: {lines:?}");
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_library_pages_program_runs_until_it_is_stopped() {
    for url in databases("embed").await {
        let child =
            example("embed").arg(&url).stdout(Stdio::piped()).spawn().expect("examples are built with the tests");
        let mut running = Running(child);
        let stdout = running.0.stdout.take().expect("stdout is piped");
        let mut lines = BufReader::new(stdout).lines().map(|line| line.expect("the example prints text"));
        let first = lines.next().expect("the example prints a report");
        assert!(first.starts_with("report written under fence "), "{first}");
        assert_eq!(lines.next().as_deref(), Some("mail sent to ana@example.com"));
        let stop = Command::new("kill").args(["-INT", &running.0.id().to_string()]).status();
        assert!(stop.expect("`kill` is installed").success());
        assert!(running.0.wait().expect("the example ends").success(), "the example stops cleanly");
        assert_eq!(lines.next(), None);
    }
}

#[test]
fn the_library_pages_show_the_program_that_is_tested() {
    let program = include_str!("../examples/embed.rs");
    let (_, program) = program.split_once("\n\n").expect("the doc comment comes first");
    for page in [include_str!("../../../docs/library.md"), include_str!("../../../docs/es/library.md")] {
        assert!(page.contains(program.trim()), "copy examples/embed.rs into it");
    }
}
