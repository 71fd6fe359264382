//! People of an OpenID provider, and rotated tokens.

use super::access::user;
use super::world::World;
use std::time::Duration;
use turno::Error;
use turno::access::{ChangeRefused, Denied, Identity, IdentityClaims, LinkFor, NewPerson, NewToken, Role};
use turno::core::time::Span;

super::cases![
    an_identity_signs_in_as_one_person_on_every_instance,
    a_local_person_is_refused_until_linked,
    a_sign_in_without_a_role_ends_sessions_and_tokens,
    a_bound_link_needs_its_binding_and_works_once,
    a_rotated_token_is_replaced_after_the_overlap,
    tokens_that_expire_soon_are_counted_without_sessions,
];

const HOUR: Duration = Duration::from_secs(3_600);

fn claims(subject: &str, id: &str, role: Option<Role>) -> IdentityClaims {
    let identity = Identity { issuer: "https://id.example".to_owned(), subject: subject.to_owned() };
    IdentityClaims { identity, id: user(id), name: format!("«{id}»"), role }
}

async fn an_identity_signs_in_as_one_person_on_every_instance(world: World) {
    let other = world.instance().await;
    let ana = claims("s-1", "ana", Some(Role::Editor));
    let made = world.turno.sign_in_identity(ana.clone()).await.unwrap().unwrap();
    assert_eq!((made.id.as_str(), made.name.as_str(), made.role), ("ana", "«ana»", Role::Editor));
    assert_eq!(other.person(user("ana")).await.unwrap().unwrap().identity, Some(ana.identity.clone()));
    // The provider renamed the person and raised the role. The person stays the same.
    let renamed = claims("s-1", "ana.perez", Some(Role::Admin));
    let (_, secret) = world.turno.create_token(NewToken::for_user("ana").unwrap()).await.unwrap();
    let handle = other.authenticate(&secret).await.unwrap();
    assert!(handle.people(None, 9).await.is_err());
    let same = world.turno.sign_in_identity(renamed).await.unwrap().unwrap();
    assert_eq!((same.id.as_str(), same.role), ("ana", Role::Admin));
    assert_eq!(handle.people(None, 9).await.unwrap(), [same], "the new role counts at once on other instances");
}

async fn a_local_person_is_refused_until_linked(world: World) {
    world.turno.add_person(NewPerson::new("ana", "Ana", Role::Viewer).unwrap()).await.unwrap();
    let ana = claims("s-1", "ana", Some(Role::Editor));
    let refused = world.turno.sign_in_identity(ana.clone()).await;
    assert_eq!(refused.unwrap_err(), Error::Refused(ChangeRefused::Exists(user("ana"))));
    world.turno.link_identity(user("ana"), Some(ana.identity.clone())).await.unwrap();
    assert_eq!(world.turno.sign_in_identity(ana.clone()).await.unwrap().unwrap().role, Role::Editor);
    world.turno.add_person(NewPerson::new("leo", "Leo", Role::Viewer).unwrap()).await.unwrap();
    let taken = world.turno.link_identity(user("leo"), Some(ana.identity.clone())).await;
    assert_eq!(taken.unwrap_err(), Error::Refused(ChangeRefused::Linked(user("ana"))));
    world.turno.link_identity(user("ana"), None).await.unwrap();
    let linked = world.turno.link_identity(user("leo"), Some(ana.identity.clone())).await.unwrap();
    assert_eq!(world.turno.people(None, 9).await.unwrap()[1], linked);
}

async fn a_sign_in_without_a_role_ends_sessions_and_tokens(world: World) {
    let ana = claims("s-1", "ana", Some(Role::Editor));
    world.turno.sign_in_identity(ana.clone()).await.unwrap().unwrap();
    let (_, token) = world.turno.create_token(NewToken::for_user("ana").unwrap()).await.unwrap();
    let (_, session) = world.turno.open_session(user("ana"), HOUR).await.unwrap();
    let link = world.turno.make_link(LinkFor::SignIn(user("ana")), HOUR).await.unwrap();
    let other = world.instance().await;
    let handle = other.authenticate(&session).await.unwrap();
    assert_eq!(world.turno.sign_in_identity(IdentityClaims { role: None, ..ana }).await, Ok(None));
    let out = Error::Denied(Denied::Unauthenticated);
    assert_eq!(handle.recheck().await, Err(out.clone()));
    for secret in [token, session] {
        assert_eq!(world.turno.authenticate(&secret).await.err(), Some(out.clone()));
    }
    assert_eq!(world.turno.redeem_link(&link).await, Ok(None));
    let unknown = claims("s-2", "leo", None);
    assert_eq!(world.turno.sign_in_identity(unknown).await, Ok(None));
    assert_eq!(world.turno.people(None, 9).await.unwrap().len(), 1, "no person is added without a role");
}

async fn a_bound_link_needs_its_binding_and_works_once(world: World) {
    world.turno.add_person(NewPerson::new("ana", "Ana", Role::Viewer).unwrap()).await.unwrap();
    let to = LinkFor::SignIn(user("ana"));
    let code = world.turno.make_bound_link(to.clone(), Duration::from_secs(60), "challenge").await.unwrap();
    assert_eq!(world.turno.redeem_link(&code).await, Ok(None), "the code alone signs nobody in");
    assert_eq!(world.turno.redeem_bound_link(&code, "other").await, Ok(None));
    assert_eq!(world.turno.redeem_bound_link(&code, "challenge").await, Ok(Some(to.clone())));
    assert_eq!(world.turno.redeem_bound_link(&code, "challenge").await, Ok(None));
    let late = world.turno.make_bound_link(to, Duration::from_secs(60), "challenge").await.unwrap();
    world.advance(60_000);
    assert_eq!(world.turno.redeem_bound_link(&late, "challenge").await, Ok(None));
}

async fn a_rotated_token_is_replaced_after_the_overlap(world: World) {
    world.turno.add_person(NewPerson::new("bot", "Bot", Role::Editor).unwrap()).await.unwrap();
    let new = NewToken { machine: true, expires_in: Some(HOUR * 24), ..NewToken::for_user("bot").unwrap() };
    let (old, secret) = world.turno.create_token(new).await.unwrap();
    let other = world.instance().await;
    let handle = other.authenticate(&secret).await.unwrap();
    world.advance(1_000);
    let (fresh, next) = world.turno.rotate_token(&old.id, HOUR).await.unwrap();
    assert_eq!(fresh.expires_at, old.expires_at.map(|at| at + Span(1_000)), "the same lifetime from now");
    assert_eq!((&fresh.user, fresh.machine), (&old.user, true));
    assert!(handle.recheck().await.is_ok() && other.authenticate(&next).await.is_ok());
    world.advance(3_600_000);
    assert!(handle.recheck().await.is_err(), "the old secret ends after the overlap");
    let (_, last) = world.turno.rotate_token(&fresh.id, Duration::ZERO).await.unwrap();
    assert!(other.authenticate(&next).await.is_err() && other.authenticate(&last).await.is_ok());
    assert!(world.turno.rotate_token(&old.id, Duration::ZERO).await.is_err());
}

async fn tokens_that_expire_soon_are_counted_without_sessions(world: World) {
    world.turno.add_person(NewPerson::new("ana", "Ana", Role::Editor).unwrap()).await.unwrap();
    for hours in [1, 2, 3] {
        let new = NewToken { expires_in: Some(HOUR * hours), ..NewToken::for_user("ana").unwrap() };
        world.turno.create_token(new).await.unwrap();
    }
    world.turno.create_token(NewToken::for_user("ana").unwrap()).await.unwrap();
    world.turno.open_session(user("ana"), HOUR).await.unwrap();
    assert_eq!(world.turno.tokens_expiring(HOUR * 2).await, Ok(2));
    world.advance(3_600_000);
    assert_eq!(world.turno.tokens_expiring(HOUR * 2).await, Ok(2), "an expired token no longer counts");
}
