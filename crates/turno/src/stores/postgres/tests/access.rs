//! Groups that were authorised before access changed.

use super::*;
use crate::store::AccessGroup;
use turno_core::access::{Change, Epoch, Role};

#[tokio::test]
async fn a_group_of_any_kind_under_another_epoch_stores_nothing() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Lane)).await;
    let grouped = Policy { batch_max: 4, ..unwindowed(Kind::Lane) };
    let paused = QueueRow { version: 99, policy: grouped, ..queue.clone() };
    let wish =
        Change::AddPerson { id: UserId::new("eva").unwrap(), name: "Eva".into(), role: Role::Viewer, password: None };
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
