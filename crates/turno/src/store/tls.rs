//! Faults of the connection to PostgreSQL: parameters of its URL, and TLS. All are data; the edge renders them.

/// Why the parameters of a PostgreSQL URL cannot be used. Carries no values, because a value can be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlFault {
    /// The parameter does not exist.
    #[error("the database's URL has an unknown parameter {0}")]
    Unknown(String),
    /// The value does not fit its parameter.
    #[error("the database's URL has an invalid value for {0}")]
    Value(String),
    /// Turno writes, and the parameter demands a server that is read-only.
    #[error("target_session_attrs demands a read-only server, and Turno writes; use read-write")]
    ReadOnly,
    /// The system's roots are public, so that without a check of the name any server would pass.
    #[error("sslrootcert=system needs sslmode=verify-full")]
    SystemRoots,
    /// The mode checks the issuer, and no root is given.
    #[error("sslmode=verify-ca needs sslrootcert=FILE")]
    NoRoots,
    /// A client certificate needs both files.
    #[error("sslcert and sslkey belong together; give both")]
    HalfClient,
}

impl UrlFault {
    /// Returns a stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            UrlFault::Unknown(_) => "unknown",
            UrlFault::Value(_) => "value",
            UrlFault::ReadOnly => "read_only",
            UrlFault::SystemRoots => "system_roots",
            UrlFault::NoRoots => "no_roots",
            UrlFault::HalfClient => "half_client",
        }
    }
}

/// Why no TLS connection to the database was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsFault {
    /// The server offers no TLS, and `sslmode` demands it.
    #[error("the server offers no TLS, and sslmode demands it")]
    Refused,
    /// No trusted root has issued the server's certificate.
    #[error("the server's certificate was issued by an unknown authority")]
    UnknownIssuer,
    /// The server's certificate names other hosts.
    #[error("the server's certificate is not for {host}; it names {}", list(.names))]
    WrongName {
        /// The host of the URL.
        host: String,
        /// The names in the certificate.
        names: Vec<String>,
    },
    /// The server's certificate has expired.
    #[error("the server's certificate has expired")]
    Expired,
    /// The server's certificate is not valid yet.
    #[error("the server's certificate is not valid yet")]
    NotYetValid,
    /// The server's certificate has another problem, in the words of the TLS library.
    #[error("the server's certificate cannot be used: {0}")]
    Certificate(String),
    /// The server demands a client certificate, and none is given.
    #[error("the server demands a client certificate")]
    ClientRequired,
    /// The server refuses the client certificate.
    #[error("the server refuses the client certificate")]
    ClientRefused,
    /// The handshake failed, in the words of the TLS library.
    #[error("the TLS handshake failed: {0}")]
    Handshake(String),
    /// A file that the URL names cannot be used.
    #[error("{parameter} {path}: {problem}")]
    File {
        /// The parameter: `sslrootcert`, `sslcert` or `sslkey`.
        parameter: &'static str,
        /// The path, or `system`.
        path: String,
        /// The problem.
        problem: TlsFileProblem,
    },
}

/// Why a file with certificates or a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsFileProblem {
    /// The file cannot be read, in the system's words.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The file has no usable certificate in PEM.
    #[error("has no certificate")]
    NoCertificate,
    /// The file has no private key in PEM, or the key is encrypted.
    #[error("has no unencrypted private key")]
    NoKey,
    /// Other users can read the key.
    #[error("can be read by other users")]
    Exposed,
    /// The key does not belong to the certificate.
    #[error("does not belong to the certificate")]
    Mismatch,
}

impl TlsFault {
    /// Returns a stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            TlsFault::Refused => "refused",
            TlsFault::UnknownIssuer => "unknown_issuer",
            TlsFault::WrongName { .. } => "wrong_name",
            TlsFault::Expired => "expired",
            TlsFault::NotYetValid => "not_yet_valid",
            TlsFault::Certificate(_) => "certificate",
            TlsFault::ClientRequired => "client_required",
            TlsFault::ClientRefused => "client_refused",
            TlsFault::Handshake(_) => "handshake",
            TlsFault::File { .. } => "file",
        }
    }
}

impl TlsFileProblem {
    /// Returns a stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            TlsFileProblem::Unreadable(_) => "unreadable",
            TlsFileProblem::NoCertificate => "no_certificate",
            TlsFileProblem::NoKey => "no_key",
            TlsFileProblem::Exposed => "exposed",
            TlsFileProblem::Mismatch => "mismatch",
        }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "no host".into() } else { names.join(", ") }
}
