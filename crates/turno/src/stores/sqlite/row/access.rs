//! Conversion of rows to people and tokens.

use super::{damaged, name, parsed};
use rusqlite::{Error, Row};
use turno_core::access::{Identity, Permissions, Person, Token};
use turno_core::audit::Hash;
use turno_core::id::UserId;
use turno_core::time::Time;

pub(in super::super) fn person(row: &Row<'_>) -> Result<Person, Error> {
    let (issuer, subject): (Option<String>, Option<String>) = (row.get(6)?, row.get(7)?);
    Ok(Person {
        id: name(row, 0, UserId::new)?,
        name: row.get(1)?,
        role: parsed(row, 2)?,
        disabled: row.get(3)?,
        password: row.get(4)?,
        created_at: Time(row.get(5)?),
        identity: issuer.zip(subject).map(|(issuer, subject)| Identity { issuer, subject }),
    })
}

pub(in super::super) fn token(row: &Row<'_>) -> Result<Token, Error> {
    let scope: Option<String> = row.get(5)?;
    let (resources, queues, reads): (String, String, String) = (row.get(6)?, row.get(13)?, row.get(14)?);
    let scope = scope.map(|scope| Permissions::from_stored(&scope, &reads)).transpose();
    Ok(Token {
        id: row.get(0)?,
        hash: Hash(row.get(1)?),
        user: name(row, 2, UserId::new)?,
        name: row.get(3)?,
        machine: row.get(4)?,
        scope: scope.map_err(|unknown| damaged(5, unknown))?,
        resources: serde_json::from_str(&resources).map_err(|error| damaged(6, error))?,
        expires_at: row.get::<_, Option<i64>>(7)?.map(Time),
        created_at: Time(row.get(8)?),
        created_by: name(row, 9, UserId::new)?,
        parent: row.get(10)?,
        console: row.get(11)?,
        last_used_at: row.get::<_, Option<i64>>(12)?.map(Time),
        queues: serde_json::from_str(&queues).map_err(|error| damaged(13, error))?,
    })
}
