//! The model's people, tokens, audit log and purges.

use super::Rows;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use turno::core::access::{Changed, Epoch, Link, Person, Role, Token, TokenKind, View};
use turno::core::audit::{Actor, Draft, Entry, Hash, chain};
use turno::core::id::{Once, QueueId, Seq, UserId};
use turno::core::queue::Ended;
use turno::core::time::Time;
use turno::store::{AccessGroup, AccessRead, Answer, AuditQuery, Outcomes, Purge, StoreError, TokenFound, purge_entry};

/// People, tokens, links and kept answers.
#[derive(Default)]
pub(super) struct Access {
    pub(super) epoch: Epoch,
    pub(super) people: BTreeMap<UserId, Person>,
    tokens: BTreeMap<String, Token>,
    pub(super) links: HashMap<Hash, Link>,
    pub(super) answers: BTreeMap<Once, (Answer, Time)>,
    pub(super) audit: Vec<Entry>,
}

impl Rows {
    /// Adds an audit entry for an action of the store itself.
    pub(super) fn note(&mut self, now: Time, draft: Draft) {
        let entries = chain(&mut self.db.head.clone(), now, vec![draft]);
        self.enter(entries);
    }

    pub(super) fn change_access(&mut self, group: &AccessGroup, now: Time) -> Outcomes {
        let counts = |token: &&Token| token.kind() == TokenKind::Token;
        let of = |user: &UserId| {
            self.access.tokens.values().filter(|token| token.user == *user).filter(counts).count() as i64
        };
        let view = View {
            person: group.user().and_then(|user| self.access.people.get(user).cloned()),
            token: group.token().and_then(|id| self.access.tokens.get(id).cloned()),
            admins: self.access.admins(),
            tokens: group.user().map_or(0, of),
            consoles: group.user().map_or_else(Vec::new, |user| self.access.consoles(user)),
            link: group.link().and_then(|hash| self.access.links.get(&hash).cloned()),
        };
        let (write, outcome) = group.decide(AccessRead { now, view, head: self.db.head });
        if let Some(write) = write {
            self.access.change(write.changed);
            self.enter(write.audit);
        }
        Outcomes::Access(Box::new(outcome))
    }

    pub(super) fn token(&self, hash: Hash, now: Time) -> TokenFound {
        let token = self.access.tokens.values().find(|token| token.hash == hash);
        let token = token.map(|token| (token.clone(), self.access.people.get(&token.user).cloned()));
        TokenFound { token, epoch: self.access.epoch, now }
    }

    pub(super) fn people(&self, after: Option<&UserId>, limit: u32) -> Vec<Person> {
        let of = self.access.people.values().filter(|person| after.is_none_or(|after| person.id > *after));
        of.take(limit as usize).cloned().collect()
    }

    pub(super) fn tokens(&self, user: Option<&UserId>, after: Option<&str>, limit: u32) -> Vec<Token> {
        let wanted = |token: &&Token| {
            user.is_none_or(|user| token.user == *user) && after.is_none_or(|after| token.id.as_str() > after)
        };
        self.access.tokens.values().filter(wanted).take(limit as usize).cloned().collect()
    }

    pub(super) fn touch_tokens(&mut self, used: Vec<(String, Time)>) {
        for (id, at) in used {
            if let Some(token) = self.access.tokens.get_mut(&id) {
                token.last_used_at = token.last_used_at.max(Some(at));
            }
        }
    }

    pub(super) fn renew_session(&mut self, id: &str, until: Time) -> bool {
        let session = self.access.tokens.get_mut(id).filter(|token| token.console && token.expires_at < Some(until));
        session.map(|session| session.expires_at = Some(until)).is_some()
    }

    pub(super) fn audit(&self, query: &AuditQuery) -> Vec<Entry> {
        let wanted = |entry: &&Entry| {
            query.action.as_ref().is_none_or(|action| entry.action == *action)
                && query
                    .actor
                    .as_ref()
                    .is_none_or(|one| entry.actor.user == *one || entry.actor.via.as_ref() == Some(one))
                && query.resource.as_ref().is_none_or(|resource| entry.resource == *resource)
        };
        let (all, limit) = (self.access.audit.iter().filter(wanted), query.limit as usize);
        match query.after {
            Some(after) => all.filter(|entry| entry.n > after).take(limit).cloned().collect(),
            None => {
                let before = query.before.unwrap_or(i64::MAX);
                all.rev().filter(|entry| entry.n < before).take(limit).cloned().collect()
            }
        }
    }

    /// Removes finished items, counts them and adds an audit entry.
    pub(super) fn forget(
        &mut self,
        queue: QueueId,
        before: Time,
        by: Actor,
        seqs: Vec<Seq>,
        now: Time,
    ) -> Result<(), StoreError> {
        let row = self.queues.iter_mut().find(|row| row.id == queue);
        let entry = purge_entry(by, row.as_ref().map(|row| row.name.as_str()), seqs.len() as i64, before)?;
        row.into_iter().for_each(|row| row.purged += seqs.len() as i64);
        self.db.forget(&seqs);
        entry.into_iter().for_each(|entry| self.note(now, entry));
        Ok(())
    }

    pub(super) fn purge(&mut self, what: Purge, limit: u32, now: Time) -> Result<u64, StoreError> {
        let limit = limit as usize;
        match what {
            Purge::Items { queue, before, by } => {
                let old = self
                    .db
                    .done
                    .values()
                    .filter(|done| done.queue == queue && done.at < before && done.ended != Ended::Exhausted);
                let mut old: Vec<(Time, Seq)> = old.map(|done| (done.at, done.seq)).collect();
                old.sort();
                old.truncate(limit);
                let count = old.len();
                self.forget(queue, before, by, old.into_iter().map(|(_, seq)| seq).collect(), now)?;
                Ok(count as u64)
            }
            Purge::Absorbed { queue, before } => {
                let of = self.db.absorbed.values().filter(|of| of.queue == queue && of.at < before);
                let mut old: Vec<_> = of.map(|of| (of.at, (queue, of.id.clone()))).collect();
                old.sort();
                old.truncate(limit);
                for (_, id) in &old {
                    self.db.absorbed.remove(id);
                }
                Ok(old.len() as u64)
            }
            Purge::LeaseHistory { before } => {
                let mut old: Vec<Time> = self.history.iter().map(|(_, ending)| ending.at).collect();
                old.retain(|at| *at < before);
                let count = old.len().min(limit);
                for _ in 0..count {
                    let oldest = self.history.iter().enumerate().min_by_key(|(_, (_, ending))| ending.at);
                    if let Some(place) = oldest.map(|(place, _)| place) {
                        self.history.remove(place);
                    }
                }
                Ok(count as u64)
            }
            Purge::Tokens { before } => {
                let dead = |token: &&Token| token.expires_at.is_some_and(|at| at < before);
                let mut old: Vec<(Option<Time>, String)> = self
                    .access
                    .tokens
                    .values()
                    .filter(dead)
                    .map(|token| (token.expires_at, token.id.clone()))
                    .collect();
                old.sort();
                old.truncate(limit);
                old.iter().for_each(|(_, id)| drop(self.access.tokens.remove(id)));
                Ok(old.len() as u64)
            }
            Purge::Links { before } => {
                let mut old: Vec<(Time, Hash)> =
                    self.access.links.values().map(|link| (link.expires_at, link.hash)).collect();
                old.retain(|(at, _)| *at < before);
                old.sort_by_key(|(at, _)| *at);
                old.truncate(limit);
                old.iter().for_each(|(_, hash)| drop(self.access.links.remove(hash)));
                Ok(old.len() as u64)
            }
            // The model does not store deliveries of sync sources.
            Purge::Delivered { .. } => Ok(0),
            Purge::Answers { before } => {
                let mut old: Vec<(Time, Once)> =
                    self.access.answers.iter().map(|(of, (_, at))| (*at, of.clone())).collect();
                old.retain(|(at, _)| *at < before);
                old.sort();
                old.truncate(limit);
                old.iter().for_each(|(_, of)| drop(self.access.answers.remove(of)));
                Ok(old.len() as u64)
            }
        }
    }
}

impl Access {
    pub(super) fn admins(&self) -> i64 {
        let admin = |person: &&Person| person.role == Role::Admin && !person.disabled;
        self.people.values().filter(admin).count() as i64
    }

    fn consoles(&self, user: &UserId) -> Vec<String> {
        let of = |token: &&Token| token.console && token.user == *user;
        let mut found: Vec<(Time, String)> =
            self.tokens.values().filter(of).map(|token| (token.created_at, token.id.clone())).collect();
        found.sort();
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// Keeps the first answer, unless it has expired.
    pub(super) fn keep_answer(&mut self, of: Once, answer: Answer, at: Time, lapsed: Time) -> Answer {
        let kept = self.answers.entry(of).or_insert_with(|| (answer.clone(), at));
        if kept.1 < lapsed {
            *kept = (answer, at);
        }
        kept.0.clone()
    }

    fn change(&mut self, changed: Changed) {
        if let Some(person) = changed.person {
            self.people.insert(person.id.clone(), person);
        }
        if let Some(user) = changed.removed {
            self.people.remove(&user);
            self.remove_tokens(|token| token.user == user);
        }
        if let Some(token) = changed.token {
            self.tokens.insert(token.id.clone(), token);
        }
        self.remove_tokens(|token| changed.revoked.contains(&token.id));
        if let Some(user) = changed.unlinked {
            self.links.retain(|_, link| link.to.user() != Some(&user));
        }
        self.links.extend(changed.link.map(|link| (link.hash, link)));
        changed.spent.iter().for_each(|hash| drop(self.links.remove(hash)));
        self.epoch.0 += i64::from(changed.raises_epoch);
    }

    /// Removes tokens together with the sessions they minted, recursively.
    fn remove_tokens(&mut self, dies: impl Fn(&Token) -> bool) {
        let mut dead: BTreeSet<String> =
            self.tokens.values().filter(|token| dies(token)).map(|token| token.id.clone()).collect();
        while !dead.is_empty() {
            self.tokens.retain(|id, _| !dead.contains(id));
            let orphans =
                self.tokens.values().filter(|token| token.parent.as_ref().is_some_and(|id| dead.contains(id)));
            dead = orphans.map(|token| token.id.clone()).collect();
        }
    }
}
