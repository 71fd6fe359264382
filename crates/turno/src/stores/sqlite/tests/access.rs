//! People and tokens: what a change decided is what is read, and it takes effect at once.

use super::{Folder, START, claim, commit_one, store};
use crate::store::traits::*;
use crate::store::{AccessGroup, AccessOutcome, Group, LeaseGroup, Outcomes, Purge, StoreError};
use crate::stores::sqlite::SqliteStore;
use std::sync::Arc;
use turno_core::access::{Change, ChangeRefused, Epoch, Permissions, Person, Role, Token};
use turno_core::audit::Hash;
use turno_core::id::UserId;
use turno_core::time::{Span, Time};

fn user(text: &str) -> UserId {
    UserId::new(text).unwrap()
}

async fn change(store: &SqliteStore, wish: Change) -> AccessOutcome {
    match commit_one(store, Group::Access(Box::new(AccessGroup { by: None, wish }))).await {
        Outcomes::Access(outcome) => *outcome,
        other => panic!("{other:?}"),
    }
}

async fn add(store: &SqliteStore, id: &str, role: Role) -> Person {
    let password = (role == Role::Admin).then(|| format!("hash of {id}"));
    let wish = Change::AddPerson { id: user(id), name: format!("{id} by name"), role, password };
    change(store, wish).await.unwrap().person.unwrap()
}

fn token(id: &str, of: &str) -> Token {
    Token {
        id: id.into(),
        hash: Hash(*blake3_like(id)),
        user: user(of),
        name: Some(format!("{id} name")),
        machine: true,
        scope: Some("leases.use queues.produce".parse().unwrap()),
        resources: vec!["job:".into(), "file \"x\"".into()],
        expires_at: Some(START + Span(90_000)),
        created_at: Time(0),
        created_by: user("nobody"),
        parent: None,
        console: false,
        last_used_at: None,
    }
}

/// Returns 32 bytes that differ by name.
fn blake3_like(id: &str) -> Box<[u8; 32]> {
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(id.bytes().cycle()).enumerate().for_each(|(at, (byte, of))| *byte = of ^ at as u8);
    Box::new(bytes)
}

#[tokio::test]
async fn people_and_tokens_are_read_back_as_decided() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let root = add(&store, "root", Role::Admin).await;
    manual.advance(Span(11));
    let ana = add(&store, "ana", Role::Editor).await;
    assert_eq!(store.person(user("ana")).await, Ok(Some(ana.clone())));
    assert_eq!(store.person(user("root")).await.unwrap().unwrap().password.as_deref(), Some("hash of root"));
    assert_eq!(store.people(None, 9).await, Ok(vec![ana.clone(), root.clone()]));
    assert_eq!(store.people(Some(user("ana")), 9).await, Ok(vec![root]));

    let made = change(&store, Change::CreateToken(token("t-2", "ana"))).await.unwrap().token.unwrap();
    let found = store.token(made.hash).await.unwrap();
    assert_eq!((found.token, found.epoch, found.now), (Some((made.clone(), Some(ana))), Epoch(0), START + Span(11)));
    assert_eq!(store.token(Hash::default()).await.unwrap().token, None);
    let minted = Change::MintSession { token: Token { scope: None, ..token("s-1", "guest") }, ttl: Span(60_000) };
    let session = change(&store, minted).await.unwrap().token.unwrap();
    assert_eq!(session.scope, Some(Permissions::OF_A_PAGE));
    let found = store.token(session.hash).await.unwrap().token;
    assert_eq!(found, Some((session.clone(), None)), "a session may belong to an unknown user");
    assert_eq!(store.tokens(None, None, 9).await, Ok(vec![session.clone(), made.clone()]));
    assert_eq!(store.tokens(None, Some("s-1".into()), 9).await, Ok(vec![made.clone()]));
    assert_eq!(store.tokens(Some(user("guest")), None, 9).await, Ok(vec![session]));

    let used = |at| vec![("t-2".to_owned(), Time(at)), ("unknown".to_owned(), Time(at))];
    for at in [70, 50] {
        store.touch_tokens(used(at)).await.unwrap();
    }
    let touched = store.tokens(Some(user("ana")), None, 9).await.unwrap();
    assert_eq!(touched, [Token { last_used_at: Some(Time(70)), ..made }], "the time never moves back");
}

#[tokio::test]
async fn removing_a_person_removes_tokens_with_sessions_and_raises_the_epoch() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    add(&store, "root", Role::Admin).await;
    add(&store, "ana", Role::Editor).await;
    change(&store, Change::CreateToken(token("t-1", "ana"))).await.unwrap();
    change(&store, Change::CreateToken(token("t-2", "root"))).await.unwrap();
    // Inserts the rows of sessions made by a session of ana's token.
    let text = "insert into token select ?1, randomblob(32), user_id, name, machine, scope, resources, expires_at, \
                created_at, created_by, ?2, null, 0 from token where id = 't-2'";
    let session =
        |id: &'static str, parent: &'static str| store.writer.run(move |db| Ok(db.execute(text, (id, parent))?));
    session("s-1", "t-1").await.unwrap();
    session("s-2", "s-1").await.unwrap();
    session("s-3", "t-2").await.unwrap();
    let ids = async || {
        let found = store.tokens(None, None, 9).await.unwrap();
        found.into_iter().map(|token| token.id).collect::<Vec<_>>()
    };
    assert_eq!(ids().await.len(), 5);
    change(&store, Change::RemovePerson { id: user("ana") }).await.unwrap();
    assert_eq!((ids().await, store.epoch().await), (vec!["s-3".to_owned(), "t-2".to_owned()], Ok(Epoch(1))));
    change(&store, Change::RevokeToken { id: "t-2".into() }).await.unwrap();
    assert_eq!((ids().await, store.epoch().await), (Vec::new(), Ok(Epoch(2))));
    let last = change(&store, Change::RemovePerson { id: user("root") }).await;
    assert_eq!(last, Err(ChangeRefused::LastAdmin(user("root"))));
    assert_eq!(store.epoch().await, Ok(Epoch(2)));
}

#[tokio::test]
async fn a_group_under_another_epoch_is_not_stored() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let (store, other) = (store, self::store(&folder).await.0);
    let group = || Group::Lease(LeaseGroup { commands: vec![claim("a", "ana")] });
    add(&other, "root", Role::Admin).await;
    assert!(
        store.commit(0, Arc::new([group()]), Some(Epoch(0))).await.is_ok(),
        "adding a person does not raise the epoch"
    );
    other.writer.run(|db| Ok(db.execute("update mark set epoch = epoch + 1", [])?)).await.unwrap();
    let numbers =
        |db: &mut rusqlite::Connection| Ok(db.query_row("select value from number", [], |row| row.get::<_, i64>(0))?);
    let before = store.writer.run(numbers).await;
    let refused = store.commit(0, Arc::new([group()]), Some(Epoch(0))).await;
    assert_eq!((refused, store.writer.run(numbers).await), (Err(StoreError::AccessChanged), before));
    assert_eq!(store.peek(Vec::new()).await.unwrap().epoch, Epoch(1));
    assert!(store.commit(0, Arc::new([group()]), Some(Epoch(1))).await.is_ok());
    assert!(store.commit(0, Arc::new([group()]), None).await.is_ok());
}

#[tokio::test]
async fn expired_tokens_are_purged_oldest_expiry_first() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    add(&store, "ana", Role::Editor).await;
    for (id, expires_at) in [("a", Some(3)), ("b", Some(2)), ("c", None), ("d", Some(1))] {
        let token = Token { expires_at: expires_at.map(|n| START + Span(n)), ..token(id, "ana") };
        change(&store, Change::CreateToken(token)).await.unwrap();
    }
    let before = START + Span(3);
    assert_eq!(store.purge(Purge::Tokens { before }, 1).await, Ok(1));
    let ids = async || store.tokens(None, None, 9).await.unwrap().into_iter().map(|token| token.id).collect::<String>();
    assert_eq!(ids().await, "abc");
    assert_eq!(store.purge(Purge::Tokens { before }, 9).await, Ok(1));
    assert_eq!(ids().await, "ac", "token a expires exactly then, and not before");
}
