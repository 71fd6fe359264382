//! Runs commands against the world's database and server.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use turno::access::NewToken;

use crate::world::World;

/// The environment of commands.
pub(crate) struct Shell {
    variables: Vec<(&'static str, String)>,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) talk: String,
}

impl Output {
    /// Asserts success and returns stdout.
    pub(crate) fn done(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out.trim_end()
    }

    /// Asserts success and returns stdout as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.done()).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Asserts the exit code and returns stderr, which must have a cause and a next step.
    pub(crate) fn refused(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.talk.contains("error: ") && self.talk.contains("next: "), "{self:?}");
        &self.talk
    }
}

impl Shell {
    /// Returns a shell for the world's database, without a token.
    pub(crate) fn at(world: &World) -> Shell {
        let variables = vec![("TURNO_DATABASE", world.url.clone()), ("TURNO_URL", world.server.base.clone())];
        Shell { variables }
    }

    /// Returns a shell for the world's server, with a token of this user.
    pub(crate) async fn signed_in(world: &World, user: &str) -> Shell {
        let (_, secret) = world.turno.create_token(NewToken::for_user(user).unwrap()).await.unwrap();
        Shell::at(world).with("TURNO_TOKEN", &secret)
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Shell {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Shell {
        self.variables.retain(|(known, _)| *known != name);
        self
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turno"));
        command.args(words).current_dir(env!("CARGO_TARGET_TMPDIR")).kill_on_drop(true);
        for name in
            ["TURNO_DATABASE", "DATABASE_URL", "TURNO_LISTEN", "TURNO_URL", "TURNO_TOKEN", "TURNO_CONFIG", "TURNO_ENV"]
        {
            command.env_remove(name);
        }
        command.env_remove("TURNO_LANG").env("LC_ALL", "C");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command and waits for its end.
    pub(crate) async fn run(&self, words: &[&str]) -> Output {
        self.feed(words, "").await
    }

    /// Runs a command with this input on stdin.
    pub(crate) async fn feed(&self, words: &[&str], input: &str) -> Output {
        let mut child = self.command(words).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        ended(child).await
    }

    /// Starts a command that prints `started` once it runs. Its stdin stays open.
    pub(crate) async fn start(&self, words: &[&str]) -> Started {
        let mut child = self.command(words).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).await.unwrap();
        if line.trim_end() != "started" {
            panic!("the command printed {line:?} instead of starting: {:?}", ended(child).await);
        }
        Started { child, stdout }
    }
}

/// A running command.
pub(crate) struct Started {
    child: Child,
    stdout: BufReader<tokio::process::ChildStdout>,
}

impl Started {
    pub(crate) async fn signal(&self, name: &str) {
        let pid = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args([format!("-{name}"), pid]).status().await.unwrap();
        assert!(sent.success());
    }

    /// Waits for the end of the command and of all its children, because they hold its stdout.
    pub(crate) async fn ended(mut self) -> Output {
        // Closed only now: a command that reads stdin must not end earlier.
        let stdin = self.child.stdin.take();
        let mut out = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut self.stdout, &mut out).await.unwrap();
        let output = ended(self.child).await;
        drop(stdin);
        Output { out, ..output }
    }
}

async fn ended(child: Child) -> Output {
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Output { code: output.status.code(), out: text(&output.stdout), talk: text(&output.stderr) }
}
