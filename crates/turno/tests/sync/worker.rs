//! A worker of an application that embeds the library: it gets the same changes as a destination of the server.

use super::*;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc;
use turno::core::queue::ItemState;
use turno::queue::{ItemQuery, Job, RunningWorker};

/// Longer than any delivery takes.
const LIMIT: Duration = Duration::from_secs(60);

/// One call of the handler: its action and row. The handler waits for the answer.
struct Call {
    action: String,
    row: Option<Value>,
    answer: tokio::sync::oneshot::Sender<()>,
}

/// Starts a worker with a background intake, and returns the calls of its handler.
async fn start(world: &World) -> (RunningWorker, mpsc::UnboundedReceiver<Call>) {
    let (calls, received) = mpsc::unbounded_channel();
    let handler = move |job: Job<Option<Value>>| {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let call = Call { action: job.action.unwrap_or_default(), row: job.payload, answer };
        calls.send(call).map_err(drop).expect("the test receives");
        async move { Ok(answered.await?) }
    };
    let awake = Turno::open(&world.url).await.unwrap();
    (awake.sync(siper()).worker(handler).await.unwrap().start().unwrap(), received)
}

async fn next(calls: &mut mpsc::UnboundedReceiver<Call>) -> Call {
    tokio::time::timeout(LIMIT, calls.recv()).await.expect("the handler is called").unwrap()
}

/// Waits until no item of the queue is unfinished.
async fn finished(world: &World) {
    let done = async { while !world.events().await.is_empty() {} };
    tokio::time::timeout(LIMIT, done).await.expect("every event finishes");
}

#[tokio::test]
async fn worker_gets_the_current_row_and_a_change_during_its_call_is_delivered_again() {
    let world = World::new().await;
    world.run(&person(42)).await;
    world.run("update siper.usuarios set nombre = 'Nuevo'").await;
    let (worker, mut calls) = start(&world).await;
    let first = next(&mut calls).await;
    assert_eq!((first.action.as_str(), &first.row.unwrap()["nombre"]), ("ACTUALIZAR", &"Nuevo".into()));
    world.run("update siper.usuarios set nombre = 'Más nuevo'").await;
    first.answer.send(()).unwrap();
    let second = next(&mut calls).await;
    assert_eq!((second.action.as_str(), &second.row.unwrap()["nombre"]), ("ACTUALIZAR", &"Más nuevo".into()));
    second.answer.send(()).unwrap();
    finished(&world).await;
    world.run("delete from siper.usuarios").await;
    let gone = next(&mut calls).await;
    assert_eq!((gone.action.as_str(), gone.row), ("DESACTIVAR", None));
    gone.answer.send(()).unwrap();
    finished(&world).await;
    worker.stop().await;
    let check = world.sync.check(false, None, |_| {}).await.unwrap();
    assert_eq!((check.differing, check.on_its_way), (0, 0), "the calls are recorded as delivered: {check:?}");
}

#[tokio::test]
async fn worker_is_not_called_for_a_row_that_left() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set nombre = 'Otro'").await;
    world.run("update siper.usuarios set algoritmo_pass = 'MD5'").await;
    let (worker, mut calls) = start(&world).await;
    finished(&world).await;
    worker.stop().await;
    assert!(calls.try_recv().is_err(), "there was nothing to send");
    let shown = world.number(&format!("select count(*) from {VIEW} where accion = 'NINGUNA'")).await;
    assert_eq!(shown, 1, "the event ends as skipped");
}

#[tokio::test]
async fn worker_is_not_called_for_an_unreadable_row_and_gets_it_after_the_repair() {
    let world = World::new().await;
    let quick = Policy { backoff: Span(1), ..policy() };
    world.turno.put_queue(siper().queue, quick).await.unwrap();
    world.run(&person(42)).await;
    world.sql.batch_execute("alter table siper.usuarios rename apellido to otro").await.unwrap();
    let (worker, mut calls) = start(&world).await;
    let failed = async {
        loop {
            let query = ItemQuery { state: Some(ItemState::Error), limit: 1, ..ItemQuery::default() };
            if let Some(record) = world.queue.items(query).await.unwrap().pop() {
                return record;
            }
        }
    };
    let record = tokio::time::timeout(LIMIT, failed).await.expect("the item waits");
    assert_eq!((record.errors.len(), record.errors[0].attempt), (1, 0), "no attempt is spent: {:?}", record.errors);
    assert!(calls.try_recv().is_err(), "the handler is not called");
    world.sql.batch_execute("alter table siper.usuarios rename otro to apellido").await.unwrap();
    let call = next(&mut calls).await;
    assert_eq!(call.row.unwrap()["apellido"], "Apellido 42");
    call.answer.send(()).unwrap();
    finished(&world).await;
    worker.stop().await;
}
