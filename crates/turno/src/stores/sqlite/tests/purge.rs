//! Purges: only old rows, in bounded steps, with counts.

use super::calls::{enqueue, fail, id, item, next, queue, reference, settle};
use super::{Folder, START, claim, command, fence, lease, resource, store};
use crate::store::traits::*;
use crate::store::{AuditQuery, Past, Purge, StoreError};
use turno_core::audit::Actor;
use turno_core::id::{QueueId, QueueName, UserId};
use turno_core::lease::Action;
use turno_core::queue::{Accepted, Act, Kind, Policy};
use turno_core::time::Span;

#[tokio::test]
async fn finished_items_are_purged_with_all_their_rows_counted_and_audited() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let inbox = queue(&store, "inbox", Policy { max_attempts: 1, ..Policy::for_kind(Kind::Inbox) }).await;
    let other = queue(&store, "other", Policy::for_kind(Kind::Inbox)).await;
    enqueue(&store, &inbox, ["a", "b", "c", "d"].map(|name| item(name, None)).to_vec()).await;
    enqueue(&store, &other, vec![item("a", None)]).await;
    let act = |n| if n == 2 { fail("no route") } else { Act::Ack { through: None } };
    let first = next(&store, &inbox, 1).await.remove(0);
    settle(&store, &inbox, reference(&inbox, &first), Act::Return { error: None }).await;
    for n in 0..3 {
        let delivery = next(&store, &inbox, 1).await.remove(0);
        settle(&store, &inbox, reference(&inbox, &delivery), act(n)).await;
        manual.advance(Span(10));
    }
    let delivery = next(&store, &other, 1).await.remove(0);
    settle(&store, &other, reference(&other, &delivery), Act::Ack { through: None }).await;

    let by = Actor::user(UserId::new("eva").unwrap());
    let purge = |queue, before, limit| store.purge(Purge::Items(queue, by.clone()), START + Span(before), limit);
    let head = store.audit_head().await.unwrap();
    assert_eq!(purge(inbox.id, 0, 9).await, Ok(0), "no item is older");
    assert_eq!(store.audit_head().await.unwrap(), head, "an empty purge leaves no entry");
    assert_eq!(purge(inbox.id, 20, 1).await, Ok(1));
    assert_eq!(purge(inbox.id, 99, 9).await, Ok(1), "exhausted items stay");
    let unknown = purge(QueueId(99), 20, 9).await;
    assert_eq!(unknown, Err(StoreError::QueueGone));

    let left = async |name| store.item(inbox.id, id(name)).await.unwrap().is_some();
    assert_eq!([left("a").await, left("b").await, left("c").await, left("d").await], [false, false, true, true]);
    let row = store.queue(QueueName::new("inbox").unwrap()).await.unwrap().unwrap();
    let counts = store.counts(inbox.id).await.unwrap();
    assert_eq!((row.purged, counts.processed, counts.pending, counts.exhausted), (2, 0, 1, 1));
    assert_eq!(store.counts(other.id).await.unwrap().processed, 1);
    let rows = |db: &mut rusqlite::Connection| {
        let count = |table| db.query_row(&format!("select count(*) from {table}"), [], |row| row.get::<_, i64>(0));
        Ok([count("body")?, count("done")?, count("attempt_error")?, count("came_back")?])
    };
    assert_eq!(store.looks.run(rows).await, Ok([3, 2, 1, 0]));
    let entry = store.audit(AuditQuery { limit: 1, ..AuditQuery::default() }).await.unwrap().remove(0);
    assert_eq!((entry.action.as_str(), entry.resource.as_str(), &entry.actor), ("queue_purge", "inbox", &by));
    let detail: serde_json::Value = serde_json::from_str(&entry.detail).unwrap();
    assert_eq!(detail, serde_json::json!({ "count": 1, "before_ms": START.0 + 99 }));
    assert_eq!(enqueue(&store, &inbox, vec![item("a", None)]).await, [Accepted::Queued], "the id can be used again");
}

#[tokio::test]
async fn old_ownerships_are_purged_oldest_first() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    for (name, user) in [("b", "ana"), ("a", "luis"), ("a", "eva")] {
        let (_, state) = lease(&store, vec![claim(name, user)]).await.remove(0);
        manual.advance(Span(10));
        let release = Action::Release { fence: fence(&state), claim: None };
        lease(&store, vec![command(name, user, release)]).await;
    }
    let purge = |before, limit| store.purge(Purge::LeaseHistory, START + Span(before), limit);
    assert_eq!(purge(10, 9).await, Ok(0));
    assert_eq!(purge(30, 1).await, Ok(1));
    assert_eq!(store.history(resource("b"), Past::Newest { before: None }, 9).await.unwrap(), []);
    assert_eq!(store.history(resource("a"), Past::Newest { before: None }, 9).await.unwrap().len(), 2);
    assert_eq!(purge(30, 9).await, Ok(1));
    let left = store.history(resource("a"), Past::Newest { before: None }, 9).await.unwrap();
    assert_eq!((left.len(), left[0].at), (1, START + Span(30)));
}
