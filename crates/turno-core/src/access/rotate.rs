//! Rotating a token: a new secret with the same rights. The old secret stays valid for a while, so that programs can be
//! changed over one by one.

use super::change::{ChangeContext, Changed, View, only_audit};
use super::{BadChange, ChangeRefused, Permissions, Token, TokenKind};
use crate::audit::AuditAction;
use crate::fault::Thing;
use crate::limits::{OVERLAP_MAX, TOKENS_MAX};
use crate::time::Span;
use serde_json::Value;

impl ChangeContext<'_> {
    /// Replaces a token by `new`, of which only id and hash count. The new token lives as long as the old one did. The
    /// old one ends after `overlap`, or at its own expiry if that is earlier.
    ///
    /// A restricted token cannot rotate itself: otherwise a stolen token that expires could live for ever.
    pub(super) fn rotate(&self, id: &str, new: &Token, overlap: Span, view: View) -> Result<Changed, ChangeRefused> {
        let is_live =
            |token: &Token| token.kind() == TokenKind::Token && token.expires_at.is_none_or(|at| self.now < at);
        let old = view.token.filter(is_live).ok_or_else(|| ChangeRefused::Unknown(Thing::Token(id.to_owned())))?;
        if !(Span(0)..=OVERLAP_MAX).contains(&overlap) {
            return Err(BadChange::Overlap { max: OVERLAP_MAX }.into());
        }
        if self.is_self(&old.user) {
            let owner = view.person.ok_or_else(|| ChangeRefused::Unknown(Thing::User(old.user.clone())))?;
            if !self.by.is_some_and(|by| by.is_unrestricted(owner.role)) {
                return Err(BadChange::RestrictedToken.into());
            }
            if overlap > Span(0) && view.tokens >= TOKENS_MAX {
                return Err(BadChange::TooManyTokens { user: owner.id, max: TOKENS_MAX }.into());
            }
        } else {
            self.require_managing()?;
            self.require_held(old.scope.unwrap_or_else(Permissions::all))?;
        }
        let until = self.now + overlap;
        let until = old.expires_at.map_or(until, |at| at.min(until));
        let token = Token {
            id: new.id.clone(),
            hash: new.hash,
            expires_at: old.expires_at.map(|at| self.now + old.created_at.until(at)),
            created_at: self.now,
            created_by: self.creator(),
            last_used_at: None,
            ..old.clone()
        };
        let audit = self.token_entry(AuditAction::TokenRotate, &token);
        let audit = audit.and("replaces", Value::from(id)).and("until_ms", Value::from(until.0));
        let (revoked, shortened) = match overlap {
            Span(0) => (vec![old.id], None),
            _ => (Vec::new(), Some((old.id, until))),
        };
        Ok(Changed { token: Some(token), revoked, shortened, raises_epoch: true, ..only_audit(audit) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Change, Permission, Person, Principal, Role, change};
    use crate::audit::Hash;
    use crate::id::UserId;
    use crate::time::Time;

    fn token(id: &str, hash: u8, expires_at: Option<Time>) -> Token {
        let bot = UserId::new("bot").expect("a valid id");
        Token {
            id: id.to_owned(),
            hash: Hash([hash; 32]),
            user: bot.clone(),
            name: None,
            machine: true,
            scope: Some([Permission::QueuesConsume].into_iter().collect()),
            resources: Vec::new(),
            queues: vec!["mails".to_owned()],
            expires_at,
            created_at: Time(1_000),
            created_by: bot,
            parent: None,
            console: false,
            last_used_at: Some(Time(1_500)),
        }
    }

    fn rotate(by: Option<&Principal>, old: Token, overlap: Span) -> Result<Changed, ChangeRefused> {
        let bot = Person {
            id: old.user.clone(),
            name: "Bot".to_owned(),
            role: Role::Editor,
            disabled: false,
            password: None,
            created_at: Time(1),
            identity: None,
        };
        let command = Change::RotateToken { id: old.id.clone(), token: token("new", 2, None), overlap };
        change(by, &command, View { person: Some(bot), token: Some(old), ..View::default() }, Time(2_000))
    }

    #[test]
    fn new_token_has_the_rights_and_the_lifetime_of_the_old_one() {
        let old = token("old", 1, Some(Time(11_000)));
        let changed = rotate(None, old.clone(), Span(0)).expect("the program may rotate");
        let new = changed.token.expect("there is a new token");
        assert_eq!((new.id.as_str(), new.hash, new.expires_at), ("new", Hash([2; 32]), Some(Time(12_000))));
        assert_eq!((new.scope, &new.queues, new.machine), (old.scope, &old.queues, true));
        assert_eq!((changed.revoked, changed.shortened), (vec!["old".to_owned()], None));
        assert!(changed.raises_epoch);
        let forever = rotate(None, token("old", 1, None), Span(0)).expect("the program may rotate");
        assert_eq!(forever.token.and_then(|token| token.expires_at), None);
    }

    #[test]
    fn old_token_ends_after_the_overlap_and_never_later_than_before() {
        let ends = |expires_at, overlap| {
            rotate(None, token("old", 1, expires_at), Span(overlap)).expect("the program may rotate").shortened
        };
        assert_eq!(ends(None, 500), Some(("old".to_owned(), Time(2_500))));
        assert_eq!(ends(Some(Time(2_100)), 500), Some(("old".to_owned(), Time(2_100))));
        assert!(rotate(None, token("old", 1, None), Span(OVERLAP_MAX.0 + 1)).is_err());
    }

    #[test]
    fn restricted_expired_and_session_tokens_are_not_rotated() {
        let mut machine = Principal::for_tests(UserId::new("bot").expect("a valid id"), Role::Editor);
        let whole = rotate(Some(&machine), token("old", 1, None), Span(0));
        assert!(whole.is_ok(), "an unrestricted token of the owner may rotate");
        machine.machine = true;
        assert_eq!(rotate(Some(&machine), token("old", 1, None), Span(0)), Err(BadChange::RestrictedToken.into()));
        let other = Principal::for_tests(UserId::new("ana").expect("a valid id"), Role::Editor);
        assert!(rotate(Some(&other), token("old", 1, None), Span(0)).is_err());
        for dead in [token("old", 1, Some(Time(2_000))), Token { console: true, ..token("old", 1, None) }] {
            assert!(matches!(rotate(None, dead, Span(0)), Err(ChangeRefused::Unknown(_))));
        }
    }
}
