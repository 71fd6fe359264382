//! Forms and addresses of the console.

use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use crate::http::{Code, Problem};
use crate::texts::message::Message;

/// The fields of a form. Unknown fields are ignored, because browsers send the pressed button, too.
pub(crate) struct Form<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match axum::Form::from_request(request, state).await {
            Ok(axum::Form(fields)) => Ok(Form(fields)),
            Err(_) => Err(Problem::new(Code::BadBody).cause(Message::new("json-form"))),
        }
    }
}

/// Returns the address if it is on this site, or else `/`. So a form or a link cannot redirect to another site.
pub(crate) fn local(address: Option<&str>) -> &str {
    let ours = |address: &&str| {
        let mut bytes = address.bytes();
        bytes.next() == Some(b'/')
            && !matches!(bytes.next(), Some(b'/' | b'\\'))
            && !address.bytes().any(|byte| byte.is_ascii_control())
    };
    address.filter(ours).unwrap_or("/")
}

/// Returns the trimmed value of a filter, or `None` if it is empty.
pub(super) fn given(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the path with a query. Empty values are left out.
pub(super) fn address(path: &str, query: &[(&str, &str)]) -> String {
    let part = |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    let pairs: Vec<String> = query
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", part(value)))
        .collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_on_this_site() {
        for ours in ["/", "/queues/chat?state=error", "/leases/caja%3A1#x"] {
            assert_eq!(local(Some(ours)), ours);
        }
        for foreign in
            ["", "//evil.example", "/\\evil.example", "https://evil.example", "queues", "/a\r\nb", "/\t/evil"]
        {
            assert_eq!(local(Some(foreign)), "/", "{foreign:?}");
        }
        assert_eq!(local(None), "/");
    }

    #[test]
    fn an_address_contains_the_given_filters_only() {
        assert_eq!(address("/queues", &[("state", ""), ("key", "")]), "/queues");
        assert_eq!(
            address("/queues", &[("state", "error"), ("key", "a&b=ñ")]),
            "/queues?state=error&key=a%26b%3D%C3%B1"
        );
        assert_eq!((given(Some("  ".to_owned())), given(Some(" x ".to_owned()))), (None, Some("x".to_owned())));
    }
}
