//! People and tokens in the store: every column, what is removed together, and purges.

use super::access::{person, stranger, user};
use super::world::{START, World};
use std::time::Duration;
use turno::access::{NewPerson, NewToken};
use turno::core::access::{Epoch, Permission, Role};
use turno::core::time::{Span, Time};
use turno::store::Purge;

super::cases![
    people_and_tokens_are_stored_as_decided_and_removed_together,
    expired_tokens_are_purged_oldest_expiry_first,
];

async fn people_and_tokens_are_stored_as_decided_and_removed_together(world: World) {
    let store = world.turno.store().unwrap();
    let eva = person(&world.turno, "eva", Role::Admin).await;
    world.advance(11);
    let ana = NewPerson { password: Some("hash".to_owned()), ..NewPerson::new("ana", "Ana Ñ", Role::Admin).unwrap() };
    let ana = world.turno.add_person(ana).await.unwrap();
    assert_eq!(store.person(ana.id.clone()).await, Ok(Some(ana.clone())));
    let new = NewToken {
        name: Some("a name".to_owned()),
        machine: true,
        scope: Some([Permission::SessionsMint, Permission::LeasesUse].into_iter().collect()),
        resources: vec!["task:".to_owned(), "a \"b\"".to_owned()],
        expires_in: Some(Duration::from_secs(90)),
        ..NewToken::for_user("ana").unwrap()
    };
    let (made, secret) = eva.create_token(new).await.unwrap();
    let found = store.token(made.hash).await.unwrap();
    assert_eq!((found.token, found.now), (Some((made.clone(), Some(ana))), world.turno.now()));
    let machine = world.turno.authenticate(&secret).await.unwrap();
    let limited = NewToken { resources: vec!["task:1".to_owned()], ..stranger() };
    let (session, _) = machine.mint_session(limited, Duration::from_secs(60)).await.unwrap();
    assert_eq!(session.parent.as_ref(), Some(&made.id));
    let found = store.token(session.hash).await.unwrap();
    assert_eq!(found.token, Some((session.clone(), None)), "a session may belong to an unknown user");

    for at in [vec![50, 70], vec![60]] {
        let uses = |at: i64| [(made.id.clone(), Time(at)), ("unknown".to_owned(), Time(at))];
        store.touch_tokens(at.into_iter().flat_map(uses).collect()).await.unwrap();
    }
    let touched = store.tokens(Some(user("ana")), None, 9).await.unwrap();
    assert_eq!(touched[0].last_used_at, Some(Time(70)), "the last use never moves back");
    world.turno.remove_person(user("ana")).await.unwrap();
    assert_eq!(store.epoch().await, Ok(Epoch(found.epoch.0 + 1)));
    let left = store.tokens(None, None, 9).await.unwrap();
    assert_eq!(left.iter().map(|token| token.user.as_str()).collect::<Vec<_>>(), ["eva"]);
    assert_eq!(store.people(None, 9).await.unwrap().len(), 1);
}

async fn expired_tokens_are_purged_oldest_expiry_first(world: World) {
    let store = world.turno.store().unwrap();
    person(&world.turno, "ana", Role::Editor).await;
    for seconds in [3, 2, 1] {
        let new = NewToken { expires_in: Some(Duration::from_secs(seconds)), ..NewToken::for_user("ana").unwrap() };
        world.turno.create_token(new).await.unwrap();
    }
    let before = START + Span(3_000);
    let left = async || {
        let tokens = store.tokens(None, None, 9).await.unwrap();
        let mut left: Vec<_> = tokens.iter().filter_map(|token| Some((token.expires_at? - START).0)).collect();
        left.sort_unstable();
        left
    };
    assert_eq!((store.purge(Purge::Tokens, before, 1).await, left().await), (Ok(1), vec![2_000, 3_000]));
    let rest = store.purge(Purge::Tokens, before, 9).await;
    assert_eq!((rest, left().await), (Ok(1), vec![3_000]), "that one expires exactly then, and not before");
}
