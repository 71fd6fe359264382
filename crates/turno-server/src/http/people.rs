//! Users, tokens and sessions of other applications.

mod me;
mod session;
mod token;
mod user;

use turno::core::access::{Permission, Permissions};
use turno::core::fault::Fault;
use turno::core::id::{BadName, QueueName, Resource, UserId};
use turno::core::text::has_bidi_control;
use utoipa_axum::router::OpenApiRouter;

pub(super) use me::Me;
pub(crate) use user::identity;

use super::app::{App, Shared};
use super::problem::{Code, Problem, bad_field};
use crate::passwords::PasswordRefused;
use crate::texts::message::Message;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().merge(me::routes()).merge(user::routes()).merge(token::routes()).merge(session::routes())
}

/// The most resource prefixes of a token. Every call compares them one by one.
pub(crate) const RESOURCES_MAX: usize = 100;
/// The longest display name, in characters.
const NAME_MAX: usize = 200;

/// Parses permissions. Names the first unknown one.
fn permissions(names: Option<Vec<String>>) -> Result<Option<Permissions>, Problem> {
    let Some(names) = names else {
        return Ok(None);
    };
    let parse = |(n, name): (usize, String)| {
        let wrong = |cause| Problem::new(Code::BadField).field(&format!("permissions[{n}]")).cause(cause);
        name.parse::<Permission>().map_err(wrong)
    };
    names.into_iter().enumerate().map(parse).collect::<Result<_, _>>().map(Some)
}

/// Checks the resource prefixes of a token.
fn resources(prefixes: Option<Vec<String>>) -> Result<Vec<String>, Problem> {
    let prefixes = prefixes.unwrap_or_default();
    if prefixes.len() > RESOURCES_MAX {
        let cause = Message::new("error-too-many-resources").number("max", RESOURCES_MAX);
        return Err(Problem::new(Code::BadField).field("resources").cause(cause));
    }
    for (n, prefix) in prefixes.iter().enumerate() {
        let wrong = |cause| Problem::new(Code::BadField).field(&format!("resources[{n}]")).cause(cause);
        Resource::new(prefix.as_str()).map_err(wrong)?;
    }
    Ok(prefixes)
}

/// Checks the queues of a token: names, or prefixes that end in `*`.
fn queues(patterns: Option<Vec<String>>) -> Result<Vec<String>, Problem> {
    let patterns = patterns.unwrap_or_default();
    if patterns.len() > RESOURCES_MAX {
        let cause = Message::new("error-too-many-resources").number("max", RESOURCES_MAX);
        return Err(Problem::new(Code::BadField).field("queues").cause(cause));
    }
    for (n, pattern) in patterns.iter().enumerate() {
        let wrong = |cause| Problem::new(Code::BadField).field(&format!("queues[{n}]")).cause(cause);
        queue_pattern(pattern).map_err(wrong)?;
    }
    Ok(patterns)
}

/// Checks the name of a queue, or a prefix that ends in `*`. `*` alone means every queue.
pub(crate) fn queue_pattern(text: &str) -> Result<String, BadName> {
    match text.strip_suffix('*') {
        Some("") => {}
        Some(prefix) => drop(QueueName::new(prefix)?),
        None => drop(QueueName::new(text)?),
    }
    Ok(text.to_owned())
}

/// Parses a user id from a body.
fn user_id(field: &str, text: &str) -> Result<UserId, Problem> {
    UserId::new(text).map_err(|cause| Problem::new(Code::BadField).field(field).cause(cause))
}

/// Parses the id of a new user from a body.
pub(super) fn new_user_id(field: &str, text: &str) -> Result<UserId, Problem> {
    let id = user_id(field, text)?;
    id.for_creation().map_err(|cause| Problem::new(Code::BadField).field(field).cause(cause))
}

/// Checks a display name from a body.
pub(crate) fn name(field: &str, text: String) -> Result<String, Problem> {
    called(&text).map_err(|fault| bad_field(field, &fault))
}

/// Checks a display name. Calls outside HTTP use it too, so that one rule applies everywhere.
pub(crate) fn called(text: &str) -> Result<String, Fault> {
    if has_bidi_control(text) {
        return Err(Fault::BidiControl);
    }
    let length = text.chars().count();
    if (1..=NAME_MAX).contains(&length) && !text.trim().is_empty() && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    Err(Fault::Length { max: NAME_MAX })
}

/// Hashes a new password from a body. `about` has the user's id and name, which are no passwords.
pub(crate) async fn hashed(app: &App, field: &str, password: String, about: &[&str]) -> Result<String, Problem> {
    app.passwords.hash(password, about).await.map_err(|refused| password_problem(field, refused))
}

/// Converts a refused password to a problem.
pub(super) fn password_problem(field: &str, refused: PasswordRefused) -> Problem {
    match refused {
        PasswordRefused::Weak => Problem::new(Code::WeakPassword).arg("why", "length").field(field),
        PasswordRefused::Common => Problem::new(Code::WeakPassword).arg("why", "common").field(field),
        PasswordRefused::Busy => Problem::new(Code::Overloaded),
        PasswordRefused::Failed => Problem::new(Code::Internal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_permission_or_resource_is_refused() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            permissions(names(&["leases.use", "leases.use"])).ok().flatten().map(|set| set.iter().count()),
            Some(1)
        );
        assert_eq!(
            permissions(names(&["leases.use", "all"])).expect_err("an unknown permission").code(),
            Code::BadField
        );
        assert_eq!(resources(names(&["caja:", ""])).expect_err("an empty prefix").code(), Code::BadField);
        assert_eq!(resources(names(&["caja:"])).ok(), Some(vec!["caja:".to_owned()]));
        assert!(resources(Some(vec!["x".to_owned(); RESOURCES_MAX + 1])).is_err());
    }

    #[test]
    fn queue_of_a_token_is_a_name_or_a_prefix_with_an_asterisk() {
        let one = |text: &str| queues(Some(vec![text.to_owned()]));
        for good in ["mails", "bot-*", "*"] {
            assert_eq!(one(good).ok(), Some(vec![good.to_owned()]));
        }
        assert!(
            one("").is_err() && one("a\nb").is_err() && queues(Some(vec!["x".to_owned(); RESOURCES_MAX + 1])).is_err()
        );
    }

    #[test]
    fn display_name_is_checked() {
        assert!(name("name", "Ana Pérez".to_owned()).is_ok());
        for bad in ["", "  ", "a\nb", "Ana\u{202e}zere", "\u{2066}Ana", &"x".repeat(NAME_MAX + 1)] {
            assert!(name("name", bad.to_owned()).is_err(), "{bad:?}");
        }
    }
}
