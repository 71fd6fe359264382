//! People whom an OpenID provider signs in.
//!
//! A person at a provider is the pair of issuer and subject, because the provider may give a name to another person
//! later. A local person gets such an identity in two ways: by the first sign-in, which adds the person, or by an
//! administrator, who links an existing one. This module trusts its caller that the provider vouches for the identity.

use super::change::{Change, ChangeContext, Changed, View, only_audit};
use super::{ChangeRefused, Denied, Person, Role};
use crate::audit::{AuditAction, Draft};
use crate::fault::Thing;
use crate::id::UserId;
use crate::text::clip_text;
use serde_json::Value;

/// A person at an OpenID provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The provider's issuer URL.
    pub issuer: String,
    /// The provider's id of the person, which never changes.
    pub subject: String,
}

impl Change {
    /// Returns the identity whose person the store must read for the change.
    pub fn identity(&self) -> Option<&Identity> {
        match self {
            Change::LinkIdentity { identity, .. } => identity.as_ref(),
            Change::SignInIdentity { identity, .. } => Some(identity),
            _ => None,
        }
    }
}

impl ChangeContext<'_> {
    /// Links a person to an identity, or removes the link. An identity belongs to one person at most.
    pub(super) fn link_identity(
        &self,
        id: &UserId,
        identity: Option<&Identity>,
        view: View,
    ) -> Result<Changed, ChangeRefused> {
        self.require_managing()?;
        let person = view.person.ok_or_else(|| ChangeRefused::Unknown(Thing::User(id.clone())))?;
        // The owner of the identity becomes this person, so the caller must hold all that the person may do.
        self.require_held(person.role.permissions())?;
        if let Some(other) = view.linked.filter(|other| other.id != *id) {
            return Err(ChangeRefused::Linked(other.id));
        }
        let audit = with_identity(self.entry(AuditAction::UserLink, id.to_string()), identity);
        Ok(Changed { person: Some(Person { identity: identity.cloned(), ..person }), ..only_audit(audit) })
    }

    /// Signs an identity in: adds the person at the first sign-in, and sets the role that the provider gives.
    ///
    /// Without a role, ends the sessions, tokens and links of the person. The role also follows if the person is the
    /// last administrator, because the provider decides who is one. The command line can make another.
    pub(super) fn sign_in_identity(&self, command: &Change, view: View) -> Result<Changed, ChangeRefused> {
        self.require_embedding_program()?;
        let Change::SignInIdentity { identity, id, name, role } = command else {
            return Err(ChangeRefused::Unknown(Thing::Link));
        };
        match (view.linked, role) {
            (Some(person), _) if person.disabled => Err(ChangeRefused::Denied(Denied::Unauthenticated)),
            (Some(person), Some(role)) => Ok(self.follow_role(person, *role)),
            (Some(person), None) => {
                let audit = with_identity(self.entry(AuditAction::AccessEnd, person.id.to_string()), Some(identity));
                let (ended, unlinked) = (Some(person.id.clone()), Some(person.id));
                Ok(Changed { ended, unlinked, raises_epoch: true, ..only_audit(audit) })
            }
            (None, None) => Err(ChangeRefused::Unknown(Thing::User(id.clone()))),
            (None, Some(_)) if view.person.is_some() => Err(ChangeRefused::Exists(id.clone())),
            (None, Some(role)) => {
                let person = Person {
                    id: id.clone(),
                    name: clip_text(name),
                    role: *role,
                    disabled: false,
                    password: None,
                    created_at: self.now,
                    identity: Some(identity.clone()),
                };
                let audit = self.entry(AuditAction::UserAdd, id.to_string());
                let audit = with_identity(audit, Some(identity)).and("role", Value::from(role.as_str()));
                Ok(Changed { person: Some(person), ..only_audit(audit) })
            }
        }
    }

    fn follow_role(&self, before: Person, role: Role) -> Changed {
        let audit = self.entry(AuditAction::UserChange, before.id.to_string()).with([
            ("role", Value::from(role.as_str())),
            ("role_before", Value::from(before.role.as_str())),
            ("disabled", Value::from(before.disabled)),
            ("password_changed", Value::from(false)),
        ]);
        let raises_epoch = before.role != role;
        Changed { person: Some(Person { role, ..before }), raises_epoch, ..only_audit(audit) }
    }
}

fn with_identity(entry: Draft, identity: Option<&Identity>) -> Draft {
    let text = |field: fn(&Identity) -> &str| identity.map_or(Value::Null, |identity| Value::from(field(identity)));
    entry.with([("issuer", text(|identity| &identity.issuer)), ("subject", text(|identity| &identity.subject))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Principal, change};
    use crate::time::Time;

    fn identity(subject: &str) -> Identity {
        Identity { issuer: "https://id.example".to_owned(), subject: subject.to_owned() }
    }

    fn user(id: &str) -> UserId {
        UserId::new(id).expect("a valid id")
    }

    fn person(id: &str, role: Role, identity: Option<Identity>) -> Person {
        Person {
            id: user(id),
            name: format!("«{id}»"),
            role,
            disabled: false,
            password: Some("hash".to_owned()),
            created_at: Time(5),
            identity,
        }
    }

    fn sign_in(role: Option<Role>, view: View) -> Result<Changed, ChangeRefused> {
        let command = Change::SignInIdentity { identity: identity("s1"), id: user("ana"), name: "Ana".into(), role };
        change(None, &command, view, Time(7))
    }

    #[test]
    fn first_sign_in_adds_the_person_with_the_role_of_the_provider() {
        let changed = sign_in(Some(Role::Editor), View::default()).expect("a new person may sign in");
        let person = changed.person.expect("the person is written");
        assert_eq!((person.id.as_str(), person.name.as_str(), person.role), ("ana", "Ana", Role::Editor));
        assert_eq!((person.identity, person.password, person.created_at), (Some(identity("s1")), None, Time(7)));
        assert_eq!(changed.audit.action, AuditAction::UserAdd);
    }

    #[test]
    fn local_person_with_the_same_id_is_refused_until_linked() {
        let local = person("ana", Role::Admin, None);
        let view = View { person: Some(local.clone()), ..View::default() };
        assert_eq!(sign_in(Some(Role::Editor), view), Err(ChangeRefused::Exists(user("ana"))));
        let linked = Person { identity: Some(identity("s1")), ..local.clone() };
        let view = View { person: Some(local), linked: Some(linked), ..View::default() };
        let changed = sign_in(Some(Role::Editor), view).expect("a linked person may sign in");
        assert_eq!(changed.person.map(|person| person.role), Some(Role::Editor));
        assert!(changed.raises_epoch, "cached rights must change with the role");
    }

    #[test]
    fn sign_in_without_a_role_ends_access_and_adds_no_person() {
        let linked = person("leo", Role::Admin, Some(identity("s1")));
        let changed = sign_in(None, View { linked: Some(linked), ..View::default() }).expect("the end is stored");
        assert_eq!((changed.ended, changed.unlinked), (Some(user("leo")), Some(user("leo"))));
        assert!(changed.person.is_none() && changed.raises_epoch);
        assert_eq!(changed.audit.action, AuditAction::AccessEnd);
        assert!(matches!(sign_in(None, View::default()), Err(ChangeRefused::Unknown(_))));
    }

    #[test]
    fn disabled_person_cannot_sign_in_with_an_identity() {
        let out = Person { disabled: true, ..person("ana", Role::Editor, Some(identity("s1"))) };
        let refused = sign_in(Some(Role::Editor), View { linked: Some(out), ..View::default() });
        assert_eq!(refused, Err(ChangeRefused::Denied(Denied::Unauthenticated)));
    }

    #[test]
    fn only_a_manager_links_and_an_identity_belongs_to_one_person() {
        let link = Change::LinkIdentity { id: user("ana"), identity: Some(identity("s1")) };
        let view = || View { person: Some(person("ana", Role::Editor, None)), ..View::default() };
        let changed = change(None, &link, view(), Time(7)).expect("the program may link");
        assert_eq!(changed.person.and_then(|person| person.identity), Some(identity("s1")));
        let other = Some(person("leo", Role::Editor, Some(identity("s1"))));
        let taken = change(None, &link, View { linked: other, ..view() }, Time(7));
        assert_eq!(taken, Err(ChangeRefused::Linked(user("leo"))));
        let editor = Principal::for_tests(user("ana"), Role::Editor);
        assert!(change(Some(&editor), &link, view(), Time(7)).is_err(), "users cannot link themselves");
        let sign_in =
            Change::SignInIdentity { identity: identity("s1"), id: user("ana"), name: "Ana".into(), role: None };
        let admin = Principal::for_tests(user("eva"), Role::Admin);
        assert!(change(Some(&admin), &sign_in, view(), Time(7)).is_err(), "only the program signs people in");
    }
}
