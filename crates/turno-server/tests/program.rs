//! The program from outside, as a user and a supervisor see it: output, exit codes, signals.

#[path = "program/busy.rs"]
mod busy;
#[path = "program/database.rs"]
mod database;
#[path = "program/demo.rs"]
mod demo;
#[path = "program/file.rs"]
mod file;
#[path = "program/json.rs"]
mod json;
#[path = "program/start.rs"]
mod start;
#[path = "program/stop.rs"]
mod stop;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

fn turno(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turno"));
    // The default database is a file in the current directory, which must not be the source's.
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.args(arguments);
    for name in
        ["TURNO_DATABASE", "DATABASE_URL", "TURNO_LISTEN", "TURNO_CONFIG", "TURNO_ENV", "TURNO_URL", "TURNO_TOKEN"]
    {
        command.env_remove(name);
    }
    command.env_remove("TURNO_LANG").env("LC_ALL", "C");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ended(arguments: &[&str]) -> Output {
    turno(arguments).output().expect("the program was built with this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A ready server. Dropping it ends the process.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    before: Vec<String>,
    address: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        Self::spawn(turno(arguments))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the program was built with this test");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (mut before, mut line) = (Vec::new(), String::new());
        while stdout.read_line(&mut line).expect("stdout is UTF-8") > 0 {
            if let Some(address) = line.trim_end().strip_prefix("listening on http://") {
                let address = address.to_string();
                return Self { child, stdout, before, address };
            }
            before.push(std::mem::take(&mut line));
        }
        let failure = child.wait_with_output().map(|output| text(&output.stderr));
        panic!("the server ended before it listened: {failure:?}");
    }

    fn get(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\n{headers}Connection: close\r\n\r\n")
            .expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the answer is UTF-8");
        answer
    }

    fn send(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal was sent");
    }

    /// Sends a signal and waits for the end.
    fn signal(&mut self, name: &str) -> Option<i32> {
        self.send(name);
        self.child.wait().expect("the process is a child").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serve_prints_one_line_and_exits_with_0_when_interrupted() {
    let mut server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--database", "sqlite:test.db"]);
    assert!(server.before.is_empty(), "{:?}", server.before);
    assert_eq!(server.signal("INT"), Some(0));
    let mut rest = String::new();
    server.stdout.read_to_string(&mut rest).expect("stdout is UTF-8");
    assert_eq!(rest, "");
}

#[test]
fn an_open_connection_does_not_delay_the_stop() {
    let mut server = Running::start(&["serve", "--listen", "127.0.0.1:0"]);
    let idle = TcpStream::connect(&server.address).expect("the server listens");
    assert!(server.get("/healthz", "").starts_with("HTTP/1.1 200"));
    assert_eq!(server.signal("TERM"), Some(0));
    drop(idle);
}

#[test]
fn pages_have_their_language_and_their_security_policy() {
    let server = Running::start(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(server.get("/", "").contains("action=\"/sign-in\""), "an anonymous visitor gets the sign-in form");
    let (spanish, english) = (server.get("/sign-in", ""), server.get("/sign-in", "Accept-Language: en-GB\r\n"));
    assert!(spanish.contains("content-language: es") && english.contains("content-language: en"));
    for answer in [&spanish, &english, &server.get("/healthz", ""), &server.get("/none", "")] {
        assert!(answer.contains("content-security-policy: default-src 'none'"), "{answer}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
    }
    assert!(server.get("/none", "").starts_with("HTTP/1.1 404"));
    assert!(server.get("/assets/turno.css", "").contains("content-type: text/css"));
}

/// A directory for the files of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for tests can be written");
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn database(&self) -> String {
        format!("sqlite:{}", self.file("turno.db"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_schema_is_checked_without_being_created() {
    let folder = Folder::new("migrate");
    let url = folder.database();
    let checked = ended(&["migrate", "--check", "--database", &url]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stderr).contains("no schema yet") && text(&checked.stderr).contains("turno migrate"));
    assert!(!Path::new(&folder.file("turno.db")).exists(), "the check creates no file");
    let refused = ended(&["serve", "--no-migrate", "--listen", "127.0.0.1:0", "--database", &url]);
    assert!(refused.status.code() == Some(1) && text(&refused.stderr).contains("turno migrate"), "{refused:?}");
    let migrated = ended(&["migrate", "--database", &url]);
    assert!(migrated.status.success() && text(&migrated.stderr).contains("created with schema"), "{migrated:?}");
    let checked = ended(&["migrate", "--check", "--database", &url]);
    assert!(checked.status.success() && text(&checked.stderr).contains("current"), "{checked:?}");
}

#[test]
fn settings_are_shown_with_their_source() {
    let folder = Folder::new("config");
    let file = folder.file("turno.toml");
    std::fs::write(&file, "database = \"postgres://ana:s3cret@db/shop\"\nkeep_history_days = 7\n").expect("writable");
    let config =
        turno(&["config", "--config", &file, "--listen", "127.0.0.1:1"]).env("TURNO_ENV", "production").output();
    let config = config.expect("the program was built with this test");
    let lines = text(&config.stdout);
    let line = |key: &str| lines.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    assert!(line("listen").contains("--listen") && line("env").contains("TURNO_ENV"), "{lines}");
    assert!(line("keep_history_days").contains("turno.toml line 2"), "{lines}");
    assert!(line("database").contains("db/shop") && !lines.contains("s3cret"), "{lines}");
    let json = text(&ended(&["config", "--json"]).stdout);
    assert!(json.starts_with('[') && json.contains("\"origin\":\"default\""), "{json}");
    std::fs::write(&file, "databse = \"sqlite:a.db\"\n").expect("writable");
    let wrong = ended(&["config", "--config", &file]);
    assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains("database"), "{wrong:?}");
}

#[test]
fn production_does_not_start_with_unsafe_settings() {
    for command in ["serve", "config"] {
        let refused = ended(&[command, "--env", "production", "--cors-origin", "*", "--listen", "127.0.0.1:0"]);
        let talk = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && talk.contains("cors_origins") && talk.contains("next: "), "{talk}");
    }
}

#[test]
fn completions_and_the_manual_are_generated_from_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = text(&ended(&["completions", shell]).stdout);
        assert!(script.contains("healthcheck") && script.contains("force-release"), "{shell}");
    }
    assert!(text(&ended(&["man"]).stdout).contains(".TH turno 1"));
    let folder = Folder::new("man");
    assert!(ended(&["man", &folder.file("man1")]).status.success());
    for page in ["turno.1", "turno-lease-claim.1", "turno-run.1"] {
        assert!(Path::new(&folder.file("man1")).join(page).is_file(), "{page}");
    }
}

#[test]
fn sync_plan_without_a_source_is_refused() {
    let output = ended(&["sync", "plan"]);
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains("no [[sync.source]]"), "{output:?}");
}

#[test]
fn a_port_in_use_is_explained() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("the listener is bound").to_string();
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
        (&["serve", "--database", "mysql://u:s3cret@h/d"], "use sqlite: or postgres://"),
        (&["demo", "--database", "sqlite:a.db"], "temporary file or on PostgreSQL"),
        (&["--database", "sqlite:a.db", "demo"], "temporary file or on PostgreSQL"),
        (&["nonsense"], "nonsense"),
        (&["lesae"], "lease"),
        (&["lease", "claim", "caja:3", "--ttl", "30"], "30s"),
        (&["lease", "get", "caja:3", "--sever", "x"], "--server"),
        (&["user", "add", "ana", "--role", "admn"], "admin"),
        (&["token", "create", "--user", "a\nb"], "control character"),
        (&["run", "--resource", "job"], "CMD"),
        (&["lease"], "Usage"),
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

/// Runs the program in a Spanish locale.
fn in_spanish(arguments: &[&str]) -> Output {
    turno(arguments).env("LC_ALL", "es_AR.UTF-8").output().expect("the program was built with this test")
}

#[test]
fn messages_follow_the_locale_and_json_does_not() {
    let folder = Folder::new("spanish");
    let url = folder.database();
    let added = in_spanish(&["user", "add", "ana", "--role", "admin", "--database", &url]);
    assert_eq!(text(&added.stderr).lines().next(), Some("se agregó ana (ana), admin"));
    let listed = text(&in_spanish(&["user", "list", "--database", &url]).stdout);
    assert!(listed.starts_with("ID   NOMBRE  ROL    ESTADO  CONTRASEÑA  DESDE"), "{listed}");
    let twice = in_spanish(&["user", "add", "ana", "--role", "admin", "--database", &url]);
    let expected = "error: ana ya existe; cámbielo, o elija otro id\n  qué hacer: use `turno user change`, u otro id\n";
    assert_eq!((twice.status.code(), text(&twice.stderr).as_str()), (Some(1), expected));
    let words = ["user", "list", "--json", "--database", &url];
    assert_eq!(in_spanish(&words).stdout, ended(&words).stdout);
    let ours = turno(&["user", "list", "--database", &url]).env("LC_ALL", "es_AR").env("TURNO_LANG", "en").output();
    assert!(text(&ours.expect("the program was built with this test").stdout).starts_with("ID   NAME"));
}

#[test]
fn help_and_wrong_arguments_are_in_spanish_too() {
    let help = in_spanish(&["queue", "put", "--help"]);
    let help_text = text(&help.stdout);
    for wanted in [
        "Uso: turno queue put [OPCIONES] <QUEUE>",
        "Opciones:",
        "Política:",
        "La cola",
        "Muestra la ayuda",
        "Ejemplos:",
    ] {
        assert!(help_text.contains(wanted), "{wanted} in {help_text}");
    }
    for english in ["Options", "Usage", "Print", "Which", "Examples"] {
        assert!(!help_text.contains(english), "{english} in {help_text}");
    }
    assert!(help.status.success() && help_text.lines().all(|line| line.chars().count() <= 80), "{help_text}");
    let wrong = in_spanish(&["lease", "claim", "caja:3", "--ttl", "30"]);
    let stderr = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr.starts_with("error: '30' no sirve para '--ttl <DURATION>': falta la unidad: ¿30s, 30m, 30h o 30ms?"),
        "{stderr}"
    );
    assert!(stderr.contains("Para saber más, pruebe '--help'."), "{stderr}");
}

#[test]
fn a_negative_value_is_refused_with_its_range_and_no_tip() {
    for words in [&["lease", "list", "--limit", "-1"][..], &["lease", "claim", "a", "--ttl", "-5s"]] {
        let wrong = ended(words);
        let stderr = text(&wrong.stderr);
        assert!(wrong.status.code() == Some(2) && stderr.contains("0 or more") && !stderr.contains("tip:"), "{stderr}");
    }
}

#[test]
fn a_database_created_by_a_mistyped_path_is_reported() {
    let folder = Folder::new("slip");
    let url = folder.database();
    for _ in 0..2 {
        let new = !Path::new(&folder.file("turno.db")).exists();
        let checked = ended(&["check", "--database", &url]);
        let stderr = text(&checked.stderr);
        assert!(checked.status.success() && stderr.contains("created a new, empty database") == new, "{stderr}");
    }
}

#[test]
fn config_refuses_a_missing_secret_like_serve() {
    let folder = Folder::new("secret");
    let file = folder.file("turno.toml");
    let settings =
        "[queues.bot]\nkind = \"lane\"\npush = { url = \"https://example.com/\", secret_env = \"NO_SUCH_SECRET\" }\n";
    std::fs::write(&file, settings).expect("the folder can be written");
    let url = folder.database();
    for command in ["config", "serve"] {
        let refused = ended(&[command, "--config", &file, "--listen", "127.0.0.1:0", "--database", &url]);
        assert!(refused.status.code() == Some(2) && text(&refused.stderr).contains("NO_SUCH_SECRET"), "{refused:?}");
    }
    assert!(!Path::new(&folder.file("turno.db")).exists(), "the database was not opened");
    let config = turno(&["config", "--config", &file, "--database", &url]).env("NO_SUCH_SECRET", "s3cret").output();
    assert!(config.expect("the program was built with this test").status.success());
}

#[test]
fn names_refused_by_the_api_are_refused_on_the_command_line() {
    let folder = Folder::new("names");
    let url = folder.database();
    assert!(ended(&["user", "add", "eva", "--role", "admin", "--database", &url]).status.success());
    let long = "x".repeat(201);
    for words in [
        &["token", "create", "--user", "eva", "--resource", ""][..],
        &["token", "create", "--user", "eva", "--resource", "caja:", ""],
        &["token", "create", "--user", "eva", "--resource", "a\nb"],
        &["user", "add", "w2", "--role", "viewer", "--name", ""],
        &["user", "add", "w2", "--role", "viewer", "--name", " "],
        &["user", "add", "w2", "--role", "viewer", "--name", "a\nb"],
        &["user", "add", "w2", "--role", "viewer", "--name", &long],
        &["user", "add", "", "--role", "viewer"],
        &["user", "change", "eva", "--name", ""],
    ] {
        let refused = ended(&[words, &["--database", &url]].concat());
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {refused:?}");
        assert!(refused.stdout.is_empty(), "no token is printed: {words:?}");
    }
    let listed = text(&ended(&["token", "list", "--json", "--database", &url]).stdout);
    assert!(listed.contains(r#""items":[]"#), "{listed}");
}

#[test]
fn an_invalid_log_level_is_refused() {
    for command in ["config", "serve"] {
        for level in ["loud", "info,loud", "turno=loud", "info,[request{id}]=debug", ""] {
            let refused = ended(&[command, "--listen", "127.0.0.1:0", "--log-level", level]);
            let stderr = text(&refused.stderr);
            assert!(refused.status.code() == Some(2) && stderr.contains("debug, trace or off"), "{level}: {stderr}");
        }
    }
    for level in ["off", "WARN", "info,turno=debug", "turno=trace,hyper=off"] {
        assert!(ended(&["config", "--log-level", level]).status.success(), "{level}");
    }
}

#[test]
fn an_unopenable_database_is_refused_with_the_next_step() {
    let folder = Folder::new("unopened");
    let (text_file, new) = (folder.file("notes.txt"), folder.database());
    std::fs::write(&text_file, "nothing but words, and enough of them to be read as the head of a file".repeat(9))
        .expect("the folder can be written");
    let other = format!("sqlite:{text_file}");
    let missing = format!("sqlite:{}", folder.file("none/turno.db"));
    for (words, english, spanish) in [
        (&["serve", "--no-migrate", "--listen", "127.0.0.1:0", "--database", &new][..], "`turno migrate`", "ejecute"),
        (&["check", "--database", &other], "name another file", "nombre otro archivo"),
        (&["check", "--database", &missing], "its folder exists", "revise que su carpeta"),
    ] {
        let refused = ended(words);
        let stderr = text(&refused.stderr);
        assert!(refused.status.code() == Some(1) && stderr.contains(english), "{stderr}");
        let refused = text(&in_spanish(words).stderr);
        assert!(refused.contains(&format!("qué hacer: {spanish}")), "{refused}");
        for word in [" the ", " is ", " to ", " or "] {
            assert!(!refused.contains(word), "{word} in {refused}");
        }
    }
}

#[test]
fn the_suggested_command_names_its_user() {
    let folder = Folder::new("next");
    let url = folder.database();
    let empty = ended(&["user", "add", "y", "--role", "viewer", "--password-stdin", "--database", &url]);
    let stderr = text(&empty.stderr);
    assert!(stderr.contains("turno user add y --role viewer --password-stdin") && !stderr.contains("ana"), "{stderr}");
    let nothing = ended(&["user", "change", "y", "--database", &url]);
    let stderr = text(&nothing.stderr);
    assert!(
        nothing.status.code() == Some(2) && stderr.contains("--role") && stderr.contains("--name NAME"),
        "{stderr}"
    );
}

#[test]
fn an_error_is_written_in_one_language() {
    let wrong = text(&in_spanish(&["config", "--env", "staging"]).stderr);
    assert!(!wrong.contains("must be"), "{wrong}");
}

#[test]
fn spanish_help_is_wrapped_once() {
    let all = include_str!("../locales/examples.es.ftl");
    let mut seen = 0;
    for message in all.split("\nexamples-turno-").skip(1) {
        let (name, lines) = message.split_once(" =").expect("a message has a text");
        // Only top-level commands: the names of subcommands have dashes.
        if name.contains('-') {
            continue;
        }
        let help_text = text(&in_spanish(&[name, "--help"]).stdout);
        assert!(help_text.lines().all(|line| line.chars().count() <= 80), "{help_text}");
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.contains(['{', '#'])) {
            assert!(help_text.lines().any(|other| other.trim() == line), "{name}: {line}: {help_text}");
        }
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}
