//! The few fields of a certificate that the TLS library does not give away.
//!
//! Reads only certificates that the TLS library has parsed before. What does not fit is `None`, never a panic.

use sha2::{Digest, Sha256, Sha384, Sha512};
use std::net::IpAddr;

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// The prefixes of the signature algorithms' ids, RSA and ECDSA.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];

/// A sequence of values.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Returns the tag and the content of the next value.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next().filter(|(tag, _)| *tag == wanted).map(|(_, content)| content)
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = (u8, &'a [u8]);
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        Reader::next(self)
    }
}

/// The parts of a certificate.
struct Parts<'a> {
    validity: &'a [u8],
    subject: &'a [u8],
    extensions: Option<&'a [u8]>,
    signature: &'a [u8],
}

fn parts(certificate: &[u8]) -> Option<Parts<'_>> {
    let mut whole = Reader(Reader(certificate).expect(SEQUENCE)?);
    let mut body = Reader(whole.expect(SEQUENCE)?);
    let signature = Reader(whole.expect(SEQUENCE)?).next()?.1;
    // The version is optional, and the serial number follows it.
    if body.next()?.0 == 0xa0 {
        body.next()?;
    }
    body.expect(SEQUENCE)?;
    body.expect(SEQUENCE)?;
    let validity = body.expect(SEQUENCE)?;
    let subject = body.expect(SEQUENCE)?;
    let extensions = body.find(|(tag, _)| *tag == EXTENSIONS).map(|(_, content)| content);
    Some(Parts { validity, subject, extensions, signature })
}

/// Returns the value `tls-server-end-point` of RFC 5929: the certificate's digest, made with the hash of its signature.
/// Returns `None` if the signature has no hash of its own, as PostgreSQL then binds nothing either.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let signature = parts(certificate)?.signature;
    let rsa = signature.strip_prefix(RSA).unwrap_or_default();
    let ecdsa = signature.strip_prefix(ECDSA).unwrap_or_default();
    match (rsa, ecdsa) {
        // MD5 and SHA-1 count as SHA-256.
        ([4 | 5 | 11], _) | (_, [2]) => Some(Sha256::digest(certificate).to_vec()),
        ([12], _) | (_, [3]) => Some(Sha384::digest(certificate).to_vec()),
        ([13], _) | (_, [4]) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// Returns the first and the last second of the certificate's validity, since 1970.
pub(super) fn validity(certificate: &[u8]) -> Option<(i64, i64)> {
    let mut times = Reader(parts(certificate)?.validity);
    let mut time = || times.next().and_then(|(tag, text)| seconds(tag, std::str::from_utf8(text).ok()?));
    Some((time()?, time()?))
}

/// Parses `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn seconds(tag: u8, text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (year, rest) = if tag == UTC_TIME {
        let year: i64 = text.get(..2)?.parse().ok()?;
        (if year < 50 { 2000 + year } else { 1900 + year }, text.get(2..)?)
    } else {
        (text.get(..4)?.parse().ok()?, text.get(4..)?)
    };
    let field = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let (month, day) = (field(0)?, field(2)?);
    // Counts days with the year beginning in March, so that the leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469;
    Some(days * 86_400 + field(4)? * 3_600 + field(6)? * 60 + field(8)?)
}

/// Returns the hosts and addresses of the extension for names.
pub(super) fn alternative_names(certificate: &[u8]) -> Vec<String> {
    let names = || {
        let extensions = Reader(Reader(parts(certificate)?.extensions?).expect(SEQUENCE)?);
        let mut found = extensions.filter_map(|(_, content)| {
            let mut extension = Reader(content);
            let id = extension.next()?.1;
            let (_, value) = extension.last()?;
            (id == SUBJECT_ALT_NAME).then_some(value)
        });
        Some(Reader(Reader(found.next()?).expect(SEQUENCE)?).filter_map(general_name).collect())
    };
    names().unwrap_or_default()
}

fn general_name((tag, content): (u8, &[u8])) -> Option<String> {
    match tag {
        DNS_NAME => std::str::from_utf8(content).ok().map(str::to_owned),
        IP_ADDRESS => match content.len() {
            4 => Some(IpAddr::from(<[u8; 4]>::try_from(content).ok()?).to_string()),
            _ => Some(IpAddr::from(<[u8; 16]>::try_from(content).ok()?).to_string()),
        },
        _ => None,
    }
}

/// Returns the common name of the subject.
pub(super) fn common_name(certificate: &[u8]) -> Option<String> {
    let mut sets = Reader(parts(certificate)?.subject);
    sets.find_map(|(_, set)| {
        let mut attribute = Reader(Reader(set).expect(SEQUENCE)?);
        let (_, id) = attribute.next()?;
        let (_, value) = attribute.next()?;
        (id == COMMON_NAME).then(|| String::from_utf8_lossy(value).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_from_1970_in_both_forms() {
        assert_eq!(seconds(UTC_TIME, "700101000000Z"), Some(0));
        assert_eq!(seconds(0x18, "20240229123456Z"), Some(1_709_210_096));
        assert_eq!(seconds(UTC_TIME, "991231235959Z"), Some(946_684_799));
        assert_eq!(seconds(0x18, "20500101000000Z"), Some(2_524_608_000));
        for bad in ["", "2024", "20240229123456", "2024-2-29T1234Z"] {
            assert_eq!(seconds(0x18, bad), None, "{bad}");
        }
    }

    #[test]
    fn bytes_that_are_no_certificate_have_no_fields() {
        let endless = [0x30, 0x84, 0xff, 0xff, 0xff, 0xff];
        for bytes in [&[][..], &[0x30], &[0x30, 0x05, 0x01], &endless, &[0x30, 0x80, 0, 0]] {
            assert_eq!((end_point(bytes), validity(bytes), common_name(bytes)), (None, None, None));
            assert!(alternative_names(bytes).is_empty());
        }
    }
}
