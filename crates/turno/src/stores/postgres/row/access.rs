//! Conversion of rows to people, tokens and links.

use super::super::audit::hash;
use super::super::error::TripError;
use super::{garbled, get, maybe_name, name};
use tokio_postgres::Row;
use turno_core::access::{Identity, Link, LinkFor, Permissions, Person, Token};
use turno_core::id::UserId;
use turno_core::time::Time;

/// How many columns a token has in every statement that reads one.
pub(in super::super) const TOKEN: usize = 15;

/// Reads the person in the columns from `at` on.
pub(in super::super) fn person(row: &Row, at: usize) -> Result<Person, TripError> {
    let (issuer, subject) = (get::<Option<String>>(row, at + 6)?, get::<Option<String>>(row, at + 7)?);
    Ok(Person {
        id: name(row, at, UserId::new)?,
        name: get(row, at + 1)?,
        role: get::<&str>(row, at + 2)?.parse().map_err(garbled)?,
        disabled: get(row, at + 3)?,
        password: get(row, at + 4)?,
        created_at: Time(get(row, at + 5)?),
        identity: issuer.zip(subject).map(|(issuer, subject)| Identity { issuer, subject }),
    })
}

/// Reads the token in the first columns.
pub(in super::super) fn token(row: &Row) -> Result<Token, TripError> {
    let (scope, reads) = (get::<Option<&str>>(row, 5)?, get(row, 14)?);
    Ok(Token {
        id: get(row, 0)?,
        hash: hash(row, 1)?,
        user: name(row, 2, UserId::new)?,
        name: get(row, 3)?,
        machine: get(row, 4)?,
        scope: scope.map(|scope| Permissions::from_stored(scope, reads)).transpose().map_err(garbled)?,
        resources: serde_json::from_str(get(row, 6)?).map_err(garbled)?,
        expires_at: get::<Option<i64>>(row, 7)?.map(Time),
        created_at: Time(get(row, 8)?),
        created_by: name(row, 9, UserId::new)?,
        parent: get(row, 10)?,
        console: get(row, 11)?,
        last_used_at: get::<Option<i64>>(row, 12)?.map(Time),
        queues: serde_json::from_str(get(row, 13)?).map_err(garbled)?,
    })
}

pub(in super::super) fn link(row: &Row) -> Result<Link, TripError> {
    Ok(Link {
        hash: hash(row, 0)?,
        to: maybe_name(row, 1, UserId::new)?.map_or(LinkFor::Setup, LinkFor::SignIn),
        expires_at: Time(get(row, 2)?),
        created_at: Time(get(row, 3)?),
    })
}
