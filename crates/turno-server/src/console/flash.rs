//! The outcome of a form, shown once on the next page. A cookie of one minute carries it.

use axum::http::HeaderMap;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::http::cookie;

/// The name of the cookie.
pub(super) const COOKIE: &str = "turno_flash";
/// The longest text, in characters, because a cookie holds about four thousand bytes.
const TEXT_MAX: usize = 300;

/// The outcome of a form, as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flash {
    pub(super) good: bool,
    pub(crate) text: String,
}

impl Flash {
    pub(super) fn good(text: String) -> Flash {
        Flash { good: true, text }
    }

    pub(super) fn bad(text: String) -> Flash {
        Flash { good: false, text }
    }

    /// Reads the flash from the request's cookies.
    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Flash> {
        let text = percent_decode_str(cookie(headers, COOKIE)?).decode_utf8().ok()?;
        let (kind, text) = text.split_once(' ')?;
        Some(Flash { good: kind == "good", text: text.to_owned() })
    }

    /// Returns the cookie that carries the flash.
    pub(super) fn cookie(&self) -> String {
        let text: String = self.text.chars().take(TEXT_MAX).collect();
        let text = format!("{} {text}", if self.good { "good" } else { "bad" });
        let text = utf8_percent_encode(&text, NON_ALPHANUMERIC);
        format!("{COOKIE}={text}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax")
    }

    /// Returns the cookie that deletes the flash.
    pub(super) fn expired_cookie() -> String {
        format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flash_survives_its_cookie() {
        for flash in [Flash::good("¡Listo! 3 <b>; a=b\n\"ñ\"".to_owned()), Flash::bad("x ".repeat(10))] {
            let cookie = flash.cookie();
            let pair = cookie.split(';').next().expect("a pair");
            let mut headers = HeaderMap::new();
            headers.insert("cookie", pair.parse().expect("ASCII"));
            assert_eq!(Flash::from_headers(&headers), Some(flash));
        }
        assert!(Flash::bad("ñ".repeat(9_000)).cookie().len() < 4_000);
    }
}
