//! A private certificate authority for tests of TLS.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

/// An authority with its key.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key, both in PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Authority {
    /// Creates an authority of this name.
    ///
    /// # Panics
    /// If the certificate cannot be made, which is a defect of the harness.
    #[must_use]
    pub fn new(name: &str) -> Authority {
        let (params, key) = (authority(name), new_key());
        Authority(CertifiedIssuer::self_signed(params, key).expect("the parameters are valid"))
    }

    /// Returns the authority's certificate in PEM.
    #[must_use]
    pub fn root(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for these hosts, with the first as its common name.
    #[must_use]
    pub fn issue(&self, hosts: &[&str]) -> Identity {
        self.sign(params(hosts, hosts[0]))
    }

    /// Issues a certificate that has a common name and no other name.
    #[must_use]
    pub fn issue_common_name(&self, name: &str) -> Identity {
        self.sign(params(&[], name))
    }

    /// Issues a certificate that has expired.
    #[must_use]
    pub fn issue_expired(&self, hosts: &[&str]) -> Identity {
        let mut params = params(hosts, hosts[0]);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = new_key();
        let certificate = params.signed_by(&key, &self.0).expect("the parameters are valid");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Identity {
    /// Returns a certificate as `openssl req -x509` makes it: an authority's own, with a common name only.
    ///
    /// # Panics
    /// If the certificate cannot be made, which is a defect of the harness.
    #[must_use]
    pub fn self_signed(name: &str) -> Identity {
        let key = new_key();
        let certificate = authority(name).self_signed(&key).expect("the parameters are valid");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("the system has randomness")
}

fn params(hosts: &[&str], name: &str) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("the hosts are names or addresses");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn authority(name: &str) -> CertificateParams {
    let mut params = params(&[], name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}
