//! What is said once, on the page after a form: done, or why not. It travels in a cookie of one minute.

use axum::http::HeaderMap;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::http::cookie;

/// Its cookie.
pub(super) const COOKIE: &str = "turno_flash";
/// Longest sentence that is carried, in characters: a cookie has room for four thousand bytes.
const TEXT_MAX: usize = 300;

/// One sentence.
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

    /// What the browser brought along.
    pub(super) fn of(headers: &HeaderMap) -> Option<Flash> {
        let text = percent_decode_str(cookie(headers, COOKIE)?).decode_utf8().ok()?;
        let (kind, text) = text.split_once(' ')?;
        Some(Flash { good: kind == "good", text: text.to_owned() })
    }

    /// The cookie that carries it.
    pub(super) fn cookie(&self) -> String {
        let text: String = self.text.chars().take(TEXT_MAX).collect();
        let text = format!("{} {text}", if self.good { "good" } else { "bad" });
        let text = utf8_percent_encode(&text, NON_ALPHANUMERIC);
        format!("{COOKIE}={text}; Path=/; Max-Age=60; HttpOnly; SameSite=Lax")
    }

    /// The cookie that makes the browser forget it.
    pub(super) fn forgotten() -> String {
        format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_arrives_as_it_was_said() {
        for said in [Flash::good("¡Listo! 3 <b>; a=b\n\"ñ\"".to_owned()), Flash::bad("x ".repeat(10))] {
            let cookie = said.cookie();
            let pair = cookie.split(';').next().expect("a pair");
            let mut headers = HeaderMap::new();
            headers.insert("cookie", pair.parse().expect("ASCII"));
            assert_eq!(Flash::of(&headers), Some(said));
        }
        assert!(Flash::bad("ñ".repeat(9_000)).cookie().len() < 4_000);
    }
}
