//! Verifies the server's certificate as libpq does.
//!
//! Two rules go beyond the TLS library's own, because libpq has them and PostgreSQL's manual makes such certificates:
//! a certificate that is itself among the roots is trusted although it is a root's, and a certificate without
//! alternative names is for the host in its common name.

use super::TrustedRoots;
use super::der;
use crate::store::TlsFault;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Verifier {
    /// The roots; `None` trusts every certificate.
    pub(super) roots: Option<Arc<TrustedRoots>>,
    /// Whether the certificate must be for the host.
    pub(super) checks_name: bool,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn check_issuer(
        &self,
        roots: &TrustedRoots,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        if !roots.certificates.iter().any(|root| root == end_entity) {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.algorithms.all;
            return verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &roots.store,
                intermediates,
                now,
                algorithms,
            );
        }
        let now = now.as_secs().cast_signed();
        match der::validity(end_entity) {
            Some((from, _)) if now < from => Err(CertificateError::NotValidYet.into()),
            Some((_, until)) if now > until => Err(CertificateError::Expired.into()),
            Some(_) => Ok(()),
            None => Err(CertificateError::BadEncoding.into()),
        }
    }
}

fn check_name(end_entity: &CertificateDer<'_>, host: &ServerName<'_>) -> Result<(), Error> {
    let certificate = ParsedCertificate::try_from(end_entity)?;
    let Err(problem) = verify_server_name(&certificate, host) else { return Ok(()) };
    let mut names = der::alternative_names(end_entity);
    let host = host.to_str();
    if names.is_empty() {
        names.extend(der::common_name(end_entity));
        if names.iter().any(|name| matches(name, &host)) {
            return Ok(());
        }
    }
    match problem {
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => {
            let fault = TlsFault::WrongName { host: host.into_owned(), names };
            Err(CertificateError::Other(OtherError(Arc::new(fault))).into())
        }
        other => Err(other),
    }
}

/// Compares a common name with the host. A leading `*` stands for one label.
fn matches(name: &str, host: &str) -> bool {
    let of_domain = || {
        let (domain, (_, rest)) = (name.strip_prefix("*.")?, host.split_once('.')?);
        Some(domain.contains('.') && domain.eq_ignore_ascii_case(rest))
    };
    name.eq_ignore_ascii_case(host) || of_domain().unwrap_or(false)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            self.check_issuer(roots, end_entity, intermediates, now)?;
        }
        if self.checks_name {
            check_name(end_entity, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_common_name_is_a_host_or_one_label_of_a_domain() {
        assert!(matches("DB.example.com", "db.example.com") && matches("*.example.com", "db.example.com"));
        for (name, host) in [("*.example.com", "a.b.example.com"), ("*.com", "example.com"), ("db", "db.example.com")] {
            assert!(!matches(name, host), "{name} {host}");
        }
    }
}
