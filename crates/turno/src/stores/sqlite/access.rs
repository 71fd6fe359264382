//! People, tokens and links: a change of them, and reads.
//!
//! A change holds the write lock, so all of access is locked against other changes. Secrets are stored only as hashes.

use super::read::{all, execute, first, only};
use super::row::access::{person, token};
use super::row::{json, name_if};
use super::{SqliteStore, audit, marks, now, pace, sql};
use crate::clock::Clock;
use crate::store::{AccessGroup, AccessRead, AccessStore, Outcomes, Pending, StoreError, TokenFound};
use rusqlite::{Connection, params};
use turno_core::access::{
    Changed, Epoch, Identity, Link, LinkFor, PaceKeys, PaceStep, PaceVerdict, Permissions, Person, Token, View,
};
use turno_core::audit::Hash;
use turno_core::id::UserId;
use turno_core::time::Time;

/// Reads, decides and writes a change, inside the write transaction.
pub(super) fn run(tx: &Connection, now: Time, group: &AccessGroup) -> Result<Outcomes, StoreError> {
    let mut view = View { admins: admins(tx)?, ..View::default() };
    if let Some(user) = group.user() {
        view.person = find_person(tx, user)?;
        view.tokens = only(tx, &sql::TOKEN_COUNT, [user.as_str()], |row| row.get(0))?;
        view.consoles = all(tx, &sql::TOKEN_CONSOLES, [user.as_str()], |row| row.get(0))?;
    }
    if let Some(hash) = group.link() {
        view.link = link(tx, hash)?;
    }
    if let Some(identity) = group.wish.identity() {
        view.linked = person_of(tx, identity)?;
    }
    if let Some(id) = group.token() {
        view.token = first(tx, &sql::TOKEN_READ, [id], token)?;
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
        let Person { id, name, role, disabled, password, created_at, identity } = person;
        let (issuer, subject) = identity.as_ref().map(|identity| (&identity.issuer, &identity.subject)).unzip();
        let values = params![id.as_str(), name, role.as_str(), disabled, password, created_at.0, issuer, subject];
        execute(tx, &sql::PERSON_SAVE, values)?;
    }
    if let Some(user) = &changed.removed {
        execute(tx, &sql::PERSON_REMOVE, [user.as_str()])?;
        execute(tx, &sql::TOKEN_REMOVE_OF, [user.as_str()])?;
    }
    if let Some(user) = &changed.ended {
        execute(tx, &sql::TOKEN_REMOVE_OF, [user.as_str()])?;
    }
    if let Some(token) = &changed.token {
        add_token(tx, token)?;
    }
    for id in &changed.revoked {
        execute(tx, &sql::TOKEN_REMOVE, [id])?;
    }
    if let Some((id, at)) = &changed.shortened {
        execute(tx, &sql::TOKEN_SHORTEN, (id, at.0))?;
    }
    if let Some(user) = &changed.unlinked {
        execute(tx, &sql::LINK_REMOVE_OF, [user.as_str()])?;
    }
    if let Some(Link { hash, to, expires_at, created_at }) = &changed.link {
        let values = (hash.0, to.user().map(UserId::as_str), expires_at.0, created_at.0);
        execute(tx, &sql::LINK_ADD, values)?;
    }
    if let Some(hash) = &changed.spent {
        execute(tx, &sql::LINK_SPEND, [hash.0])?;
    }
    if changed.raises_epoch {
        execute(tx, &sql::EPOCH_RAISE, [])?;
    }
    Ok(())
}

fn add_token(tx: &Connection, token: &Token) -> Result<(), StoreError> {
    let (scope, reads) = token.scope.map(Permissions::to_stored).unzip();
    let values = params![
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
    ];
    execute(tx, &sql::TOKEN_ADD, values)?;
    Ok(())
}

fn admins(db: &Connection) -> Result<i64, StoreError> {
    only(db, &sql::PERSON_ADMINS, [], |row| row.get(0))
}

fn link(db: &Connection, hash: Hash) -> Result<Option<Link>, StoreError> {
    first(db, &sql::LINK_READ, [hash.0], |row| {
        let to = name_if(row, 1, UserId::new)?.map_or(LinkFor::Setup, LinkFor::SignIn);
        Ok(Link { hash: Hash(row.get(0)?), to, expires_at: Time(row.get(2)?), created_at: Time(row.get(3)?) })
    })
}

/// Finds a token by the hash of its secret, with its owner and the epoch, all as of one instant.
fn found(db: &mut Connection, clock: &Clock, hash: Hash) -> Result<TokenFound, StoreError> {
    let tx = db.transaction()?;
    let (_, epoch) = marks(&tx)?;
    let token = match first(&tx, &sql::TOKEN_FIND, [hash.0], token)? {
        Some(token) => {
            let owner = find_person(&tx, &token.user)?;
            Some((token, owner))
        }
        None => None,
    };
    tx.commit()?;
    Ok(TokenFound { token, epoch, now: now(clock) })
}

fn find_person(db: &Connection, id: &UserId) -> Result<Option<Person>, StoreError> {
    first(db, &sql::PERSON_READ, [id.as_str()], person)
}

fn person_of(db: &Connection, identity: &Identity) -> Result<Option<Person>, StoreError> {
    first(db, &sql::PERSON_OF_IDENTITY, (&identity.issuer, &identity.subject), person)
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
        self.looks.run(move |db| find_person(db, &id))
    }

    fn person_of(&self, identity: Identity) -> Pending<'_, Option<Person>> {
        self.looks.run(move |db| person_of(db, &identity))
    }

    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>> {
        self.looks.run(move |db| {
            // No id is empty, so all ids come behind the empty one.
            let after = after.as_ref().map_or("", UserId::as_str);
            all(db, &sql::PERSON_LIST, (after, limit), person)
        })
    }

    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>> {
        let after = after.unwrap_or_default();
        self.looks.run(move |db| match user {
            None => all(db, &sql::TOKEN_LIST, (after, limit), token),
            Some(user) => all(db, &sql::TOKEN_LIST_OF, (after, limit, user.as_str()), token),
        })
    }

    fn tokens_expiring(&self, after: Time, until: Time) -> Pending<'_, i64> {
        self.looks.run(move |db| only(db, &sql::TOKEN_EXPIRING, (after.0, until.0), |row| row.get(0)))
    }

    fn touch_tokens(&self, used: Vec<(String, Time)>) -> Pending<'_, ()> {
        if used.is_empty() {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.write(move |write| {
            for (id, at) in used {
                execute(&write.tx, &sql::TOKEN_TOUCH, (id, at.0))?;
            }
            write.commit()
        })
    }

    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool> {
        self.write(move |write| {
            let renewed = execute(&write.tx, &sql::TOKEN_RENEW, (id, until.0))?;
            write.commit()?;
            Ok(renewed > 0)
        })
    }

    fn pace_sign_in(&self, keys: PaceKeys, step: PaceStep) -> Pending<'_, PaceVerdict> {
        self.write(move |write| pace::step(write, keys, step))
    }
}
