//! People, tokens and links: a change of them, and reads.
//!
//! A change holds the write lock, so all of access is locked against other changes. Secrets are stored only as hashes.

use super::row::{self, json, name_if};
use super::{SqliteStore, Write, audit, marks, now, sql};
use crate::clock::Clock;
use crate::store::{AccessGroup, AccessRead, AccessStore, Outcomes, Pending, StoreError, TokenFound};
use rusqlite::{Connection, OptionalExtension, Params, params};
use turno_core::access::{Changed, Epoch, Link, LinkFor, Permissions, Person, Token, View};
use turno_core::audit::Hash;
use turno_core::id::UserId;
use turno_core::time::Time;

/// Reads, decides and writes a change, inside the write transaction.
pub(super) fn run(tx: &Connection, now: Time, group: &AccessGroup) -> Result<Outcomes, StoreError> {
    let mut view = View { admins: admins(tx)?, ..View::default() };
    if let Some(user) = group.user() {
        view.person = person(tx, user)?;
        view.tokens = count(tx, &sql::TOKEN_COUNT, [user.as_str()])?;
        let mut consoles = tx.prepare_cached(&sql::TOKEN_CONSOLES)?;
        view.consoles = consoles.query_map([user.as_str()], |row| row.get(0))?.collect::<Result<_, _>>()?;
    }
    if let Some(hash) = group.link() {
        view.link = link(tx, hash)?;
    }
    if let Some(id) = group.token() {
        view.token = tx.prepare_cached(&sql::TOKEN_READ)?.query_row([id], row::access::token).optional()?;
    }
    let (write, outcome) = group.decide(AccessRead { now, view, head: audit::head(tx)? });
    if let Some(write) = write {
        save(tx, &write.changed)?;
        audit::write(tx, &write.audit)?;
    }
    Ok(Outcomes::Access(Box::new(outcome)))
}

fn save(tx: &Connection, changed: &Changed) -> Result<(), StoreError> {
    if let Some(person) = &changed.person {
        tx.prepare_cached(&sql::PERSON_SAVE)?.execute(params![
            person.id.as_str(),
            person.name,
            person.role.as_str(),
            person.disabled,
            person.password,
            person.created_at.0,
        ])?;
    }
    if let Some(user) = &changed.removed {
        tx.prepare_cached(&sql::PERSON_REMOVE)?.execute([user.as_str()])?;
        tx.prepare_cached(&sql::TOKEN_REMOVE_OF)?.execute([user.as_str()])?;
    }
    if let Some(token) = &changed.token {
        add_token(tx, token)?;
    }
    for id in &changed.revoked {
        tx.prepare_cached(&sql::TOKEN_REMOVE)?.execute([id])?;
    }
    save_links(tx, changed)?;
    if changed.raises_epoch {
        tx.prepare_cached(&sql::EPOCH_RAISE)?.execute([])?;
    }
    Ok(())
}

fn save_links(tx: &Connection, changed: &Changed) -> Result<(), StoreError> {
    if let Some(user) = &changed.unlinked {
        tx.prepare_cached(&sql::LINK_REMOVE_OF)?.execute([user.as_str()])?;
    }
    if let Some(Link { hash, to, expires_at, created_at }) = &changed.link {
        let values = params![hash.0, to.user().map(UserId::as_str), expires_at.0, created_at.0];
        tx.prepare_cached(&sql::LINK_ADD)?.execute(values)?;
    }
    if let Some(hash) = &changed.spent {
        tx.prepare_cached(&sql::LINK_SPEND)?.execute([hash.0])?;
    }
    Ok(())
}

fn add_token(tx: &Connection, token: &Token) -> Result<(), StoreError> {
    let (scope, reads) = token.scope.map(Permissions::to_stored).unzip();
    tx.prepare_cached(&sql::TOKEN_ADD)?.execute(params![
        token.id,
        token.hash.0,
        token.user.as_str(),
        token.name,
        token.machine,
        scope,
        json(&token.resources),
        token.expires_at.map(|at| at.0),
        token.created_at.0,
        token.created_by.as_str(),
        token.parent,
        token.console,
        token.last_used_at.map(|at| at.0),
        json(&token.queues),
        reads.unwrap_or_default(),
    ])?;
    Ok(())
}

fn count(db: &Connection, text: &str, values: impl Params) -> Result<i64, StoreError> {
    Ok(db.prepare_cached(text)?.query_row(values, |row| row.get(0))?)
}

pub(super) fn admins(db: &Connection) -> Result<i64, StoreError> {
    count(db, &sql::PERSON_ADMINS, [])
}

pub(super) fn link(db: &Connection, hash: Hash) -> Result<Option<Link>, StoreError> {
    let mut read = db.prepare_cached(&sql::LINK_READ)?;
    let found = read.query_row([hash.0], |row| {
        let to = name_if(row, 1, UserId::new)?.map_or(LinkFor::Setup, LinkFor::SignIn);
        Ok(Link { hash: Hash(row.get(0)?), to, expires_at: Time(row.get(2)?), created_at: Time(row.get(3)?) })
    });
    Ok(found.optional()?)
}

/// Finds a token by the hash of its secret, with its owner and the epoch, all as of one instant.
pub(super) fn found(db: &mut Connection, clock: &Clock, hash: Hash) -> Result<TokenFound, StoreError> {
    let tx = db.transaction()?;
    let (_, epoch) = marks(&tx)?;
    let token = tx.prepare_cached(&sql::TOKEN_FIND)?.query_row([hash.0], row::access::token).optional()?;
    let token = match token {
        Some(token) => {
            let owner = person(&tx, &token.user)?;
            Some((token, owner))
        }
        None => None,
    };
    tx.commit()?;
    Ok(TokenFound { token, epoch, now: now(clock) })
}

pub(super) fn person(db: &Connection, id: &UserId) -> Result<Option<Person>, StoreError> {
    let mut read = db.prepare_cached(&sql::PERSON_READ)?;
    Ok(read.query_row([id.as_str()], row::access::person).optional()?)
}

pub(super) fn people(db: &Connection, after: Option<&UserId>, limit: u32) -> Result<Vec<Person>, StoreError> {
    // No id is empty, so all ids come behind the empty one.
    let after = after.map_or("", UserId::as_str);
    let mut read = db.prepare_cached(&sql::PERSON_LIST)?;
    Ok(read.query_map((after, limit), row::access::person)?.collect::<Result<_, _>>()?)
}

pub(super) fn tokens(
    db: &Connection,
    user: Option<&UserId>,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Token>, StoreError> {
    let after = after.unwrap_or_default();
    let found = match user {
        None => {
            let mut read = db.prepare_cached(&sql::TOKEN_LIST)?;
            read.query_map((after, limit), row::access::token)?.collect::<Result<_, _>>()?
        }
        Some(user) => {
            let mut read = db.prepare_cached(&sql::TOKEN_LIST_OF)?;
            read.query_map((after, limit, user.as_str()), row::access::token)?.collect::<Result<_, _>>()?
        }
    };
    Ok(found)
}

pub(super) fn touch(write: Write<'_>, used: &[(String, Time)]) -> Result<(), StoreError> {
    let mut touch = write.tx.prepare_cached(&sql::TOKEN_TOUCH)?;
    for (id, at) in used {
        touch.execute((id, at.0))?;
    }
    drop(touch);
    write.commit()
}

pub(super) fn renew(write: Write<'_>, id: &str, until: Time) -> Result<bool, StoreError> {
    let renewed = write.tx.prepare_cached(&sql::TOKEN_RENEW)?.execute((id, until.0))?;
    write.commit()?;
    Ok(renewed > 0)
}

impl AccessStore for SqliteStore {
    fn token(&self, hash: Hash) -> Pending<'_, TokenFound> {
        let clock = self.clock.clone();
        self.beats.run(move |db| found(db, &clock, hash))
    }

    fn link(&self, hash: Hash) -> Pending<'_, Option<Link>> {
        self.looks.run(move |db| link(db, hash))
    }

    fn admins(&self) -> Pending<'_, i64> {
        self.looks.run(|db| admins(db))
    }

    fn epoch(&self) -> Pending<'_, Epoch> {
        self.beats.run(|db| Ok(marks(db)?.1))
    }

    fn person(&self, id: UserId) -> Pending<'_, Option<Person>> {
        self.looks.run(move |db| person(db, &id))
    }

    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>> {
        self.looks.run(move |db| people(db, after.as_ref(), limit))
    }

    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>> {
        self.looks.run(move |db| tokens(db, user.as_ref(), after.as_deref(), limit))
    }

    fn touch_tokens(&self, used: Vec<(String, Time)>) -> Pending<'_, ()> {
        if used.is_empty() {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.write(move |write| touch(write, &used))
    }

    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool> {
        self.write(move |write| renew(write, &id, until))
    }
}
