//! Connections to PostgreSQL: TLS as libpq does it, and poolers that share sessions.
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

#[path = "connect/pooler.rs"]
mod pooler;
#[path = "connect/tls.rs"]
mod tls;
