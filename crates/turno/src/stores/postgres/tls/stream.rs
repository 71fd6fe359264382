//! The driver's interface to TLS: a handshake over a socket, and the channel binding for SCRAM.

use super::{der, fault_from, tls_error};
use crate::store::TlsFault;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};

/// Makes the handshakes of one connection attempt, which may try several hosts.
#[derive(Clone)]
pub(in crate::stores::postgres) struct Connector {
    config: Arc<ClientConfig>,
    /// Whether a host was reached whose handshake has not begun.
    waiting: Arc<AtomicBool>,
}

impl Connector {
    pub(super) fn new(config: Arc<ClientConfig>) -> Connector {
        Connector { config, waiting: Arc::default() }
    }

    /// Returns whether the last host was reached and its handshake has not begun.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Stream;
    type TlsConnect = Handshake;
    type Error = TlsFault;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, TlsFault> {
        self.waiting.store(true, Ordering::Relaxed);
        Ok(Handshake { connector: self.clone(), host: host.to_owned() })
    }
}

/// A handshake with one host.
pub(in crate::stores::postgres) struct Handshake {
    connector: Connector,
    host: String,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Stream;
    type Error = TlsFault;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, TlsFault>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let Handshake { connector, host } = self;
            connector.waiting.store(false, Ordering::Relaxed);
            let name = ServerName::try_from(host).map_err(|error| TlsFault::Handshake(error.to_string()))?;
            let stream = tokio_rustls::TlsConnector::from(connector.config).connect(name, socket).await;
            let fault =
                |error: io::Error| tls_error(&error).map_or_else(|| TlsFault::Handshake(error.to_string()), fault_from);
            Ok(Stream(Box::new(stream.map_err(fault)?)))
        })
    }
}

/// A TLS connection.
pub(in crate::stores::postgres) struct Stream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl tokio_postgres::tls::TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates();
        let end_point = certificates.and_then(|chain| der::end_point(chain.first()?));
        end_point.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
