//! People, tokens and links: changes, which happen one at a time, and reads.
//!
//! The lock of the audit's head serialises all changes of access. Every change writes an audit entry, so it needs that
//! lock anyway, and rows that are read under it cannot change until the commit.

use super::PostgresStore;
use super::audit;
use super::call::Call;
use super::error::TripError;
use super::row::access::{TOKEN, link, person, token};
use super::row::{garbled, get};
use super::sql;
use super::tx::{Moment, Plan, Tx, Write};
use crate::store::{AccessGroup, AccessRead, AccessStore, AccessWrite, Outcomes, Pending, TokenFound};
use tokio_postgres::Row;
use turno_core::access::{
    Changed, Epoch, Identity, Link, PaceKeys, PaceStep, PaceVerdict, Permissions, Person, Token, View,
};
use turno_core::audit::Hash;
use turno_core::id::UserId;
use turno_core::time::Time;

/// Locks the audit's head, reads the rows that the change names, reads the clock, decides.
pub(super) async fn plan(tx: &mut Tx<'_>, group: &AccessGroup) -> Result<Plan, TripError> {
    // No id is empty, so an empty one finds no row.
    let user = group.user().map_or("", UserId::as_str);
    let hash = group.link().unwrap_or_default();
    let (issuer, subject) = group.wish.identity().map_or(("", ""), |identity| (&identity.issuer, &identity.subject));
    let calls = vec![
        audit::lock(),
        Call::new(&sql::PERSON_READ).text(user),
        Call::new(&sql::TOKEN_READ).text(group.token().unwrap_or_default()),
        Call::new(&sql::PERSON_ADMINS),
        Call::new(&sql::TOKEN_COUNT).text(user),
        Call::new(&sql::TOKEN_CONSOLES).text(user),
        Call::new(&sql::LINK_READ).bytes(&hash.0),
        Call::new(&sql::PERSON_OF_IDENTITY).text(issuer).text(subject),
        Moment::call(0, true),
    ];
    let mut answers = tx.trip(calls).await?;
    let head = audit::head(&answers.take())?;
    let view = View {
        person: answers.take().first().map(|row| person(row, 0)).transpose()?,
        token: answers.take().first().map(token).transpose()?,
        admins: count(&answers.take())?,
        tokens: count(&answers.take())?,
        consoles: answers.take().iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?,
        link: answers.take().first().map(link).transpose()?,
        linked: answers.take().first().map(|row| person(row, 0)).transpose()?,
    };
    let moment = tx.moment(&answers.take())?;
    let (write, outcome) = group.decide(AccessRead { now: moment.now, view, head });
    let write = write.map_or(Write::Nothing, |write| Write::Access(Box::new(write)));
    Ok(Plan::new(Outcomes::Access(Box::new(outcome)), write, moment.xid))
}

/// Returns all writes of a change. The epoch comes last, because every commit may write the mark in the same row.
pub(super) fn calls(write: &AccessWrite) -> Vec<Call<'_>> {
    let AccessWrite { changed, audit } = write;
    let Changed { person, removed, token, revoked, link, spent, unlinked, raises_epoch, .. } = changed;
    let Changed { ended, shortened, .. } = changed;
    let mut calls = Vec::with_capacity(6);
    calls.extend(person.as_ref().map(save_person));
    if let Some(id) = removed {
        calls.push(Call::new(&sql::TOKEN_REMOVE_OF).text(id.as_str()));
        calls.push(Call::new(&sql::PERSON_REMOVE).text(id.as_str()));
    }
    calls.extend(ended.as_ref().map(|id| Call::new(&sql::TOKEN_REMOVE_OF).text(id.as_str())));
    calls.extend(shortened.as_ref().map(|(id, at)| Call::new(&sql::TOKEN_SHORTEN).text(id).big(at.0)));
    calls.extend(token.as_ref().map(add_token));
    if !revoked.is_empty() {
        calls.push(Call::new(&sql::TOKEN_REMOVE).texts(revoked.iter().map(String::as_str)));
    }
    calls.extend(unlinked.as_ref().map(|id| Call::new(&sql::LINK_REMOVE_OF).text(id.as_str())));
    calls.extend(link.as_ref().map(add_link));
    calls.extend(spent.as_ref().map(|hash| Call::new(&sql::LINK_SPEND).bytes(&hash.0)));
    calls.extend(audit::calls(audit));
    if *raises_epoch {
        calls.push(Call::new(&sql::EPOCH_RAISE));
    }
    calls
}

fn save_person(person: &Person) -> Call<'_> {
    Call::new(&sql::PERSON_SAVE)
        .text(person.id.as_str())
        .text(&person.name)
        .text(person.role.as_str())
        .flag(person.disabled)
        .maybe_text(person.password.as_deref())
        .big(person.created_at.0)
        .maybe_text(person.identity.as_ref().map(|identity| identity.issuer.as_str()))
        .maybe_text(person.identity.as_ref().map(|identity| identity.subject.as_str()))
}

fn add_token(token: &Token) -> Call<'_> {
    let json = |texts: &Vec<String>| serde_json::to_string(texts).expect("texts can always be written as JSON");
    let (scope, reads) = token.scope.map(Permissions::to_stored).unzip();
    Call::new(&sql::TOKEN_ADD)
        .text(&token.id)
        .bytes(&token.hash.0)
        .text(token.user.as_str())
        .maybe_text(token.name.as_deref())
        .flag(token.machine)
        .made_text(scope)
        .made_text(Some(json(&token.resources)))
        .maybe_big(token.expires_at.map(|at| at.0))
        .big(token.created_at.0)
        .text(token.created_by.as_str())
        .maybe_text(token.parent.as_deref())
        .flag(token.console)
        .maybe_big(token.last_used_at.map(|at| at.0))
        .made_text(Some(json(&token.queues)))
        .made_text(Some(reads.unwrap_or_default()))
}

fn add_link(link: &Link) -> Call<'_> {
    Call::new(&sql::LINK_ADD)
        .bytes(&link.hash.0)
        .maybe_text(link.to.user().map(UserId::as_str))
        .big(link.expires_at.0)
        .big(link.created_at.0)
}

/// Returns the owner of a token, if the owner is a known person.
fn owner(row: &Row) -> Result<Option<Person>, TripError> {
    if get::<Option<&str>>(row, TOKEN)?.is_none() {
        return Ok(None);
    }
    person(row, TOKEN).map(Some)
}

/// Returns the count in the first row.
pub(super) fn count(rows: &[Row]) -> Result<i64, TripError> {
    rows.first().map_or_else(|| Err(garbled("no count")), |row| get(row, 0))
}

impl AccessStore for PostgresStore {
    fn token(&self, hash: Hash) -> Pending<'_, TokenFound> {
        Box::pin(async move {
            // The clock comes first: an epoch read after the token could already be that of its revocation.
            let calls = vec![Moment::call(0, false), Call::new(&sql::TOKEN_FIND).bytes(&hash.0)];
            let mut answers = self.read(calls).await?;
            let moment = Moment::read(&self.shared.clock, &answers.take())?;
            let found = |row: &Row| Ok::<_, TripError>((token(row)?, owner(row)?));
            let token = answers.take().first().map(found).transpose()?;
            Ok(TokenFound { token, epoch: moment.epoch, now: moment.now })
        })
    }

    fn link(&self, hash: Hash) -> Pending<'_, Option<Link>> {
        Box::pin(async move { self.first(Call::new(&sql::LINK_READ).bytes(&hash.0), link).await })
    }

    fn admins(&self) -> Pending<'_, i64> {
        Box::pin(self.only(Call::new(&sql::PERSON_ADMINS), |row| get(row, 0)))
    }

    fn epoch(&self) -> Pending<'_, Epoch> {
        Box::pin(self.only(Call::new(&sql::EPOCH_READ), |row| get(row, 0).map(Epoch)))
    }

    fn person(&self, id: UserId) -> Pending<'_, Option<Person>> {
        Box::pin(async move {
            let call = Call::new(&sql::PERSON_READ).text(id.as_str());
            self.first(call, |row| person(row, 0)).await
        })
    }

    fn person_of(&self, identity: Identity) -> Pending<'_, Option<Person>> {
        Box::pin(async move {
            let call = Call::new(&sql::PERSON_OF_IDENTITY).text(&identity.issuer).text(&identity.subject);
            let rows = self.read(vec![call]).await?.take();
            Ok(rows.first().map(|row| person(row, 0)).transpose()?)
        })
    }

    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>> {
        Box::pin(async move {
            let call = Call::new(&sql::PERSON_LIST).text(after.as_ref().map_or("", UserId::as_str)).big(limit.into());
            self.all(call, |row| person(row, 0)).await
        })
    }

    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>> {
        Box::pin(async move {
            let call = Call::new(&sql::TOKEN_LIST)
                .text(after.as_deref().unwrap_or_default())
                .maybe_text(user.as_ref().map(UserId::as_str))
                .big(limit.into());
            self.all(call, token).await
        })
    }

    fn tokens_expiring(&self, after: Time, until: Time) -> Pending<'_, i64> {
        Box::pin(async move {
            let call = Call::new(&sql::TOKEN_EXPIRING).big(after.0).big(until.0);
            Ok(count(&self.read(vec![call]).await?.take())?)
        })
    }

    fn touch_tokens(&self, mut used: Vec<(String, Time)>) -> Pending<'_, ()> {
        Box::pin(async move {
            if used.is_empty() {
                return Ok(());
            }
            // Keep each id once, with the latest time, because a statement may update a row only once.
            used.sort();
            used.reverse();
            used.dedup_by(|earlier, latest| earlier.0 == latest.0);
            let call = Call::new(&sql::TOKEN_TOUCH)
                .texts(used.iter().map(|(id, _)| id.as_str()))
                .bigs(used.iter().map(|(_, at)| at.0));
            self.read(vec![call]).await?;
            Ok(())
        })
    }

    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool> {
        Box::pin(async move {
            let renewed = self.read(vec![Call::new(&sql::TOKEN_RENEW).text(&id).big(until.0)]).await?.take();
            Ok(!renewed.is_empty())
        })
    }

    fn pace_sign_in(&self, keys: PaceKeys, step: PaceStep) -> Pending<'_, PaceVerdict> {
        Box::pin(self.pace(keys, step))
    }
}
