//! People and tokens: the epoch, and what is deleted together.

use super::*;
use crate::store::AccessGroup;
use turno_core::access::{Change, Epoch, Permission, Permissions, Principal, Role, Token};
use turno_core::audit::Hash;

fn user(id: &str) -> UserId {
    UserId::new(id).unwrap()
}

async fn change(store: &PostgresStore, by: Option<Principal>, wish: Change) -> crate::store::AccessOutcome {
    let outcome = commit(store, 4, Group::Access(Box::new(AccessGroup { by, wish }))).await.unwrap();
    let Outcomes::Access(outcome) = outcome else { panic!("{outcome:?}") };
    *outcome
}

async fn add(store: &PostgresStore, id: &str, role: Role) {
    let wish = Change::AddPerson { id: user(id), name: format!("{id}'s name"), role, password: Some("hash".into()) };
    change(store, None, wish).await.unwrap();
}

fn token(id: &str, owner: &str) -> Token {
    let scope: Permissions = [Permission::LeasesUse, Permission::SessionsMint].into_iter().collect();
    Token {
        id: id.into(),
        hash: Hash(*id.as_bytes().iter().cycle().take(32).copied().collect::<Vec<_>>().first_chunk().unwrap()),
        user: user(owner),
        name: Some(format!("name of {id}")),
        machine: true,
        scope: Some(scope),
        resources: vec!["task:".into(), "a \"b\"".into()],
        expires_at: Some(Time(9_000_000_000_000)),
        created_at: Time(0),
        created_by: user("nobody"),
        parent: None,
        console: false,
        last_used_at: None,
    }
}

#[tokio::test]
async fn revoking_a_token_raises_the_epoch_and_removes_its_sessions() {
    let (store, _) = fresh_store().await;
    add(&store, "ana", Role::Admin).await;
    let made = change(&store, None, Change::CreateToken(token("t1", "ana"))).await.unwrap().token.unwrap();
    let found = store.token(made.hash).await.unwrap();
    let (read, owner) = found.token.clone().unwrap();
    assert_eq!(read, made, "every column is read back");
    assert_eq!(Some(owner.clone().unwrap()), store.person(user("ana")).await.unwrap());
    let principal = read.principal(owner.as_ref(), None, found.now).unwrap();
    let session = Change::MintSession {
        token: Token { resources: vec!["task:1".into()], scope: None, ..token("s1", "guest") },
        ttl: Span::from_secs(60),
    };
    let session = change(&store, Some(principal), session).await.unwrap().token.unwrap();
    assert_eq!(session.parent.as_deref(), Some("t1"));
    let (_, unknown) = store.token(session.hash).await.unwrap().token.unwrap();
    assert_eq!(unknown, None, "a session may belong to an unknown user");
    let as_of = Some(found.epoch);
    let claim = || -> Arc<[Group]> { Arc::from([lease("task:1", "ana", CLAIM)]) };
    assert!(store.commit(0, claim(), as_of).await.is_ok());
    change(&store, None, Change::RevokeToken { id: "t1".into() }).await.unwrap();
    assert_eq!(store.commit(0, claim(), as_of).await, Err(StoreError::AccessChanged));
    assert_eq!(store.peek(vec![]).await.unwrap().epoch, Epoch(found.epoch.0 + 1));
    assert!(store.commit(0, claim(), Some(store.epoch().await.unwrap())).await.is_ok());
    for hash in [made.hash, session.hash] {
        assert_eq!(store.token(hash).await.unwrap().token, None);
    }
    assert_eq!(verify_audit(&store).await, 4);
}

#[tokio::test]
async fn a_group_of_any_kind_under_another_epoch_stores_nothing() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Lane)).await;
    let grouped = Policy { batch_max: 4, ..unwindowed(Kind::Lane) };
    let paused = QueueRow { version: 99, policy: grouped, ..queue.clone() };
    let wish = Change::AddPerson { id: user("eva"), name: "Eva".into(), role: Role::Viewer, password: None };
    let groups = [
        lease("a", "ana", CLAIM),
        lease("a", "ana", force("x")),
        enqueue_group(&queue, vec![new_item("a", Some("k"), "{}")]),
        claim_group(&queue, 1),
        claim_group(&paused, 1),
        Group::Access(Box::new(AccessGroup { by: None, wish })),
    ];
    for group in groups {
        let refused = store.commit(3, Arc::from([group]), Some(Epoch(5))).await;
        assert_eq!(refused, Err(StoreError::AccessChanged));
    }
    let client = outside(&url).await;
    for table in ["lease", "body", "person"] {
        assert_eq!(number(&client, &format!("select count(*) from turno.{table}")).await, 0, "{table}");
    }
    assert_eq!(verify_audit(&store).await, 1, "only the entry of the queue");
}

#[tokio::test]
async fn removing_a_person_removes_their_tokens_and_last_use_never_moves_back() {
    let (store, url) = fresh_store().await;
    add(&store, "ana", Role::Admin).await;
    add(&store, "luis", Role::Admin).await;
    for (id, owner) in [("t1", "ana"), ("t2", "luis"), ("t3", "ana")] {
        change(&store, None, Change::CreateToken(token(id, owner))).await.unwrap();
    }
    let used =
        vec![("t2".to_owned(), Time(50)), ("t1".into(), Time(40)), ("t2".into(), Time(70)), ("x".into(), Time(1))];
    store.touch_tokens(used).await.unwrap();
    store.touch_tokens(vec![("t2".into(), Time(60))]).await.unwrap();
    let ids = async |user: Option<UserId>, after: Option<&str>| {
        let tokens = store.tokens(user, after.map(str::to_owned), 10).await.unwrap();
        tokens.into_iter().map(|token| (token.id, token.last_used_at.map(|at| at.0))).collect::<Vec<_>>()
    };
    let t2 = ("t2".to_owned(), Some(70));
    assert_eq!(ids(None, Some("t1")).await, [t2.clone(), ("t3".into(), None)]);
    assert_eq!(ids(Some(user("ana")), None).await, [("t1".into(), Some(40)), ("t3".into(), None)]);
    change(&store, None, Change::RemovePerson { id: user("ana") }).await.unwrap();
    assert_eq!(ids(None, None).await, [t2]);
    let people = store.people(None, 10).await.unwrap();
    assert_eq!(people.iter().map(|person| person.id.as_str()).collect::<Vec<_>>(), ["luis"]);
    assert_eq!(store.people(Some(user("luis")), 10).await.unwrap(), []);
    let tokens = crate::store::Purge::Tokens { before: Time(9_000_000_000_001) };
    assert_eq!(store.purge(tokens, 10).await.unwrap(), 1);
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.token").await, 0);
}
