//! The signals that stop the server: Ctrl-C, and SIGTERM from a supervisor.

use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;

/// Listens for signals from its creation on.
#[derive(Debug)]
pub(super) struct Stop {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

impl Stop {
    #[cfg(unix)]
    pub(super) fn new() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| Failure::failed(Message::new("signals-failed").message("cause", io_cause(&error)));
        let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let terminate = signal(SignalKind::terminate()).map_err(failed)?;
        Ok(Self { signals: [interrupt, terminate] })
    }

    #[cfg(unix)]
    pub(super) async fn requested(&mut self) {
        let [interrupt, terminate] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(super) async fn requested(&mut self) {
        // A failure to listen for the signal must not stop the server.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
