//! The program `turno` as its own process, and a cheap client, so that the server is measured.
//!
//! The client keeps its connection, writes a prepared request, and reads the answer by its length. It understands
//! exactly what `turno` answers and refuses anything else.

use crate::measure::{BoxError, Outcome};
use crate::site::Site;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use turno::access::{NewPerson, NewToken, Role};

/// A server on a database, with a token that has every permission.
pub(crate) struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    pub(crate) async fn start(site: &Site) -> Outcome<Server> {
        Server::start_with(site, &[]).await
    }

    /// Starts a server with further environment variables.
    pub(crate) async fn start_with(site: &Site, variables: &[(&str, &str)]) -> Outcome<Server> {
        let turno = site.turno().await?;
        turno.add_person(NewPerson::new("bench", "Bench", Role::Admin)?).await?;
        let (_, token) = turno.create_token(NewToken::for_user("bench")?).await?;
        drop(turno);
        let program = std::env::current_exe()?.with_file_name("turno");
        if !program.exists() {
            return Err("there is no server beside this program; build it with `cargo build --profile dist`".into());
        }
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("TURNO_DATABASE", site.url())
            .env("TURNO_LOG_LEVEL", "error")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("its output is piped")?).lines();
        let listening =
            lines.find_map(|line| line.ok()?.split_once("listening on http://").map(|(_, at)| at.to_owned()));
        let address = listening.ok_or("the server ended before it listened")?;
        Ok(Server { child, address, token })
    }

    /// Opens a connection that stays open.
    pub(crate) async fn connect(&self) -> Outcome<Connection> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection(Arc::new(Mutex::new(Wire { stream, buffer: Vec::with_capacity(64 << 10) }))))
    }

    /// Returns a prepared request that can be sent repeatedly.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> Arc<[u8]> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.token,
            body.len()
        );
        [head.as_bytes(), body.as_bytes()].concat().into()
    }

    /// Returns the server's memory in bytes, if the system reports it.
    pub(crate) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Killed, because the server has no state that the next round needs.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A caller's connection. Clones share it, one call at a time.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Mutex<Wire>>);

struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Sends a request and reads the whole answer.
    pub(crate) async fn call(&self, request: &[u8]) -> Outcome<(u16, Vec<u8>)> {
        self.0.lock().await.call(request).await
    }

    /// Sends a request and fails on any other status.
    pub(crate) async fn expect(&self, status: u16, request: &[u8]) -> Outcome<Vec<u8>> {
        match self.call(request).await? {
            (got, body) if got == status => Ok(body),
            (other, body) => {
                Err(BoxError::from(format!("{other} instead of {status}: {}", String::from_utf8_lossy(&body))))
            }
        }
    }

    /// Sends a request, fails on any other status, and parses the JSON.
    pub(crate) async fn json(&self, status: u16, request: &[u8]) -> Outcome<Value> {
        Ok(serde_json::from_slice(&self.expect(status, request).await?)?)
    }
}

impl Wire {
    async fn call(&mut self, request: &[u8]) -> Outcome<(u16, Vec<u8>)> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (status, start, length) = loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed the connection".into());
            }
            if let Some(found) = head(&self.buffer)? {
                break found;
            }
        };
        while self.buffer.len() < start + length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed the connection within an answer".into());
            }
        }
        Ok((status, self.buffer[start..start + length].to_vec()))
    }
}

/// Returns the status, the start of the body and its length, once the head is complete.
fn head(buffer: &[u8]) -> Outcome<Option<(u16, usize, usize)>> {
    let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&buffer[..end])?;
    let status = head.get(9..12).ok_or("an answer without a status")?.parse()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
    });
    Ok(Some((status, end + 4, length.ok_or("an answer without a length")??)))
}
