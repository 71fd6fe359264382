//! An application's own effects: what they block, what is undone, and which statements are refused.

use super::line::{APPLIED, apply, failed, new_line, on_task, shared, taken};
use super::*;
use crate::store::{Dialect, Effect, EffectError, EffectFuture, LineStep, LineToApply, Tx, Value};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;
use turno_core::lease::Refused as LeaseRefused;
use turno_core::task::{Action as TaskAction, Goods, LineError, LineStatus, Movement, Refused, TaskId};

const TABLE: &str =
    "create table app (id uuid, line int, quantity numeric, note text, at timestamptz, data jsonb, ok bool)";
const NOTE: &str = "insert into app (line, note) values ($1, $2)";

/// Writes a row, signals that, and waits until it may continue.
struct Open {
    begun: Arc<Notify>,
    go: Arc<Semaphore>,
}

impl Effect for Open {
    fn apply<'a>(&'a self, line: &'a LineToApply, tx: &'a mut dyn Tx) -> EffectFuture<'a> {
        Box::pin(async move {
            let number = Value::Int(line.line.number.into());
            tx.execute(NOTE, &[number, Value::Text("open".into())]).await?;
            self.begun.notify_one();
            let _go = self.go.acquire().await;
            Ok(())
        })
    }
}

fn open() -> (Arc<Notify>, Arc<Semaphore>, Option<Arc<dyn Effect>>) {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    (begun.clone(), go.clone(), shared(Open { begun, go }))
}

/// Runs statements one after another, then returns the result.
struct Script(Vec<&'static str>, Result<(), EffectError>);

impl Effect for Script {
    fn apply<'a>(&'a self, line: &'a LineToApply, tx: &'a mut dyn Tx) -> EffectFuture<'a> {
        Box::pin(async move {
            let number = Value::Int(line.line.number.into());
            tx.execute(NOTE, &[number, Value::Text("script".into())]).await?;
            for sql in &self.0 {
                // Some scripts run refused statements and ignore the error.
                let _ = tx.execute(sql, &[]).await;
            }
            self.1.clone()
        })
    }
}

async fn with_table(lines: u32) -> (Arc<PostgresStore>, Client, TaskId, Fence) {
    let (store, url) = fresh_store().await;
    let client = outside(&url).await;
    client.batch_execute(TABLE).await.unwrap();
    let lines = (0..lines).map(|_| new_line(Movement::In, "tv", Goods::Quantity(1))).collect();
    let (id, fence) = taken(&store, lines).await;
    (Arc::new(store), client, id, fence)
}

fn spawn_line(
    store: &Arc<PostgresStore>,
    (id, number, fence): (TaskId, u32, Fence),
    effect: Option<Arc<dyn Effect>>,
) -> tokio::task::JoinHandle<Result<LineStep, StoreError>> {
    let store = store.clone();
    tokio::spawn(async move { store.apply_line(apply(id, number, fence), effect).await })
}

const ROWS: &str = "select count(*) from app";

#[tokio::test]
async fn an_open_effect_blocks_takers_but_no_heartbeats_or_other_resources() {
    let (store, client, id, fence) = with_table(2).await;
    let (begun, go, effect) = open();
    let applying = spawn_line(&store, (id, 1, fence), effect);
    timeout(SOON, begun.notified()).await.unwrap();
    let name = id.resource().to_string();
    let beat = Action::Heartbeat { fence, idle: None, worked: true };
    let quick = async {
        assert!(decide(&store, lease(&name, "ana", beat)).await.unwrap().1, "the holder's heartbeat is not blocked");
        assert!(
            decide(&store, lease("other", "luis", CLAIM)).await.unwrap().1,
            "a claim of another resource is not blocked"
        );
        assert!(!decide(&store, lease(&name, "luis", force("now"))).await.unwrap().1, "an override is refused");
        let forced = on_task(&store, Some(id), "luis", TaskAction::Lease(force("now"))).await.answer;
        assert_eq!(forced, Err(Refused::Lease(LeaseRefused::Pinned)));
        let other = store.apply_line(apply(id, 2, fence), shared(Script(vec![], Ok(())))).await.unwrap();
        assert_eq!(other, APPLIED, "another line of the same task is applied");
    };
    timeout(AT_ONCE, quick).await.expect("none of these waits for the effect");
    assert_eq!(number(&client, ROWS).await, 1, "the open effect is not committed yet");
    go.add_permits(1);
    assert_eq!(applying.await.unwrap().unwrap(), APPLIED);
    assert_eq!(number(&client, ROWS).await, 2);
    let forced = on_task(&store, Some(id), "luis", TaskAction::Lease(force("now"))).await;
    assert!(forced.answer.is_ok(), "{:?}", forced.answer);
}

#[tokio::test]
async fn a_refused_effect_is_undone_and_the_other_lines_are_applied() {
    let (store, client, id, fence) = with_table(3).await;
    let refuse = || Err(EffectError::Refused("no room\0".into()));
    let refused = store.apply_line(apply(id, 1, fence), shared(Script(vec![], refuse()))).await.unwrap();
    assert_eq!(refused, failed(LineError::Refused { message: "no room\u{fffd}".into() }));
    let after_error = shared(Script(vec!["insert into nowhere values (1)"], refuse()));
    let refused = store.apply_line(apply(id, 2, fence), after_error).await.unwrap();
    assert!(matches!(refused, LineStep::Settled(_)), "also after a statement that failed: {refused:?}");
    assert_eq!(number(&client, ROWS).await, 0);
    assert_eq!(store.apply_line(apply(id, 3, fence), shared(Script(vec![], Ok(())))).await.unwrap(), APPLIED);
    assert_eq!(number(&client, ROWS).await, 1);
    let task = store.task(id).await.unwrap().unwrap();
    let status: Vec<_> = task.lines.iter().map(|line| line.status).collect();
    assert_eq!(status, [LineStatus::Failed, LineStatus::Failed, LineStatus::Applied]);
    assert_eq!(number(&client, "select count(*) from turno.stock").await, 0, "the ledger is not used");
}

#[tokio::test]
async fn an_effect_that_ends_its_transaction_is_rejected_and_undone() {
    let (store, client, id, fence) = with_table(1).await;
    let open = async || {
        assert_eq!(number(&client, ROWS).await, 0);
        store.task(id).await.unwrap().unwrap().lines[0].status
    };
    struct Commits;
    impl Effect for Commits {
        fn apply<'a>(&'a self, _: &'a LineToApply, tx: &'a mut dyn Tx) -> EffectFuture<'a> {
            Box::pin(async move {
                tx.execute("insert into app (line) values (1)", &[]).await?;
                tx.execute("/* now */ commit", &[]).await?;
                Ok(())
            })
        }
    }
    let failure = store.apply_line(apply(id, 1, fence), shared(Commits)).await;
    assert!(matches!(&failure, Err(StoreError::Rejected(cause)) if cause.text.contains("commit")), "{failure:?}");
    assert_eq!(open().await, LineStatus::Pending);
    // Without those words the end of the effect reveals it: the savepoint is gone, or a failed statement was ignored.
    for (sql, said) in [("release savepoint turno_effect", "release"), ("insert into nowhere values (1)", "ended")] {
        let failure = store.apply_line(apply(id, 1, fence), shared(Script(vec![sql], Ok(())))).await;
        assert!(
            matches!(&failure, Err(StoreError::Rejected(cause)) if cause.text.contains(said)),
            "{sql}: {failure:?}"
        );
        assert_eq!(open().await, LineStatus::Pending);
    }
    let failure = shared(Script(vec![], Err(EffectError::Store(StoreError::Conflict("x".into())))));
    assert_eq!(store.apply_line(apply(id, 1, fence), failure).await, Err(StoreError::Conflict("x".into())));
    assert_eq!(open().await, LineStatus::Pending);
    assert_eq!(store.apply_line(apply(id, 1, fence), shared(Script(vec![], Ok(())))).await.unwrap(), APPLIED);
}

#[tokio::test]
async fn a_dropped_finalize_rolls_back_and_unlocks_the_task() {
    let (store, client, id, fence) = with_table(1).await;
    let (begun, _go, effect) = open();
    let applying = spawn_line(&store, (id, 1, fence), effect);
    timeout(SOON, begun.notified()).await.unwrap();
    applying.abort();
    assert!(applying.await.unwrap_err().is_cancelled());
    let sessions = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in%'";
    let none = async { while number(&client, sessions).await > 0 {} };
    timeout(SOON, none).await.expect("the transaction ends");
    assert_eq!(number(&client, ROWS).await, 0);
    let forced = on_task(&store, Some(id), "luis", TaskAction::Lease(force("now"))).await;
    assert!(forced.answer.is_ok(), "{:?}", forced.answer);
}

#[tokio::test]
async fn an_effect_over_its_time_limit_is_undone_and_reported() {
    let (store, client, id, fence) = with_table(1).await;
    let mut store = Arc::into_inner(store).unwrap();
    store.effect_max = std::time::Duration::from_millis(50);
    let (_begun, _go, effect) = open();
    let late = store.apply_line(apply(id, 1, fence), effect).await;
    assert!(
        matches!(&late, Err(StoreError::Rejected(cause)) if cause.text.contains("took longer than 50ms")),
        "{late:?}"
    );
    assert_eq!(number(&client, ROWS).await, 0);
    store.effect_max = SOON;
    assert_eq!(store.apply_line(apply(id, 1, fence), shared(Script(vec![], Ok(())))).await.unwrap(), APPLIED);
}

/// Passes values of every kind in both directions, with the types that the server expects.
struct Values;

impl Effect for Values {
    fn apply<'a>(&'a self, line: &'a LineToApply, tx: &'a mut dyn Tx) -> EffectFuture<'a> {
        Box::pin(async move {
            assert_eq!(tx.dialect(), Dialect::Postgres);
            let text = |text: &str| Value::Text(text.into());
            let row = [
                text("0193e4a0-0000-7000-8000-000000000001"),
                Value::Int(line.line.number.into()),
                Value::Real(2.5),
                Value::Null,
                text("2026-01-02 03:04:05+00"),
                text(r#"{"a": [1]}"#),
                Value::Bool(true),
            ];
            let added = tx.execute("insert into app values ($1, $2, $3, $4, $5, $6, $7)", &row).await?;
            assert_eq!(added, 1);
            let sql =
                "select line, quantity::text, note, data->>'a', ok, 1.5::float4, 7::int2, id::text, count(*) over ()
                       from app where id = $1 and line < $2";
            let rows = tx.query(sql, &[row[0].clone(), Value::Int(9)]).await?;
            let read = [Value::Int(1), text("2.5"), Value::Null, text("[1]"), Value::Bool(true), Value::Real(1.5)];
            assert_eq!(rows[0][..6], read);
            assert_eq!(rows[0][6..], [Value::Int(7), row[0].clone(), Value::Int(1)]);
            let refused = tx.query("select quantity from app", &[]).await;
            assert!(
                matches!(&refused, Err(StoreError::Rejected(cause)) if cause.text.contains("quantity::text")),
                "{refused:?}"
            );
            assert_eq!(tx.query("update app set line = 2", &[]).await?, Vec::<Vec<Value>>::new());
            Ok(())
        })
    }
}

#[tokio::test]
async fn an_effects_values_convert_to_the_servers_types() {
    let (store, client, id, fence) = with_table(1).await;
    assert_eq!(store.apply_line(apply(id, 1, fence), shared(Values)).await.unwrap(), APPLIED);
    assert_eq!(number(&client, "select count(*) from app where line = 2").await, 1);
}
