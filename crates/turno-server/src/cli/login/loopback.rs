//! The loopback address that receives the code of a sign-in.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;
use crate::texts::terminal::render;

/// The largest request head that is read.
const HEAD_MAX: usize = 8 << 10;
/// How long a connection may take to send its request. Browsers also open connections that they never use.
const REQUEST: Duration = Duration::from_secs(10);

/// A listener on a free port of 127.0.0.1.
pub(super) struct Loopback {
    listener: TcpListener,
    port: u16,
}

impl Loopback {
    pub(super) async fn bind() -> Result<Loopback, Failure> {
        let failed =
            |error: std::io::Error| Failure::failed(Message::new("login-listen").message("cause", io_cause(&error)));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Loopback { listener, port })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Waits for a request with this state and returns its code. Other requests get 404, so that no other page or
    /// program can end the wait.
    pub(super) async fn code(self, state: &str) -> String {
        let (codes, mut arrived) = mpsc::channel(1);
        loop {
            tokio::select! {
                Some(code) = arrived.recv() => return code,
                Ok((stream, _)) = self.listener.accept() => {
                    let (codes, state) = (codes.clone(), state.to_owned());
                    tokio::spawn(async move {
                        if let Ok(Some(code)) = tokio::time::timeout(REQUEST, answer(stream, &state)).await {
                            let _ = codes.send(code).await;
                        }
                    });
                }
            }
        }
    }
}

/// Reads a request and answers it. Returns the code if the request has the right state.
async fn answer(mut stream: TcpStream, state: &str) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_MAX || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let code = code_of(head.lines().next()?, state);
    let (status, id) =
        if code.is_some() { ("200 OK", "login-page-done") } else { ("404 Not Found", "login-page-unknown") };
    let text = render(&Message::new(id));
    let body = format!("<!doctype html><meta charset=\"utf-8\"><title>Turno</title><p>{text}</p>\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         content-security-policy: default-src 'none'\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    code
}

/// Returns the code in the first line of a request, if the line has this state.
fn code_of(line: &str, state: &str) -> Option<String> {
    let path = line.strip_prefix("GET ")?.split(' ').next()?;
    let query = path.strip_prefix("/?")?;
    let value = |name: &str| {
        form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    (value("state")? == state).then(|| value("code")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_needs_the_right_state() {
        assert_eq!(code_of("GET /?code=c-1&state=s HTTP/1.1", "s").as_deref(), Some("c-1"));
        for other in [
            "GET /?code=c-1&state=x HTTP/1.1",
            "GET /?code=c-1 HTTP/1.1",
            "POST /?code=c-1&state=s HTTP/1.1",
            "GET /favicon.ico",
            "",
        ] {
            assert_eq!(code_of(other, "s"), None, "{other}");
        }
    }
}
