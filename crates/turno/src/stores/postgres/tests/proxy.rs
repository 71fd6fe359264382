//! A proxy to the server that can cut the connection right behind a commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Forwards bytes. Once armed, it cuts the connection when the text of a commit passes.
pub(super) struct Proxy {
    pub(super) port: u16,
    mode: Arc<Mode>,
}

#[derive(Default)]
struct Mode {
    armed: AtomicBool,
    /// Whether the commit still reaches the server.
    forwards: AtomicBool,
}

impl Proxy {
    pub(super) async fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let proxy = Proxy { port: listener.local_addr().unwrap().port(), mode: Arc::default() };
        let mode = proxy.mode.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                tokio::spawn(forward(client, server, mode.clone()));
            }
        });
        proxy
    }

    /// Cuts the connection at the next commit: after the server has received it, or before.
    pub(super) fn cut(&self, forwards: bool) {
        self.mode.forwards.store(forwards, Ordering::SeqCst);
        self.mode.armed.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_armed(&self) -> bool {
        self.mode.armed.load(Ordering::SeqCst)
    }
}

async fn forward(mut client: TcpStream, mut server: TcpStream, mode: Arc<Mode>) {
    let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(length @ 1..) = read else { return };
                let has_commit = up[..length].windows(10).any(|bytes| bytes == b"-- commit\n");
                if has_commit && mode.armed.swap(false, Ordering::SeqCst) {
                    if mode.forwards.load(Ordering::SeqCst) {
                        server.write_all(&up[..length]).await.unwrap();
                        // The server has answered everything once it is ready for more. The answer is dropped.
                        let mut answer = vec![0; 65_536];
                        let mut seen = Vec::new();
                        while !seen.windows(7).any(|bytes| bytes == b"COMMIT\0") {
                            let length = server.read(&mut answer).await.unwrap();
                            assert!(length > 0, "the server has answered with something else than a commit");
                            seen.extend_from_slice(&answer[..length]);
                        }
                    }
                    return;
                }
                if server.write_all(&up[..length]).await.is_err() { return }
            }
            read = server.read(&mut down) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&down[..length]).await.is_err() { return }
            }
        }
    }
}
