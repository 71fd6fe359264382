//! The audit: one chain over all audited changes, protected against accidental changes.

use super::calls::{enqueue, id, item, queue};
use super::{Folder, START, claim, command, commit_one, lease, store};
use crate::store::{AuditQuery, Group, ManageGroup, Store};
use crate::stores::sqlite::SqliteStore;
use turno_core::audit::{Actor, Entry, Verifier};
use turno_core::id::UserId;
use turno_core::lease::Action;
use turno_core::queue::{Kind, Manage, Policy};
use turno_core::time::Span;

fn ana() -> Actor {
    Actor { user: UserId::new("ana").unwrap(), via: Some(UserId::new("portal").unwrap()) }
}

/// Writes six entries: a queue put, paused and resumed, two overrides in one group, and a cancelled item.
async fn filled(folder: &Folder) -> SqliteStore {
    let (store, manual) = store(folder).await;
    let jobs = queue(&store, "jobs", Policy::for_kind(Kind::Inbox)).await;
    queue(&store, "jobs", Policy::for_kind(Kind::Inbox)).await;
    manual.advance(Span(5));
    store.pause_queue(jobs.id, true, ana()).await.unwrap();
    store.pause_queue(jobs.id, false, ana()).await.unwrap();
    let force = |reason: &str| Action::ForceClaim { reason: reason.into(), fence: None };
    let commands = vec![claim("r", "luis"), command("r", "eva", force("shift")), command("r", "ana", force("again"))];
    lease(&store, commands).await;
    enqueue(&store, &jobs, vec![item("a", None)]).await;
    let (name, policy) = (jobs.name.clone(), jobs.policy.clone());
    let cancel = ManageGroup { queue: jobs.id, name, policy, id: id("a"), wish: Manage::Cancel, by: ana() };
    commit_one(&store, Group::Manage(cancel.clone())).await;
    commit_one(&store, Group::Manage(cancel)).await;
    store
}

async fn list(store: &SqliteStore, query: AuditQuery) -> Vec<Entry> {
    store.audit(AuditQuery { limit: 99, ..query }).await.unwrap()
}

#[tokio::test]
async fn all_audited_changes_form_one_chain_and_no_change_leaves_no_entry() {
    let folder = Folder::new();
    let store = filled(&folder).await;
    let entries = list(&store, AuditQuery { after: Some(0), ..AuditQuery::default() }).await;
    let words: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.resource.as_str())).collect();
    let expected = [
        ("queue_put", "jobs"),
        ("queue_pause", "jobs"),
        ("queue_resume", "jobs"),
        ("lock_force_claim", "r"),
        ("lock_force_claim", "r"),
        ("item_cancel", "jobs/a"),
    ];
    assert_eq!(words, expected);
    assert_eq!((entries[0].at, &entries[1].actor, entries[1].at), (START, &ana(), START + Span(5)));
    let detail: serde_json::Value = serde_json::from_str(&entries[0].detail).unwrap();
    assert_eq!((&detail["created"], &detail["policy"]["kind"]), (&true.into(), &"inbox".into()));
    let mut verifier = Verifier::default();
    entries.iter().for_each(|entry| verifier.follow(entry).unwrap());
    assert_eq!(verifier.end(store.audit_head().await.unwrap()), Ok(()));
}

#[tokio::test]
async fn audit_entries_are_filtered_by_number_action_actor_and_resource() {
    let folder = Folder::new();
    let store = filled(&folder).await;
    let places =
        async |query: AuditQuery| list(&store, query).await.into_iter().map(|entry| entry.n).collect::<Vec<_>>();
    let all = AuditQuery::default();
    assert_eq!(places(all.clone()).await, [6, 5, 4, 3, 2, 1]);
    assert_eq!(places(AuditQuery { before: Some(3), ..all.clone() }).await, [2, 1]);
    assert_eq!(places(AuditQuery { after: Some(4), before: Some(2), ..all.clone() }).await, [5, 6]);
    let of = AuditQuery { resource: Some("jobs".into()), ..all.clone() };
    assert_eq!(places(of.clone()).await, [3, 2, 1]);
    assert_eq!(places(AuditQuery { after: Some(1), ..of.clone() }).await, [2, 3]);
    assert_eq!(places(AuditQuery { action: Some("queue_pause".into()), ..of.clone() }).await, [2]);
    assert_eq!(places(AuditQuery { actor: Some(ana().user), ..all.clone() }).await, [6, 5, 3, 2]);
    assert_eq!(places(AuditQuery { actor: Some(ana().user), before: Some(3), ..of }).await, [2]);
    assert_eq!(store.audit(AuditQuery { limit: 1, ..all }).await.unwrap().len(), 1);
}

#[tokio::test]
async fn plain_sql_cannot_change_or_delete_audit_entries() {
    let folder = Folder::new();
    let store = filled(&folder).await;
    let before = list(&store, AuditQuery::default()).await;
    for text in [
        "update audit set detail = '{}'",
        "delete from audit where n = 6",
        "insert or replace into audit select n, at, 'eva', via, action, resource, detail, hash from audit where n = 6",
    ] {
        let refused = store.writer.run(move |db| Ok(db.execute(text, [])?)).await;
        assert!(
            matches!(&refused, Err(why) if why.to_string().contains("not changed nor removed")),
            "{text}: {refused:?}"
        );
    }
    assert_eq!(list(&store, AuditQuery::default()).await, before);
}
