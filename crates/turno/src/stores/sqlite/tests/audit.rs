//! The audit is protected against accidental changes.

use super::calls::{enqueue, id, item, queue};
use super::{Folder, claim, command, commit_one, lease, store};
use crate::store::traits::*;
use crate::store::{AuditQuery, Group, ManageGroup, PauseQueue};
use crate::stores::sqlite::SqliteStore;
use turno_core::audit::{Actor, Entry};
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
    store.pause_queue(PauseQueue { queue: jobs.id, paused: true, by: ana() }).await.unwrap();
    store.pause_queue(PauseQueue { queue: jobs.id, paused: false, by: ana() }).await.unwrap();
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
