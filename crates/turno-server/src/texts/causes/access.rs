//! Messages of refused permissions and changes of access.

use turno::core::access::{BadChange, ChangeRefused, Denied};

use super::Cause;
use crate::texts::message::Message;

impl Cause for Denied {
    fn message(&self) -> Message {
        match self {
            Denied::Unauthenticated => Message::new("error-unauthenticated"),
            Denied::Missing(permission) => Message::new("error-forbidden").permission("permission", *permission),
            Denied::OtherResource(resource) => Message::new("error-other-resource").text("resource", resource),
            Denied::OtherQueue(queue) => Message::new("error-other-resource").text("resource", queue),
        }
    }
}

impl Cause for ChangeRefused {
    fn message(&self) -> Message {
        match self {
            ChangeRefused::Denied(denied) => denied.message(),
            ChangeRefused::MoreThanHeld(permission) => {
                Message::new("error-more-than-held").permission("permission", *permission)
            }
            ChangeRefused::LastAdmin(user) => Message::new("error-last-admin").text("user", user),
            ChangeRefused::HasAdmin => Message::new("error-has-admin"),
            ChangeRefused::Exists(user) => Message::new("error-user-exists").text("user", user),
            ChangeRefused::Linked(user) => Message::new("error-identity-linked").text("user", user),
            ChangeRefused::Unknown(thing) => Message::new("error-unknown").message("thing", thing.message()),
            ChangeRefused::Invalid(bad) => bad.message(),
        }
    }
}

impl Cause for BadChange {
    fn message(&self) -> Message {
        match self {
            BadChange::LimitedToken => Message::new("error-limited-token"),
            BadChange::RestrictedToken => Message::new("error-restricted-token"),
            BadChange::RoleLacks { user, role, permission } => Message::new("error-role-lacks")
                .text("user", user)
                .text("role", role.as_str())
                .permission("permission", *permission),
            BadChange::Expired => Message::new("error-token-expired"),
            BadChange::TooManyTokens { user, max } => {
                Message::new("error-too-many-tokens").text("user", user).number("max", *max)
            }
            BadChange::SessionTtl { max } => Message::new("error-session-ttl").number("max", max.0 / 1000),
            BadChange::LinkTtl { max } => Message::new("error-link-ttl").number("max", max.0 / 1000),
            BadChange::Overlap { max } => Message::new("error-overlap").number("max", max.0 / 1000),
            BadChange::NotForSessions(permission) => {
                Message::new("error-not-for-sessions").permission("permission", *permission)
            }
            BadChange::Outlives => Message::new("error-outlives"),
            BadChange::ReachesFurther => Message::new("error-reaches-further"),
            BadChange::ProgramOnly => Message::new("error-program-only"),
        }
    }
}
