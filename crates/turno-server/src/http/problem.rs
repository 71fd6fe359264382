//! Errors as RFC 9457 problems: a stable code, a status, and a sentence in the reader's language.
//!
//! A handler returns a [`Problem`]. The outermost layer knows the reader's language, so it renders the sentence there.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use turno::Error;
use turno::access::{Denied, Permission};
use turno::core::access::ChangeRefused;
use turno::core::fault::{Fault, Invalid};
use turno::core::id::BadName;
use turno::core::sync::SourceRefused;
use turno::core::time::Span;

use crate::texts::causes::{self, Cause};
use crate::texts::message::Message;
use crate::texts::{Language, Texts};

/// Declares each code once: its Rust name, its public name and its status.
macro_rules! codes {
    ($($name:ident $code:literal $status:literal,)*) => {
        /// The public error codes. A public name never changes, because programs match on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code { $($name),* }

        impl Code {
            pub(super) const ALL: &'static [Code] = &[$(Code::$name),*];

            /// Returns the public name.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Code::$name => $code),* }
            }

            /// Returns the id of the sentence in the locale files. Its attribute `title` is the title.
            fn sentence(self) -> &'static str {
                match self { $(Code::$name => concat!("problem-", $code)),* }
            }

            /// Returns the HTTP status.
            pub(super) fn status(self) -> u16 {
                match self { $(Code::$name => $status),* }
            }
        }
    };
}

codes! {
    BadBody "bad_body" 400,
    BadField "bad_field" 400,
    BadQuery "bad_query" 400,
    BadHeader "bad_header" 400,
    Invalid "invalid" 400,
    InstanceRequired "instance_required" 400,
    TtlOutOfBounds "ttl_out_of_bounds" 400,
    IdleRequired "idle_required" 400,
    WeakPassword "weak_password" 400,
    Unauthenticated "unauthenticated" 401,
    WrongPassword "wrong_password" 401,
    UserDisabled "user_disabled" 401,
    OidcRefused "oidc_refused" 403,
    NoRole "no_role" 403,
    IdentityNotLinked "identity_not_linked" 403,
    PasswordsOff "passwords_off" 403,
    Forbidden "forbidden" 403,
    OtherResource "other_resource" 403,
    CrossSite "cross_site" 403,
    DevelopmentOnly "development_only" 403,
    MoreThanHeld "more_than_held" 403,
    NotFound "not_found" 404,
    MethodNotAllowed "method_not_allowed" 405,
    BodyTimeout "body_timeout" 408,
    LeaseHeld "lease_held" 409,
    LeaseOffered "lease_offered" 409,
    LeaseLost "lease_lost" 409,
    LeasePinned "lease_pinned" 409,
    LineFull "line_full" 409,
    AlreadyHolder "already_holder" 409,
    WrongStatus "wrong_status" 409,
    LineApplied "line_applied" 409,
    LinesApplied "lines_applied" 409,
    LineChanged "line_changed" 409,
    DraftChanged "draft_changed" 409,
    AlreadyClaimed "already_claimed" 409,
    AlreadyProcessed "already_processed" 409,
    NotAvailable "not_available" 409,
    WrongState "wrong_state" 409,
    ManagedByConfig "managed_by_config" 409,
    KindFixed "kind_fixed" 409,
    QueueChanged "queue_changed" 409,
    DeliveredHere "delivered_by_turno" 409,
    Exists "already_exists" 409,
    LastAdmin "last_admin" 409,
    IdentityLinked "identity_linked" 409,
    AlreadyCreated "already_created" 409,
    LinkUsed "link_used" 410,
    TooLarge "too_large" 413,
    UriTooLong "uri_too_long" 414,
    LineInvalid "line_invalid" 422,
    PayloadTooDeep "payload_too_deep" 422,
    KeyReused "idempotency_key_reused" 422,
    TooMany "too_many_requests" 429,
    Internal "internal" 500,
    AuditBroken "audit_broken" 500,
    Overloaded "overloaded" 503,
    Stopping "stopping" 503,
    Unavailable "database_unavailable" 503,
    OutcomeUnknown "outcome_unknown" 503,
    OidcUnavailable "oidc_unavailable" 503,
}

/// An error response that is not rendered yet.
#[derive(Clone, Debug)]
pub(crate) struct Problem(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    code: Code,
    /// The sentence for people.
    sentence: Message,
    /// Members of the JSON document besides the standard ones, for programs.
    members: Map<String, Value>,
    retry_after_s: Option<u32>,
}

impl Problem {
    /// Reports that the database cannot be used until an operator repairs it.
    pub(super) fn unavailable(reason: &'static str) -> Problem {
        Problem::new(Code::Unavailable).arg("reason", reason).with("reason", reason)
    }

    pub(crate) fn new(code: Code) -> Problem {
        let retry_after_s = matches!(code.status(), 429 | 503).then_some(1);
        Problem(Box::new(Inner { code, sentence: Message::new(code.sentence()), members: Map::new(), retry_after_s }))
    }

    /// Reports a bad query parameter.
    pub(crate) fn query(field: &str, fault: impl Cause) -> Problem {
        let cause = Message::new("error-field").text("field", field).message("fault", fault.message());
        Problem::new(Code::BadQuery).field(field).cause(cause)
    }

    /// Reports that a thing does not exist.
    pub(crate) fn not_found(thing: impl Cause) -> Problem {
        Problem::new(Code::NotFound).named("thing", thing)
    }

    fn say(self, add: impl FnOnce(Message) -> Message) -> Problem {
        let inner = *self.0;
        Problem(Box::new(Inner { sentence: add(inner.sentence), ..inner }))
    }

    /// Sets an argument of the sentence, which is shown unchanged.
    pub(crate) fn arg(self, name: &'static str, value: impl std::fmt::Display) -> Problem {
        self.say(|sentence| sentence.text(name, value))
    }

    /// Sets an argument of the sentence that has a message of its own.
    pub(crate) fn named(self, name: &'static str, value: impl Cause) -> Problem {
        self.say(|sentence| sentence.message(name, causes::message(&value)))
    }

    /// Sets the permission of the sentence.
    fn permission(self, permission: Permission) -> Problem {
        self.say(|sentence| sentence.permission("permission", permission))
    }

    /// Sets a duration as an argument of the sentence. It is rendered in the reader's language.
    pub(crate) fn span(self, name: &'static str, span: Span) -> Problem {
        self.say(|sentence| sentence.span(name, span))
    }

    /// Adds a member to the JSON document.
    pub(crate) fn with(mut self, name: &str, value: impl serde::Serialize) -> Problem {
        // Serialization fails only because of a bug. Then the document omits the member.
        if let Ok(value) = serde_json::to_value(value) {
            self.0.members.insert(name.to_owned(), value);
        }
        self
    }

    /// Sets the name of the bad field, both as a member and as an argument of the sentence.
    pub(crate) fn field(self, name: &str) -> Problem {
        self.arg("field", name).with("field", name)
    }

    /// Sets the cause from a lower layer, which is shown after the problem's own sentence.
    pub(crate) fn cause(self, cause: impl Cause) -> Problem {
        self.named("cause", cause)
    }

    pub(crate) fn retry_after(mut self, seconds: u32) -> Problem {
        self.0.retry_after_s = Some(seconds.max(1));
        self
    }

    /// Returns whether the caller sent no valid credentials.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        self.0.code == Code::Unauthenticated
    }

    pub(crate) fn code(&self) -> Code {
        self.0.code
    }

    /// Returns the name of the lease's holder if the lease is held, otherwise an empty string.
    pub(crate) fn holder(&self) -> &str {
        self.0.members.get("holder").and_then(|holder| holder["name"].as_str()).unwrap_or_default()
    }

    /// Renders the problem as a JSON document in this language.
    pub(crate) fn document(&self, texts: &Texts, language: Language, request: Option<&str>) -> Value {
        let Inner { code, sentence, members, .. } = &*self.0;
        let name = code.as_str();
        let title = sentence.clone().attribute("title").render(texts, language);
        let detail = sentence.render(texts, language);
        let mut document = members.clone();
        document.insert("type".to_owned(), format!("/docs#problem-{name}").into());
        document.insert("title".to_owned(), title.into());
        document.insert("status".to_owned(), code.status().into());
        document.insert("code".to_owned(), name.into());
        document.insert("detail".to_owned(), detail.into());
        if let Some(request) = request {
            document.insert("request_id".to_owned(), request.into());
        }
        Value::Object(document)
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// Carries the problem from the handler to the outermost layer as a response extension.
#[derive(Clone)]
struct Attached(Arc<Problem>);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        if let Some(seconds) = self.0.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.0.code == Code::Unauthenticated {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(Attached(Arc::new(self)));
        response
    }
}

/// Returns the problem that is attached to a response.
pub(super) fn attached(response: &Response) -> Option<Arc<Problem>> {
    response.extensions().get::<Attached>().map(|Attached(problem)| problem.clone())
}

/// Renders the problem that is attached to a response into its body and returns its code. Without one, returns the
/// response unchanged.
pub(super) fn render(
    mut response: Response,
    texts: &Texts,
    language: Language,
    request: &str,
) -> (Response, Option<Code>) {
    let Some(Attached(problem)) = response.extensions_mut().remove::<Attached>() else {
        return (response, None);
    };
    let document = problem.document(texts, language, Some(request)).to_string();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(document);
    (response, Some(problem.0.code))
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Problem {
        match denied {
            Denied::Unauthenticated => Problem::new(Code::Unauthenticated),
            Denied::Missing(permission) => {
                Problem::new(Code::Forbidden).permission(permission).with("permission", permission.as_str())
            }
            Denied::OtherResource(resource) => Problem::new(Code::OtherResource).arg("resource", resource),
            Denied::OtherQueue(queue) => Problem::new(Code::OtherResource).arg("resource", queue),
        }
    }
}

impl From<BadName> for Problem {
    fn from(bad: BadName) -> Problem {
        Problem::new(Code::Invalid).cause(bad)
    }
}

impl From<ChangeRefused> for Problem {
    fn from(refused: ChangeRefused) -> Problem {
        match refused {
            ChangeRefused::Denied(denied) => denied.into(),
            ChangeRefused::MoreThanHeld(permission) => Problem::new(Code::MoreThanHeld).permission(permission),
            ChangeRefused::LastAdmin(user) => Problem::new(Code::LastAdmin).arg("user", user),
            ChangeRefused::Exists(user) => Problem::new(Code::Exists).arg("thing", user),
            ChangeRefused::Linked(user) => Problem::new(Code::IdentityLinked).arg("user", user),
            ChangeRefused::Unknown(thing) => Problem::not_found(thing),
            ChangeRefused::HasAdmin | ChangeRefused::Invalid(_) => Problem::new(Code::Invalid).cause(refused),
        }
    }
}

/// Reports a field whose JSON is nested too deeply.
fn too_deep(field: &str, max: usize) -> Problem {
    Problem::new(Code::PayloadTooDeep).field(field).arg("limit", max).with("limit", max)
}

/// Reports a payload above `limits.payload_bytes`, as a body that is too large.
fn payload_too_large(field: &str, max: usize) -> Problem {
    let limit = if max >= 1 << 20 { format!("{} MiB", max >> 20) } else { format!("{} KiB", max >> 10) };
    Problem::new(Code::TooLarge).arg("max", limit).with("max_bytes", max).with("field", field)
}

/// Reports an invalid field, by the name that the caller gave it.
pub(super) fn bad_field(field: &str, fault: &Fault) -> Problem {
    match fault {
        Fault::TooLarge { max } if field.ends_with("payload") => payload_too_large(field, *max),
        Fault::TooDeep { max } => too_deep(field, *max),
        Fault::Twice(serial) => {
            Problem::new(Code::BadField).field(field).arg("fault", "twice").arg("serial", serial).cause(fault.message())
        }
        fault => Problem::new(Code::BadField).field(field).cause(fault.message()),
    }
}

/// Joins a message with its next step.
pub(super) fn with_next(message: Message) -> Message {
    let next = message.next();
    Message::new("error-with-next").message("cause", message).message("next", next)
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        use turno::store::StoreError;
        match error {
            Error::Invalid(Invalid { field, fault: Fault::TooDeep { max }, .. }) => too_deep(field, max),
            Error::Invalid(Invalid { field: field @ "payload", fault: Fault::TooLarge { max }, .. }) => {
                payload_too_large(field, max)
            }
            Error::Invalid(_) | Error::Name(_) | Error::Misuse(_) => Problem::new(Code::Invalid).cause(error.message()),
            Error::Policy(bad) => bad.into(),
            Error::Denied(denied) => denied.into(),
            Error::Refused(refused) => refused.into(),
            Error::InstanceRequired => Problem::new(Code::InstanceRequired).field("instance"),
            Error::WrongStatus { task, status } => {
                Problem::new(Code::WrongStatus).arg("task", task).arg("status", status).with("status_now", status)
            }
            Error::Unknown(thing) => Problem::not_found(thing),
            Error::Source(refused) => {
                // The key is the only part that comes from the caller. The rest of a source is configuration.
                let problem = match refused {
                    SourceRefused::NotAKey { .. } => Problem::new(Code::BadField).field("key"),
                    _ => Problem::new(Code::Invalid),
                };
                problem.cause(with_next(refused.message()))
            }
            Error::NoRandomness(_) | Error::Bug(_) => {
                tracing::error!(%error, "a call failed because of this program or its machine");
                Problem::new(Code::Internal)
            }
            Error::Overloaded => Problem::new(Code::Overloaded),
            Error::Closed => Problem::new(Code::Stopping),
            Error::Store(error @ (StoreError::Unavailable(_) | StoreError::Tls(_) | StoreError::Conflict(_))) => {
                tracing::warn!(%error, "the database is not reachable");
                Problem::new(Code::Unavailable)
            }
            Error::Store(StoreError::File(fault)) => {
                tracing::warn!(%fault, "the database file is not good any more");
                Problem::unavailable(fault.code())
            }
            Error::Store(StoreError::Unknown(cause)) => {
                tracing::warn!(%cause, "the outcome of a commit is unknown");
                Problem::new(Code::OutcomeUnknown)
            }
            Error::Store(error) => {
                tracing::error!(%error, "the database refused something that it should not");
                Problem::new(Code::Internal)
            }
            // Handlers execute the commands of leases and tasks as data, so a refusal is an answer there.
            error => {
                tracing::error!(%error, "a command was refused where no answer was expected");
                Problem::new(Code::Internal)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_title_and_a_sentence_in_both_languages() {
        let texts = Texts::load();
        for code in Code::ALL {
            for language in [Language::Spanish, Language::English] {
                for id in [format!("problem-{}", code.as_str()), format!("problem-{}.title", code.as_str())] {
                    assert!(
                        texts.find(language, &id, &fluent_bundle::FluentArgs::new()).is_some(),
                        "{id} in {language:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_problem_is_translated_with_its_cause() {
        let texts = Texts::load();
        let status = "x".parse::<turno::core::task::Status>().expect_err("there is no such status");
        let name = turno::core::id::Resource::new("").expect_err("a resource is not empty");
        let causes = [name.message(), status.message()];
        for (code, cause) in Code::ALL.iter().flat_map(|code| causes.clone().map(|cause| (code, cause))) {
            let task = turno::core::fault::Thing::Task(turno::core::task::TaskId(7));
            let problem = Problem::new(*code).field("state").named("thing", task).permission(Permission::QueuesManage);
            let problem = problem.span("since", Span::from_secs(300)).cause(cause.clone());
            let [spanish, english] =
                [Language::Spanish, Language::English].map(|language| problem.document(&texts, language, None));
            for member in ["title", "detail"] {
                assert_ne!(spanish[member], english[member], "{code:?} {cause:?}");
            }
            let detail = spanish["detail"].as_str().unwrap_or_default();
            for english in ["is empty", "is no status", "task 7", "5 minutes"] {
                assert!(!detail.contains(english), "{code:?}: {detail}");
            }
        }
    }

    #[test]
    fn every_permission_is_translated() {
        let texts = Texts::load();
        for permission in turno::access::Permission::ALL {
            let labels =
                [Language::Spanish, Language::English].map(|language| texts.permission(language, permission.as_str()));
            assert!(
                labels[0] != labels[1] && labels.iter().all(|label| label.contains(permission.as_str())),
                "{labels:?}"
            );
        }
    }

    #[test]
    fn code_names_are_unique() {
        let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
