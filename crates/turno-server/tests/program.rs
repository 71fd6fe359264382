//! The program from outside, as a stranger and a supervisor meet it: output, exit codes, signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

fn turno(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turno"));
    // The default database is a file in the current folder, which must not be the source's.
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.args(arguments).env_remove("TURNO_DATABASE").env_remove("TURNO_LISTEN");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ended(arguments: &[&str]) -> Output {
    turno(arguments).output().expect("the program was built with this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A server that is ready; it does not outlive the test.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    before: Vec<String>,
    address: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = turno(arguments).spawn().expect("the program was built with this test");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (mut before, mut line) = (Vec::new(), String::new());
        while stdout.read_line(&mut line).expect("it is UTF-8") > 0 {
            if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
                let address = address.to_string();
                return Self { child, stdout, before, address };
            }
            before.push(std::mem::take(&mut line));
        }
        let failure = child.wait_with_output().map(|output| text(&output.stderr));
        panic!("it ended before it listened: {failure:?}");
    }

    fn get(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\n{headers}Connection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in UTF-8");
        answer
    }

    fn signal(&mut self, name: &str) -> Option<i32> {
        let kill = format!("kill -{name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal was sent");
        self.child.wait().expect("it is our child").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_demo_says_what_runs_and_leaves_nothing_behind() {
    let mut demo = Running::start(&["demo", "--listen", "127.0.0.1:0"]);
    assert!(demo.before.len() < 8, "{:?}", demo.before);
    let page = demo.get("/", "");
    let start = page.find("<code>").expect("the page shows where the database is") + "<code>".len();
    let place = page[start..].split("</code>").next().unwrap_or_default().to_string();
    let folder = std::path::Path::new(&place).parent().expect("a file lies in a folder");
    assert!(folder.is_dir(), "{place}");
    assert_eq!(demo.signal("TERM"), Some(0));
    assert!(!folder.exists(), "{place}");
}

#[test]
fn serving_prints_one_line_and_ends_well_when_interrupted() {
    let mut server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--database", "sqlite:test.db"]);
    assert!(server.before.is_empty(), "{:?}", server.before);
    assert_eq!(server.signal("INT"), Some(0));
    let mut rest = String::new();
    server.stdout.read_to_string(&mut rest).expect("it is UTF-8");
    assert_eq!(rest, "");
}

#[test]
fn an_open_connection_does_not_keep_it_from_ending() {
    let mut server = Running::start(&["serve", "--listen", "127.0.0.1:0"]);
    let idle = TcpStream::connect(&server.address).expect("it listens");
    assert!(server.get("/healthz", "").starts_with("HTTP/1.1 200"));
    assert_eq!(server.signal("TERM"), Some(0));
    drop(idle);
}

#[test]
fn pages_carry_their_language_and_their_policy() {
    let server = Running::start(&["serve", "--listen", "127.0.0.1:0"]);
    let (spanish, english) = (server.get("/", ""), server.get("/", "Accept-Language: en-GB\r\n"));
    assert!(spanish.contains("content-language: es") && english.contains("content-language: en"));
    for answer in [&spanish, &english, &server.get("/healthz", ""), &server.get("/none", "")] {
        assert!(answer.contains("content-security-policy: default-src 'none'"), "{answer}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
    }
    assert!(server.get("/none", "").starts_with("HTTP/1.1 404"));
    assert!(server.get("/assets/turno.css", "").contains("content-type: text/css"));
}

#[test]
fn a_port_in_use_is_explained() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    for command in ["demo", "serve"] {
        let output = ended(&[command, "--listen", &address]);
        let talk = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{talk}");
        assert!(talk.contains(&address) && talk.contains("in use") && talk.contains("next: "), "{talk}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn wrong_usage_ends_with_2_and_a_reason() {
    for (arguments, reason) in [
        (&["serve", "--lisen", "127.0.0.1:0"][..], "--listen"),
        (&["serve", "--listen", "nowhere"], "HOST:PORT"),
        (&["serve", "--database", "mysql://u:s3cret@h/d"], "neither sqlite: nor postgres:"),
        (&["demo", "--database", "sqlite:a.db"], "fresh temporary database"),
        (&["--database", "sqlite:a.db", "demo"], "fresh temporary database"),
        (&["nonsense"], "nonsense"),
        (&[], "Usage"),
    ] {
        let output = ended(arguments);
        let talk = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {talk}");
        assert!(talk.contains(reason) && !talk.contains("s3cret"), "{arguments:?}: {talk}");
    }
}

#[test]
fn help_never_shows_the_password_in_the_environment() {
    let output = turno(&["serve", "--help"]).env("TURNO_DATABASE", "postgres://u:s3cret@h/d").output();
    let help = text(&output.expect("the program was built with this test").stdout);
    assert!(help.contains("TURNO_DATABASE") && !help.contains("s3cret"), "{help}");
}
