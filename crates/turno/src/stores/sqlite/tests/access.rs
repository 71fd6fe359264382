//! A group that was authorised before access changed.

use super::{Folder, claim, commit_one, store};
use crate::store::traits::*;
use crate::store::{AccessGroup, Group, LeaseGroup, StoreError};
use std::sync::Arc;
use turno_core::access::{Change, Epoch, Role};
use turno_core::id::UserId;

#[tokio::test]
async fn a_group_under_another_epoch_is_not_stored() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let (store, other) = (store, self::store(&folder).await.0);
    let user = UserId::new("root").unwrap();
    let group = || Group::Lease(LeaseGroup { commands: vec![claim("a", "ana")] });
    let wish = Change::AddPerson { id: user, name: "Root".into(), role: Role::Admin, password: None };
    commit_one(&other, Group::Access(Box::new(AccessGroup { by: None, wish }))).await;
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
