//! Which language a browser asks for: Spanish unless it prefers English.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;

/// The languages that people can read here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Language {
    Spanish,
    English,
}

impl Language {
    /// Reads `Accept-Language`. What cannot be understood is as good as absent.
    fn preferred(header: &str) -> Self {
        let weight = |wanted: &str| {
            let entries = header.split(',').filter_map(|entry| {
                let (tag, parameters) = entry.split_once(';').unwrap_or((entry, ""));
                let language = tag.trim().split('-').next().unwrap_or_default();
                let quality =
                    parameters.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.trim().parse::<f32>().ok())?;
                language.eq_ignore_ascii_case(wanted).then_some(quality)
            });
            entries.fold(0.0, f32::max)
        };
        if weight("en") > weight("es") { Self::English } else { Self::Spanish }
    }

    /// The tag for `lang` and `Content-Language`.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::Spanish => "es",
            Self::English => "en",
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Language {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let header = parts.headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        Ok(Self::preferred(header.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_only_for_whoever_prefers_it() {
        for spanish in ["", "es-AR,es;q=0.9,en;q=0.8", "de", "*", "en;q=0.5, es", "en;q=x", "en;q=0", "en;q=NaN"] {
            assert_eq!(Language::preferred(spanish), Language::Spanish, "{spanish}");
        }
        for english in ["en", "EN-gb", "de, en;q=0.7", "es;q=0.2,en-US;q=0.3"] {
            assert_eq!(Language::preferred(english), Language::English, "{english}");
        }
    }
}
