//! An application's own effect: its writes and its line are one transaction, whatever the effect does.

use super::task::{apply, line, taken};
use super::{Folder, claim, lease, store};
use crate::store::traits::*;
use crate::store::{Dialect, Effect, EffectError, EffectFuture, LineStep, LineToApply, StoreError, Tx, Value};
use crate::stores::sqlite::{SqliteStore, effect};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;
use turno_core::id::Fence;
use turno_core::task::{Goods, LineOutcome, LineStatus, Movement, TaskId};

type Applying<'a> = Pin<Box<dyn Future<Output = Result<(), EffectError>> + Send + 'a>>;

/// An effect made of a function.
struct FnEffect<F>(F);

impl<F> Effect for FnEffect<F>
where
    F: for<'a> Fn(&'a LineToApply, &'a mut dyn Tx) -> Applying<'a> + Send + Sync + 'static,
{
    fn apply<'a>(&'a self, line: &'a LineToApply, tx: &'a mut dyn Tx) -> EffectFuture<'a> {
        (self.0)(line, tx)
    }
}

fn effect_fn<F>(work: F) -> Arc<dyn Effect>
where
    F: for<'a> Fn(&'a LineToApply, &'a mut dyn Tx) -> Applying<'a> + Send + Sync + 'static,
{
    Arc::new(FnEffect(work))
}

async fn started(folder: &Folder) -> (SqliteStore, TaskId, Fence) {
    let (store, _) = store(folder).await;
    store.writer.run(|db| Ok(db.execute_batch("create table ledger (sku text, units integer unique)")?)).await.unwrap();
    let (id, fence) = taken(&store, vec![line(Movement::In, "bolt", Goods::Quantity(7))]).await;
    (store, id, fence)
}

async fn rows(store: &SqliteStore) -> i64 {
    let count = |db: &mut rusqlite::Connection| Ok(db.query_row("select count(*) from ledger", [], |row| row.get(0))?);
    store.writer.run(count).await.unwrap()
}

async fn status(store: &SqliteStore, id: TaskId) -> LineStatus {
    store.task(id).await.unwrap().unwrap().lines[0].status
}

const ADD: &str = "insert into ledger (units, sku) values ($2, $1)";

fn bolts(units: i64) -> [Value; 2] {
    [Value::Text("bolt".into()), Value::Int(units)]
}

#[tokio::test]
async fn an_effect_writes_and_reads_in_the_transaction_of_its_line() {
    let folder = Folder::new();
    let (store, id, fence) = started(&folder).await;
    let effect = effect_fn(move |line, tx| {
        Box::pin(async move {
            assert_eq!((line.task, line.fence, line.by.as_str(), tx.dialect()), (id, fence, "ana", Dialect::Sqlite));
            assert_eq!(tx.execute(ADD, &bolts(line.line.goods.units())).await?, 1);
            let found = tx.query("select sku, units, units > $1, null, 0.5 from ledger", &[Value::Bool(true)]).await?;
            let expected = [bolts(7).to_vec(), vec![Value::Int(1), Value::Null, Value::Real(0.5)]].concat();
            assert_eq!(found, [expected]);
            assert_eq!(tx.execute("select 1", &[]).await?, 0);
            Ok(())
        })
    });
    let passes_over = effect_fn(|_, tx| {
        Box::pin(async move {
            for (text, values) in [("select $2", 1), ("select ?1", 1), ("select $1", 2), ("select 1; select 2", 0)] {
                let refused = tx.query(text, &bolts(1)[..values]).await;
                assert!(matches!(refused, Err(StoreError::Rejected(_))), "{text}: {refused:?}");
            }
            Ok(())
        })
    });
    let went_on = store.apply_line(apply(id, 1, fence), Some(passes_over)).await;
    assert!(matches!(&went_on, Err(StoreError::Rejected(cause)) if cause.text.contains("went on")), "{went_on:?}");
    let step = store.apply_line(apply(id, 1, fence), Some(effect.clone())).await;
    assert_eq!(step, Ok(LineStep::Settled(LineOutcome::Applied)));
    assert_eq!((rows(&store).await, status(&store, id).await), (1, LineStatus::Applied));
    let again = store.apply_line(apply(id, 1, fence), Some(effect)).await;
    assert_eq!(again, Ok(LineStep::Settled(LineOutcome::Applied)));
    assert_eq!(rows(&store).await, 1, "the effect is applied once");
}

#[tokio::test]
async fn an_effect_cannot_end_its_transaction_or_change_the_connection() {
    let folder = Folder::new();
    let (store, id, fence) = started(&folder).await;
    let effect = effect_fn(|_, tx| {
        Box::pin(async move {
            tx.execute(ADD, &bolts(1)).await?;
            let texts = [
                "commit",
                "END",
                "rollback",
                "begin",
                "savepoint mine",
                "release effect",
                "rollback to effect",
                "pragma foreign_keys = on",
                "attach ':memory:' as other",
            ];
            for text in texts {
                let refused = tx.execute(text, &[]).await;
                assert!(
                    matches!(&refused, Err(StoreError::Rejected(why)) if why.text.contains("the transaction is the line's")),
                    "{text}: {refused:?}"
                );
            }
            Err(EffectError::Store(StoreError::Unavailable("as if it had failed".into())))
        })
    });
    let step = store.apply_line(apply(id, 1, fence), Some(effect)).await;
    assert_eq!(step, Err(StoreError::Unavailable("as if it had failed".into())));
    assert_eq!((rows(&store).await, status(&store, id).await), (0, LineStatus::Pending));
}

#[tokio::test]
async fn an_effect_statement_that_rolls_back_fails_the_line() {
    let folder = Folder::new();
    let (store, id, fence) = started(&folder).await;
    let effect = effect_fn(|_, tx| {
        Box::pin(async move {
            tx.execute(ADD, &bolts(1)).await?;
            // The effect ignores the error and returns success.
            let _ = tx.execute("insert or rollback into ledger (sku, units) values ($1, $2)", &bolts(1)).await;
            Ok(())
        })
    });
    let step = store.apply_line(apply(id, 1, fence), Some(effect)).await;
    assert!(matches!(&step, Err(StoreError::Rejected(why)) if why.text.contains("rolled everything back")), "{step:?}");
    assert_eq!((rows(&store).await, status(&store, id).await), (0, LineStatus::Pending));
}

#[tokio::test]
async fn a_line_whose_caller_is_gone_is_rolled_back_and_the_next_write_runs() {
    let folder = Folder::new();
    let (store, id, fence) = started(&folder).await;
    let written = Arc::new(Notify::new());
    let effect = effect_fn({
        let written = written.clone();
        move |_, tx| {
            let written = written.clone();
            Box::pin(async move {
                tx.execute(ADD, &bolts(1)).await?;
                written.notify_one();
                std::future::pending().await
            })
        }
    });
    let line = store.apply_line(apply(id, 1, fence), Some(effect));
    tokio::select! {
        step = line => panic!("{step:?}"),
        () = written.notified() => {}
    }
    lease(&store, vec![claim("next", "luis")]).await;
    assert_eq!((rows(&store).await, status(&store, id).await), (0, LineStatus::Pending));
}

#[tokio::test]
async fn an_effect_that_never_returns_is_given_up_at_its_time_limit() {
    let folder = Folder::new();
    let (store, id, fence) = started(&folder).await;
    let effect = effect_fn(|_, tx| {
        Box::pin(async move {
            tx.execute(ADD, &bolts(1)).await?;
            std::future::pending().await
        })
    });
    let step = effect::apply(&store, apply(id, 1, fence), effect, Duration::from_millis(30)).await;
    assert!(matches!(&step, Err(StoreError::Rejected(why)) if why.text.contains("not done within")), "{step:?}");
    assert_eq!((rows(&store).await, status(&store, id).await), (0, LineStatus::Pending));
}

#[tokio::test]
async fn an_effect_statement_that_never_ends_is_given_up_at_the_time_limit() {
    let folder = Folder::new();
    let (store, id, fence) = started(&folder).await;
    let endless =
        "insert into ledger with recursive n (i) as (select 1 union all select i + 1 from n) select 'x', i from n";
    let effect = effect_fn(move |_, tx| {
        Box::pin(async move { tx.execute(endless, &[]).await.map(drop).map_err(EffectError::from) })
    });
    let step = effect::apply(&store, apply(id, 1, fence), effect, Duration::from_millis(30)).await;
    assert!(matches!(&step, Err(StoreError::Rejected(why)) if why.text.contains("not done within")), "{step:?}");
    assert_eq!((rows(&store).await, status(&store, id).await), (0, LineStatus::Pending));
}

/// The runtime's only thread is blocked, so none of its timers can fire.
#[tokio::test]
async fn an_effect_that_blocks_its_thread_is_given_up_by_the_writer() {
    let folder = Folder::new();
    let (store, id, fence) = started(&folder).await;
    let store = Arc::new(store);
    let effect = effect_fn({
        let store = store.clone();
        move |_, tx| {
            let store = store.clone();
            Box::pin(async move {
                tx.execute(ADD, &bolts(1)).await?;
                let (freed, frees) = std::sync::mpsc::channel();
                // A job behind this line runs only once the line has been given up.
                let mut behind = store.writer.run(move |_| Ok(freed.send(())));
                let accepted = std::future::poll_fn(|context| Poll::Ready(behind.as_mut().poll(context).is_pending()));
                assert!(accepted.await);
                frees.recv_timeout(Duration::from_secs(20)).expect("the writer gives up the line");
                Ok(())
            })
        }
    });
    let step = effect::apply(&store, apply(id, 1, fence), effect, Duration::from_millis(30)).await;
    assert!(matches!(&step, Err(StoreError::Rejected(why)) if why.text.contains("not done within")), "{step:?}");
    assert_eq!((rows(&store).await, status(&store, id).await), (0, LineStatus::Pending));
}
