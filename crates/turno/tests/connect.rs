//! Connections to PostgreSQL: TLS as libpq does it, and poolers that share sessions.

#[path = "connect/pooler.rs"]
mod pooler;
#[path = "connect/tls.rs"]
mod tls;
