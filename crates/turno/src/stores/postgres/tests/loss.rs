//! Lost connections, killed servers, poolers, and commands that the server refuses.

use super::super::connection::Address;
use super::super::error::TripError;
use super::proxy::Proxy;
use super::*;
use std::sync::atomic::Ordering;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Opens a store through a proxy that sees every statement's text.
pub(super) async fn through_proxy(url: &str) -> (PostgresStore, Proxy) {
    let (head, tail) = url.split_once("127.0.0.1:").unwrap();
    let (port, database) = tail.split_once('/').unwrap();
    let proxy = Proxy::to(port.parse().unwrap()).await;
    let store = store_at(&format!("{head}127.0.0.1:{}/{database}", proxy.port)).await;
    // Sent as text, so that the proxy can recognise the commit.
    store.address.unprepared.store(true, Ordering::Relaxed);
    (store, proxy)
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_recognised_as_committed() {
    let url = Cluster::for_tests().fresh_database().await;
    let (store, proxy) = through_proxy(&url).await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    proxy.cut(true);
    let accepted = enqueue(&store, &queue, vec![new_item("a", None, "{}")]).await;
    assert!(!proxy.is_armed());
    assert_eq!(accepted, [Accepted::Queued]);
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.body").await, 1);
    proxy.cut(true);
    let deliveries = claim(&store, &queue, 5).await;
    assert!(!proxy.is_armed());
    assert_eq!(deliveries[0].1, ["a"], "the delivery is not lost with the answer");
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_recognised_as_not_committed() {
    let url = Cluster::for_tests().fresh_database().await;
    let (store, proxy) = through_proxy(&url).await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    proxy.cut(false);
    let lost = commit(&store, 2, enqueue_group(&queue, vec![new_item("a", None, "{}")])).await;
    assert!(!proxy.is_armed());
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.body").await, 0);
    assert_eq!(enqueue(&store, &queue, vec![new_item("a", None, "{}")]).await, [Accepted::Queued]);
}

#[tokio::test]
async fn the_store_continues_after_a_killed_server_restarts() {
    let mut cluster = Cluster::start().unwrap();
    let url = cluster.fresh_database().await;
    let store = store_at(&url).await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![new_item("a", None, "{}")]).await;
    let life = store.address.connect().await.unwrap().life.clone();
    cluster.kill().unwrap();
    let down = commit(&store, 2, enqueue_group(&queue, vec![new_item("b", None, "{}")])).await;
    assert!(matches!(down, Err(StoreError::Unavailable(_))), "{down:?}");
    cluster.restart().unwrap();
    enqueue(&store, &queue, vec![new_item("c", None, "{}")]).await;
    let ids: Vec<_> = claim(&store, &queue, 10).await.into_iter().flat_map(|(_, ids)| ids).collect();
    assert_eq!(ids, ["a", "c"]);
    assert_ne!(store.address.connect().await.unwrap().life, life, "a crash begins another life");
    let life = store.address.connect().await.unwrap().life.clone();
    cluster.restart().unwrap();
    assert_eq!(store.address.connect().await.unwrap().life, life, "a shutdown begins no other life");
}

#[tokio::test]
async fn one_bad_item_rejects_the_whole_group() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    let items = vec![new_item("good", None, "{}"), new_item("bad", None, "\0")];
    let refused = commit(&store, 2, enqueue_group(&queue, items)).await;
    assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?}");
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.hot").await, 0);
    assert_eq!(enqueue(&store, &queue, vec![new_item("good", None, "{}")]).await, [Accepted::Queued]);
}

#[tokio::test]
async fn the_same_new_id_from_two_processes_is_a_conflict_and_then_a_duplicate() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    let client = outside(&url).await;
    let insert = "insert into turno.body values (-1, $1, 'a', null, null, '{}', 0)";
    client.batch_execute("begin").await.unwrap();
    client.execute(insert, &[&queue.id.0]).await.unwrap();
    let ours = commit(&store, 2, enqueue_group(&queue, vec![new_item("a", None, "{}")]));
    let theirs = async { client.batch_execute("commit").await.unwrap() };
    let (ours, ()) = tokio::join!(ours, theirs);
    let duplicate = vec![vec![Accepted::Duplicate { differs: false }]];
    assert!(matches!(&ours, Err(StoreError::Conflict(_))) || ours == Ok(Outcomes::Enqueue(duplicate)), "{ours:?}");
    assert_eq!(enqueue(&store, &queue, vec![new_item("a", None, "[]")]).await, [Accepted::Duplicate { differs: true }]);
}

#[tokio::test]
async fn a_pooler_without_prepared_statements_switches_calls_to_text() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![new_item("a", None, "{}")]).await;
    assert!(!store.address.unprepared.load(Ordering::Relaxed));
    // A pooler that assigns another connection has the same effect: the statements are gone.
    let link = store.routes[2].take(&store.address).await.unwrap();
    link.script("deallocate all").await.unwrap();
    link.put_back();
    enqueue(&store, &queue, vec![new_item("b", None, "{}")]).await;
    assert!(store.address.unprepared.load(Ordering::Relaxed));
    let deliveries = claim(&store, &queue, 5).await;
    let all: Vec<_> = deliveries.iter().map(|(delivery, _)| reference(&queue, delivery)).collect();
    assert_eq!(settle(&store, &queue, &all, ACK).await, [SettleOutcome::Acked, SettleOutcome::Acked]);
    assert!(decide(&store, lease("a", "ana", CLAIM)).await.unwrap().1);
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.done").await, 2);
}

/// Connects to a server on this port and returns the failure.
async fn failure_at(port: u16) -> TripError {
    let url = format!("postgres://ana:secret@127.0.0.1:{port}/turno?sslmode=disable&connect_timeout=1");
    Address::parse(&url).unwrap().connect().await.err().expect("no server admits the call")
}

/// Starts a server that answers a connection with these bytes and closes it.
async fn answering(answer: Vec<u8>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        // A second connection follows if the first one was refused because of its mark.
        while let Ok((mut client, _)) = listener.accept().await {
            client.write_all(&answer).await.unwrap();
        }
    });
    port
}

/// Encodes the server's message that ends a session.
fn fatal(code: &str, message: &str) -> Vec<u8> {
    let fields = format!("SFATAL\0VFATAL\0C{code}\0M{message}\0\0");
    let length = u32::try_from(fields.len() + 4).unwrap();
    [b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat()
}

#[tokio::test]
async fn a_refused_a_silent_and_a_broken_connection_are_lost() {
    let closed = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    let refused = failure_at(closed).await;
    assert!(refused.is_lost() && refused.code().is_none(), "{refused:?}");

    // A full backlog drops further connections, so that the next one is not answered.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    let _waiting = TcpStream::connect(address).await.unwrap();
    let silent = failure_at(address.port()).await;
    assert!(silent.is_lost() && silent.code().is_none(), "{silent:?}");

    let broken = failure_at(answering(Vec::new()).await).await;
    assert!(broken.is_lost() && broken.code().is_none(), "{broken:?}");

    let (store, url) = fresh_store().await;
    let mut link = store.address.connect().await.unwrap();
    let others = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                  where datname = current_database() and pid <> pg_backend_pid()";
    number(&outside(&url).await, others).await;
    let ended = link.roll_back().await.unwrap_err();
    assert!(ended.is_lost(), "{ended:?}");
}

#[tokio::test]
async fn a_server_in_recovery_and_a_bad_password_are_recognised_by_their_codes() {
    for (code, message) in [("57P03", "the database system is in recovery mode"), ("28P01", "no such password")] {
        let failure = failure_at(answering(fatal(code, message)).await).await;
        assert!(failure.is_lost() && failure.code() == Some(code), "{failure:?}");
        let StoreError::Unavailable(database) = StoreError::from(failure) else { panic!("{code}") };
        assert_eq!(database.code.as_deref(), Some(code));
    }
    // A standby refuses writes with this code, and the connection stays.
    let (store, _) = fresh_store().await;
    let link = store.address.connect().await.unwrap();
    let refused = link.script("begin read only; create table t ()").await.unwrap_err();
    assert_eq!((refused.is_lost(), refused.code()), (false, Some("25006")));
    assert!(matches!(StoreError::from(refused), StoreError::Unavailable(_)));
    // The words of a refusal say nothing about the connection.
    let refused = link.script("rollback; select 'connect: timed out'::int").await.unwrap_err();
    assert_eq!((refused.is_lost(), refused.code()), (false, Some("22P02")));
    let row = link.client.query_one("select 1 as n", &[]).await.unwrap();
    let missing = TripError::from(row.try_get::<_, i32>("connection").unwrap_err());
    assert!(matches!(missing, TripError::Refused { code: None, .. }), "{missing:?}");
}
