//! TLS to PostgreSQL: what is verified, with which roots, and the client's own certificate.
//!
//! Files are read at every connection, so that a renewed certificate is used without a restart. What the TLS library
//! reports becomes a [`TlsFault`].

mod der;
mod stream;
mod verify;

pub(super) use stream::Connector;

use crate::store::{TlsFault, TlsFileProblem};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use verify::Verifier;

/// How much the connection is protected, from nothing to everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it. Nothing is verified.
    Prefer,
    /// TLS. Nothing is verified.
    Require,
    /// TLS, and a trusted root has issued the certificate.
    VerifyCa,
    /// Also, the certificate is for this host.
    VerifyFull,
}

/// The trusted roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// The roots that the operating system trusts.
    System,
    /// The certificates of a PEM file.
    File(PathBuf),
}

/// The files of the client's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientFiles {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// The TLS parameters of a URL. Roots are present exactly if the mode verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsSettings {
    pub(super) mode: Mode,
    pub(super) roots: Option<Roots>,
    pub(super) client: Option<ClientFiles>,
    /// Whether the connection begins with TLS, which servers accept only under the protocol's name.
    pub(super) direct: bool,
}

impl TlsSettings {
    /// Reads the files and returns a connector for one connection.
    pub(super) fn connector(&self) -> Result<Connector, TlsFault> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let roots = self.roots.as_ref().map(certificates).transpose()?;
        let verifier = Verifier { roots, checks_name: self.mode == Mode::VerifyFull, algorithms };
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = versions.map_err(|error| TlsFault::Handshake(error.to_string()))?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &self.client {
            None => builder.with_no_client_auth(),
            Some(files) => {
                let (chain, key) = (pem_certificates("sslcert", &files.certificate)?, private_key(&files.key)?);
                let mismatch = |_| file_fault("sslkey", &files.key, TlsFileProblem::Mismatch);
                builder.with_client_auth_cert(chain, key).map_err(mismatch)?
            }
        };
        if self.direct {
            config.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        Ok(Connector::new(Arc::new(config)))
    }

    /// Returns the fault that the error of a connection attempt stands for, or `None` if it is not about TLS.
    pub(super) fn fault(&self, error: &tokio_postgres::Error, connector: &Connector) -> Option<TlsFault> {
        let source = std::error::Error::source(error)?;
        if let Some(fault) = source.downcast_ref::<TlsFault>() {
            return Some(self.with_client(fault.clone()));
        }
        // With TLS 1.3 the server judges the client after the handshake, when the client already reads.
        if let Some(error) = source.downcast_ref::<std::io::Error>() {
            return tls_error(error).map(|error| self.with_client(fault_from(error)));
        }
        // The driver reports an offer that the server declined as a text. The handshake has not begun, so the progress
        // of the connector tells the same.
        let declined = connector.is_waiting() && !source.is::<tokio_postgres::error::DbError>();
        (declined && self.mode >= Mode::Require).then_some(TlsFault::Refused)
    }

    /// Tells a missing client certificate from a refused one.
    fn with_client(&self, fault: TlsFault) -> TlsFault {
        match fault {
            TlsFault::ClientRefused if self.client.is_none() => TlsFault::ClientRequired,
            fault => fault,
        }
    }
}

/// Returns the certificates of the trusted roots.
fn certificates(roots: &Roots) -> Result<Arc<TrustedRoots>, TlsFault> {
    static SYSTEM: OnceLock<Arc<TrustedRoots>> = OnceLock::new();
    match roots {
        Roots::File(path) => TrustedRoots::new(pem_certificates("sslrootcert", path)?)
            .ok_or_else(|| file_fault("sslrootcert", path, TlsFileProblem::NoCertificate)),
        Roots::System => {
            if let Some(roots) = SYSTEM.get() {
                return Ok(roots.clone());
            }
            let found = rustls_native_certs::load_native_certs();
            let roots = TrustedRoots::new(found.certs);
            let roots =
                roots.ok_or_else(|| file_fault("sslrootcert", Path::new("system"), TlsFileProblem::NoCertificate))?;
            Ok(SYSTEM.get_or_init(|| roots).clone())
        }
    }
}

/// The trusted roots, ready to verify with.
#[derive(Debug)]
pub(super) struct TrustedRoots {
    store: Arc<RootCertStore>,
    certificates: Vec<CertificateDer<'static>>,
}

impl TrustedRoots {
    /// Returns `None` if no certificate can be used.
    fn new(certificates: Vec<CertificateDer<'static>>) -> Option<Arc<TrustedRoots>> {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(certificates.iter().cloned());
        (!store.is_empty()).then(|| Arc::new(TrustedRoots { store: Arc::new(store), certificates }))
    }
}

fn file_fault(parameter: &'static str, path: &Path, problem: TlsFileProblem) -> TlsFault {
    TlsFault::File { parameter, path: path.display().to_string(), problem }
}

fn read(parameter: &'static str, path: &Path) -> Result<Vec<u8>, TlsFault> {
    std::fs::read(path).map_err(|error| file_fault(parameter, path, TlsFileProblem::Unreadable(error.to_string())))
}

fn pem_certificates(parameter: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let pem = read(parameter, path)?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = parsed.ok().filter(|found| !found.is_empty());
    certificates.ok_or_else(|| file_fault(parameter, path, TlsFileProblem::NoCertificate))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsFault> {
    let fault = |problem| file_fault("sslkey", path, problem);
    let pem = read("sslkey", path)?;
    if is_exposed(path) {
        return Err(fault(TlsFileProblem::Exposed));
    }
    PrivateKeyDer::from_pem_slice(&pem).map_err(|_| fault(TlsFileProblem::NoKey))
}

/// Returns whether other users can read the key. As in libpq, the group may read a key that belongs to root.
#[cfg(unix)]
fn is_exposed(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = std::fs::metadata(path) else { return false };
    let open = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    metadata.mode() & open != 0
}

#[cfg(not(unix))]
fn is_exposed(_: &Path) -> bool {
    false
}

/// Returns the TLS library's error inside of an I/O error.
fn tls_error(error: &std::io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn fault_from(error: &rustls::Error) -> TlsFault {
    match error {
        rustls::Error::InvalidCertificate(problem) => match problem {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => TlsFault::UnknownIssuer,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => TlsFault::NotYetValid,
            CertificateError::Other(other) => {
                let fault = other.0.downcast_ref::<TlsFault>();
                fault.cloned().unwrap_or_else(|| TlsFault::Certificate(other.to_string()))
            }
            other => TlsFault::Certificate(other.to_string()),
        },
        rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied,
        ) => TlsFault::ClientRefused,
        other => TlsFault::Handshake(other.to_string()),
    }
}
