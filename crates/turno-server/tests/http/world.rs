//! A server process on a fresh database, people with tokens, and a client for each.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use turno::Turno;
use turno::access::{NewPerson, NewToken, Role};
use turno_testkit::postgres::Cluster;

/// The database of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
}

/// The environment of a case. Ana and Leo are editors, Eva is an administrator, Vera is a viewer.
pub(crate) struct World {
    /// The same database through the library, to prepare data and to inspect it.
    pub(crate) turno: Turno,
    pub(crate) server: Running,
    pub(crate) url: String,
    folder: Option<PathBuf>,
}

/// A ready server. Dropping it ends the process.
pub(crate) struct Running {
    child: Child,
    pub(crate) base: String,
    log: Option<BufReader<ChildStderr>>,
}

impl Running {
    pub(crate) fn start(url: &str, arguments: &[&str]) -> Running {
        Running::spawn(Running::command(url).args(arguments))
    }

    /// Starts a server with these environment variables.
    pub(crate) fn with(url: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        Running::spawn(Running::command(url).args(arguments).envs(variables.iter().copied()))
    }

    /// Starts a server in production mode. Returns its stderr if it does not start.
    pub(crate) fn in_production(url: &str) -> Result<Running, String> {
        let mut command = Running::command(url);
        let mut tried = command.args(["--env", "production", "--no-migrate"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(tried.stdout.take().unwrap()).read_line(&mut first).unwrap();
        if first.is_empty() {
            let mut stderr = String::new();
            tried.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            assert_eq!(tried.wait().unwrap().code(), Some(2), "{stderr}");
            return Err(stderr);
        }
        let (_, base) = first.trim_end().split_once("listening on ").expect("the first line has the address");
        let log = tried.stderr.take().map(BufReader::new);
        Ok(Running { child: tried, base: base.to_owned(), log })
    }

    /// Starts the demo on this database. Returns its stderr if it does not start.
    pub(crate) fn demo(url: &str) -> Result<Running, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turno"));
        command
            .args(["demo", "--listen", "127.0.0.1:0", "--database", url])
            .env_remove("TURNO_LANG")
            .env("LC_ALL", "C");
        let mut tried = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut line, mut stdout) = (String::new(), BufReader::new(tried.stdout.take().unwrap()));
        while stdout.read_line(&mut line).unwrap() > 0 {
            if let Some((_, base)) = line.trim_end().split_once("listening on ") {
                let log = tried.stderr.take().map(BufReader::new);
                return Ok(Running { child: tried, base: base.to_owned(), log });
            }
            line.clear();
        }
        let mut stderr = String::new();
        tried.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        tried.wait().unwrap();
        Err(stderr)
    }

    /// Starts a server with these environment variables and keeps its JSON log for the case to read.
    pub(crate) fn with_log(url: &str, variables: &[(&str, &str)]) -> Running {
        let mut command = Running::command(url);
        command.env("TURNO_LOG_FORMAT", "json").envs(variables.iter().copied()).stderr(Stdio::piped());
        Running::spawn(&mut command)
    }

    fn command(url: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turno"));
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("TURNO_DATABASE", url)
            .env_remove("TURNO_LOG_LEVEL")
            .env_remove("TURNO_LANG")
            .env("LC_ALL", "C")
            .current_dir(env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    }

    fn spawn(command: &mut Command) -> Running {
        let mut child = command.spawn().expect("the program was built with this test");
        let log = child.stderr.take().map(BufReader::new);
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while stdout.read_line(&mut line).unwrap() > 0 {
            if let Some((_, base)) = line.trim_end().split_once("listening on ") {
                return Running { child, base: base.to_owned(), log };
            }
            line.clear();
        }
        panic!("the server ended before it listened: {:?}", child.wait());
    }

    /// Waits for the next line of the log and returns it.
    pub(crate) fn next_log_line(&mut self) -> Value {
        let mut line = String::new();
        let log = self.log.as_mut().expect("the server was started with its log");
        assert!(log.read_line(&mut line).unwrap() > 0, "the log ended");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"))
    }

    /// Returns the next line of the log, or `None` once the server has ended.
    pub(crate) fn try_log_line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let log = self.log.as_mut().expect("the server was started with its log");
        let read = log.read_line(&mut line).unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}")))
    }

    /// Waits for the next log line with this message and returns it.
    pub(crate) fn log_line(&mut self, message: &str) -> Value {
        loop {
            let line = self.next_log_line();
            if line["message"] == message {
                return line;
            }
        }
    }

    /// Returns a size of the server's process in bytes, from `/proc`: `VmRSS`, or its highest value `VmHWM`.
    pub(crate) fn memory(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1_024
    }

    /// Kills the server, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the server to stop and waits for its end.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.tell_to_stop();
        self.child.wait().unwrap().code()
    }

    /// Asks the server to stop, without waiting.
    pub(crate) fn tell_to_stop(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl World {
    pub(crate) async fn on(backend: Backend) -> World {
        World::with(backend, &[]).await
    }

    /// Starts a world whose server has further arguments.
    pub(crate) async fn with(backend: Backend, arguments: &[&str]) -> World {
        let (url, folder) = fresh(backend).await;
        let turno = Turno::open(&url).await.unwrap();
        for (id, name, role) in [
            ("ana", "Ana Pérez", Role::Editor),
            ("leo", "Leo Díaz", Role::Editor),
            ("eva", "Eva Ruiz", Role::Admin),
            ("vera", "Vera Sosa", Role::Viewer),
        ] {
            turno.add_person(NewPerson::new(id, name, role).unwrap()).await.unwrap();
        }
        let server = Running::start(&url, arguments);
        World { turno, server, url, folder }
    }

    /// Creates another database of the same kind without users.
    pub(crate) async fn empty(&self) -> String {
        match &self.folder {
            Some(folder) => format!("sqlite:{}", folder.join("empty.db").display()),
            None => fresh(Backend::Postgres).await.0,
        }
    }

    /// Starts another instance on the same database.
    pub(crate) fn second(&self) -> Running {
        Running::start(&self.url, &[])
    }

    /// Returns a client with a fresh token of this user.
    pub(crate) async fn client(&self, user: &str) -> Client {
        self.token(NewToken::for_user(user).unwrap()).await
    }

    /// Returns a client with such a token.
    pub(crate) async fn token(&self, token: NewToken) -> Client {
        let (_, secret) = self.turno.create_token(token).await.unwrap();
        Client::new(&self.server.base, Some(secret))
    }

    pub(crate) fn anonymous(&self) -> Client {
        Client::new(&self.server.base, None)
    }
}

async fn fresh(backend: Backend) -> (String, Option<PathBuf>) {
    match backend {
        Backend::Sqlite => {
            let name = format!("turno-http-{}-{}", std::process::id(), uuid());
            let folder = std::env::temp_dir().join(name);
            // A killed run with the same process id may have left its directory.
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            (format!("sqlite:{}", folder.join("turno.db").display()), Some(folder))
        }
        Backend::Postgres => (Cluster::for_tests().fresh_database().await, None),
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn uuid() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

/// A caller of the API.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    secret: Option<String>,
}

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Asserts the status and returns the body.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// Asserts the status and the code of a problem and returns its body.
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let body = self.expect(status);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(body["code"], code, "{body}");
        assert!(code != "bad_query" || body["field"].is_string(), "the wrong field is named: {body}");
        body
    }
}

impl Client {
    pub(crate) fn new(base: &str, secret: Option<String>) -> Client {
        Client { http: reqwest::Client::new(), base: base.to_owned(), secret }
    }

    /// Returns a client with the same token for another instance.
    pub(crate) fn at(&self, server: &Running) -> Client {
        Client { base: server.base.clone(), ..self.clone() }
    }

    /// Returns a client with the same token and its own connections.
    pub(crate) fn fresh(&self) -> Client {
        Client { http: reqwest::Client::new(), ..self.clone() }
    }

    pub(crate) fn secret(&self) -> &str {
        self.secret.as_deref().unwrap()
    }

    /// Starts a request that the case completes.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.secret {
            Some(secret) => request.bearer_auth(secret),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        answer(self.request(Method::DELETE, path).send().await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, body).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Value) -> Answer {
        answer(self.request(method, path).json(&body).send().await.unwrap()).await
    }
}

pub(crate) async fn answer(response: Response) -> Answer {
    let (status, headers) = (response.status(), response.headers().clone());
    Answer { status, headers, text: response.text().await.unwrap() }
}
