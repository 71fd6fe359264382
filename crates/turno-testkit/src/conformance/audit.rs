//! The audit log: one entry per privileged action, in one unbroken chain.

use super::world::{World, draft, give_up, put, queue_name, take_one};
use turno::Turno;
use turno::access::{NewPerson, NewToken, PersonChange, Role};
use turno::core::audit::{Broken, Head};
use turno::core::id::{ItemId, UserId};
use turno::core::lease::Action;
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;
use turno::store::AuditQuery;

super::cases![
    every_privileged_action_has_exactly_one_audit_entry,
    a_refused_action_leaves_no_audit_entry,
    the_audit_chain_does_not_fork_under_concurrency,
    the_audit_chain_is_verified_against_a_head_kept_elsewhere,
    audit_entries_are_found_by_action_actor_and_resource,
    purged_items_are_counted_and_audited,
];

async fn actions(turno: &Turno) -> Vec<String> {
    let query = AuditQuery { after: Some(0), limit: 1_000, ..AuditQuery::default() };
    turno.audit(query).await.unwrap().into_iter().map(|entry| entry.action).collect()
}

async fn force(turno: &Turno, name: &str, action: Action) {
    let answer = turno.lease_command(turno.command(name, "eva", action).unwrap()).await.unwrap();
    assert!(answer.answer.is_ok(), "{:?}", answer.answer);
}

fn take(reason: &str) -> Action {
    Action::ForceClaim { reason: reason.to_owned(), fence: None }
}

fn free(reason: &str) -> Action {
    Action::ForceRelease { reason: reason.to_owned(), fence: None }
}

async fn every_privileged_action_has_exactly_one_audit_entry(world: World) {
    let turno = &world.turno;
    let policy = Policy { max_attempts: 1, ..Policy::for_kind(Kind::Inbox) };
    let queue = turno.put_queue(queue_name(), policy.clone()).await.unwrap();
    turno.put_queue(queue_name(), policy.clone()).await.unwrap();
    turno.put_queue(queue_name(), Policy { max_attempts: 2, ..policy.clone() }).await.unwrap();
    turno.put_queue(queue_name(), policy).await.unwrap();
    queue.pause().await.unwrap();
    queue.pause().await.unwrap();
    queue.resume().await.unwrap();
    put(&queue, "k", &["a", "b"]).await;
    let got = take_one(&queue).await;
    give_up(&queue, &got).await;
    queue.retry(got.items[0].id.clone()).await.unwrap().unwrap();
    queue.cancel(ItemId::new("b").unwrap()).await.unwrap().unwrap();
    force(turno, "r", take("uno")).await;
    force(turno, "r", take("dos, ya suyo")).await;
    force(turno, "r", free("tres")).await;
    force(turno, "r", free("cuatro, ya libre")).await;
    turno.add_person(NewPerson::new("ana", "Ana", Role::Admin).unwrap()).await.unwrap();
    turno.add_person(NewPerson::new("leo", "Leo", Role::Viewer).unwrap()).await.unwrap();
    let role = PersonChange { role: Some(Role::Editor), ..PersonChange::default() };
    turno.change_person(UserId::new("leo").unwrap(), role).await.unwrap();
    let (token, _) = turno.create_token(NewToken::for_user("leo").unwrap()).await.unwrap();
    turno.revoke_token(&token.id).await.unwrap();
    turno.remove_person(UserId::new("leo").unwrap()).await.unwrap();
    let expected = [
        "queue_put",
        "queue_put",
        "queue_put",
        "queue_pause",
        "queue_pause",
        "queue_resume",
        "item_retry",
        "item_cancel",
        "lock_force_claim",
        "lock_force_claim",
        "lock_force_release",
        "lock_force_release",
        "user_add",
        "user_add",
        "user_change",
        "token_create",
        "token_revoke",
        "user_remove",
    ];
    assert_eq!(actions(turno).await, expected, "writing an unchanged policy adds no entry");
    let puts = turno.audit(AuditQuery { after: Some(0), limit: 2, ..AuditQuery::default() }).await.unwrap();
    let detail = |n: usize| serde_json::from_str::<serde_json::Value>(&puts[n].detail).unwrap();
    assert_eq!((&detail(0)["created"], &detail(1)["created"]), (&true.into(), &false.into()));
    assert_eq!(detail(1)["policy"]["max_attempts"], 2);
    assert!(turno.audit_verify(None, |_, _| {}).await.unwrap().is_ok());
}

async fn a_refused_action_leaves_no_audit_entry(world: World) {
    let turno = &world.turno;
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let before = actions(turno).await;
    assert!(queue.retry(ItemId::new("nadie").unwrap()).await.unwrap().is_err());
    put(&queue, "k", &["a"]).await;
    take_one(&queue).await;
    assert!(queue.cancel(ItemId::new("a").unwrap()).await.unwrap().is_err(), "an item in process cannot be cancelled");
    assert!(turno.revoke_token("nada").await.is_err());
    assert!(turno.remove_person(UserId::new("nadie").unwrap()).await.is_err());
    assert_eq!(actions(turno).await, before);
}

async fn the_audit_chain_does_not_fork_under_concurrency(world: World) {
    const EACH: usize = 12;
    let other = world.instance().await;
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let mut acts = tokio::task::JoinSet::new();
    for n in 0..4 {
        let turno = if n % 2 == 0 { world.turno.clone() } else { other.clone() };
        acts.spawn(async move {
            for m in 0..EACH {
                force(&turno, &format!("r{}", (n + m) % 3), take("a la vez")).await;
            }
        });
        let turno = if n % 2 == 0 { other.clone() } else { world.turno.clone() };
        let queue = queue.clone();
        acts.spawn(async move {
            for m in 0..EACH {
                let new = NewPerson::new(&format!("p{n}-{m}"), "P", Role::Viewer).unwrap();
                turno.add_person(new).await.unwrap();
                queue.pause().await.unwrap();
            }
        });
    }
    acts.join_all().await;
    let head = world.turno.audit_verify(None, |_, _| {}).await.unwrap().unwrap();
    assert_eq!(head.n, 1 + 4 * 3 * EACH as i64);
}

async fn the_audit_chain_is_verified_against_a_head_kept_elsewhere(mut world: World) {
    force(&world.turno, "r", take("antes")).await;
    let kept = world.turno.audit_verify(None, |_, _| {}).await.unwrap().unwrap();
    force(&world.turno, "r", free("después")).await;
    world.reopen().await;
    let mut seen = Vec::new();
    let head = world.turno.audit_verify(Some(kept), |at, total| seen.push((at, total))).await.unwrap().unwrap();
    assert_eq!((kept.n, head.n, seen), (1, 2, vec![(2, 2)]));
    let foreign = Head { n: 1, hash: head.hash };
    assert_eq!(world.turno.audit_verify(Some(foreign), |_, _| {}).await.unwrap(), Err(Broken::Rewritten(1)));
    let future = Head { n: 9, ..head };
    assert_eq!(
        world.turno.audit_verify(Some(future), |_, _| {}).await.unwrap(),
        Err(Broken::Cut { expected: 9, found: 2 })
    );
}

async fn audit_entries_are_found_by_action_actor_and_resource(world: World) {
    let turno = &world.turno;
    for (name, action) in [("a", take("1")), ("b", take("2")), ("a", free("3"))] {
        force(turno, name, action).await;
    }
    turno.add_person(NewPerson::new("ana", "Ana", Role::Viewer).unwrap()).await.unwrap();
    let found = |query: AuditQuery| async move {
        let entries = turno.audit(AuditQuery { limit: 10, ..query }).await.unwrap();
        entries.into_iter().map(|entry| entry.n).collect::<Vec<_>>()
    };
    let all = AuditQuery::default();
    assert_eq!(found(all.clone()).await, [4, 3, 2, 1]);
    assert_eq!(found(AuditQuery { resource: Some("a".to_owned()), ..all.clone() }).await, [3, 1]);
    assert_eq!(found(AuditQuery { action: Some("lock_force_claim".to_owned()), ..all.clone() }).await, [2, 1]);
    let system = UserId::new("system").unwrap();
    assert_eq!(found(AuditQuery { actor: Some(system), ..all.clone() }).await, [4]);
    assert_eq!(found(AuditQuery { before: Some(3), ..all.clone() }).await, [2, 1]);
    let of_a = AuditQuery { resource: Some("a".to_owned()), ..all.clone() };
    assert_eq!(found(AuditQuery { after: Some(1), ..of_a.clone() }).await, [3]);
    assert_eq!(found(AuditQuery { before: Some(3), ..of_a }).await, [1]);
    assert_eq!(found(AuditQuery { after: Some(2), before: Some(1), ..all.clone() }).await, [3, 4], "`after` wins");
    let newest = turno.audit(AuditQuery { limit: 1, ..all }).await.unwrap();
    assert_eq!(newest.iter().map(|entry| entry.n).collect::<Vec<_>>(), [4]);
}

async fn purged_items_are_counted_and_audited(world: World) {
    let policy = Policy { retention: Span::from_secs(3_600), ..Policy::for_kind(Kind::Inbox) };
    let queue = world.queue(policy).await;
    queue.enqueue((0..5).map(|n| draft("k", &n.to_string())).collect()).await.unwrap();
    for _ in 0..3 {
        let got = take_one(&queue).await;
        queue.ack([got.reference]).await.unwrap();
    }
    let got = take_one(&queue).await;
    give_up(&queue, &got).await;
    world.turno.purge().await.unwrap();
    assert_eq!(queue.counts().await.unwrap().processed, 3, "items within the retention stay");
    world.advance(3_600_001);
    assert_eq!(world.turno.purge().await.unwrap().items, 3);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.processed, counts.pending), (0, 1), "unfinished items stay, however old they are");
    assert_eq!(counts.exhausted, 1, "exhausted items stay until a person retries or cancels them");
    assert_eq!(world.turno.store().unwrap().queue(queue_name()).await.unwrap().unwrap().purged, 3);
    let acts = actions(&world.turno).await;
    assert_eq!(acts, ["queue_put", "queue_purge"]);
    let again = queue.enqueue(vec![draft("k", "0")]).await.unwrap();
    assert_eq!(again[0].1, turno::core::queue::Accepted::Queued, "an id is forgotten with its item");
    world.turno.purge().await.unwrap();
    assert_eq!(actions(&world.turno).await.len(), 2, "a purge that removes nothing adds no entry");
}
