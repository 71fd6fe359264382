//! Bodies that stall, break off, have no length or are refused, and the memory they hold meanwhile.

use super::*;
use crate::http::access;
use crate::http::testing::Bench;
use futures_util::stream::{self, Stream, StreamExt};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::Notify;

type Piece = Result<Bytes, std::io::Error>;

/// A body of unknown length.
fn chunked(pieces: Vec<Piece>) -> Body {
    Body::from_stream(stream::iter(pieces))
}

/// A body that begins and never ends.
fn half_sent() -> Body {
    let first: Piece = Ok(Bytes::from_static(b"{"));
    Body::from_stream(stream::iter([first]).chain(stream::pending()))
}

fn post(path: &str, headers: &[(&str, &str)], body: Body) -> Request {
    let request = Request::builder().method("POST").uri(path);
    headers
        .iter()
        .fold(request, |request, (name, value)| request.header(*name, *value))
        .body(body)
        .expect("a valid request")
}

/// A server with the administrator Ana, and her `Authorization` header.
async fn with_ana(change: impl FnOnce(&mut App)) -> (Bench, String) {
    let bench = Bench::with(change).await;
    let ana = turno::access::NewPerson::new("ana", "Ana", turno::access::Role::Admin).expect("a valid id");
    bench.app.trusted().add_person(ana).await.expect("the person is added");
    let token = turno::access::NewToken::for_user("ana").expect("a valid id");
    let (_, secret) = bench.app.trusted().create_token(token).await.expect("the token is created");
    (bench, format!("Bearer {secret}"))
}

async fn received(bench: &Bench, request: &mut Request) -> Result<Option<Reserved>, Problem> {
    let row = access::find(request.method().as_str(), request.uri().path());
    receive(&bench.app, row, request).await
}

#[tokio::test]
async fn a_body_that_stops_coming_is_refused_in_both_languages() {
    let (bench, bearer) = with_ana(|app| app.bodies.time = Duration::from_millis(10)).await;
    for (language, text) in
        [("es", "El cuerpo de la petición no llegó a tiempo"), ("en", "The body of the request did not arrive in time")]
    {
        for path in ["/sign-in", "/v1/leases/caja:1/heartbeat", "/v1/queues/mails/items", "/v1/leases/caja:1/claim"] {
            let headers = [("authorization", bearer.as_str()), ("accept-language", language)];
            let answer = bench.send(post(path, &headers, half_sent())).await;
            assert_eq!(answer.status(), 408, "{path}");
            let body = axum::body::to_bytes(answer.into_body(), MIB).await.expect("the body is read");
            assert!(String::from_utf8_lossy(&body).contains(text), "{path}: {body:?}");
        }
    }
}

#[test]
fn every_128_kib_extend_the_deadline_by_a_second() {
    assert_eq!(extra_time(0), Duration::ZERO);
    assert_eq!(extra_time(128 * KIB), Duration::from_secs(1));
    assert_eq!(extra_time(BODY_MAX), Duration::from_secs(64));
}

#[test]
fn heartbeats_settlements_and_sign_ins_have_their_own_budgets() {
    let memory = |path: &str, size: usize| {
        let row = access::find("POST", path).expect("the route exists");
        levels(row).iter().find(|(bound, _)| size <= *bound).map(|(_, memory)| *memory)
    };
    for path in ["/v1/leases/heartbeat", "/v1/leases/a/release", "/v1/queues/q/ack", "/v1/tasks/1/finalize"] {
        assert_eq!(memory(path, 4 * KIB), Some(Memory::Connection), "{path}");
        assert_eq!(memory(path, 512 * KIB), Some(Memory::Reserved), "{path}");
        assert_eq!(memory(path, 512 * KIB + 1), Some(Memory::Usual), "{path}");
    }
    assert_eq!(memory("/v1/queues/q/items", 4 * KIB + 1), Some(Memory::Usual));
    assert_eq!((memory("/v1/queues/q/items", BODY_MAX + 1), memory("/sign-in", PUBLIC_MAX + 1)), (None, None));
    assert_eq!(
        (memory("/sign-in", 4 * KIB), memory("/sign-in", PUBLIC_MAX)),
        (Some(Memory::Connection), Some(Memory::Public))
    );
}

#[tokio::test]
async fn body_of_unknown_length_reserves_its_final_size() {
    let (bench, bearer) = with_ana(|_| {}).await;
    let headers = [("authorization", bearer.as_str())];
    let piece = || Ok(Bytes::from(vec![b' '; 2_000]));
    for (path, pieces, budget, held) in [
        ("/v1/queues/q/items", 2, &bench.app.bodies.usual, 0),
        ("/v1/queues/q/items", 3, &bench.app.bodies.usual, 6 * KIB),
        ("/v1/leases/heartbeat", 3, &bench.app.bodies.kept, 6 * KIB),
        ("/v1/leases/heartbeat", 300, &bench.app.bodies.usual, 586 * KIB),
        ("/sign-in", 3, &bench.app.bodies.public, 6 * KIB),
    ] {
        let mut request = post(path, &headers, chunked((0..pieces).map(|_| piece()).collect()));
        let memory = received(&bench, &mut request).await.expect("the body is read");
        assert_eq!(budget.reserved(), held, "{path}");
        assert_eq!(bench.app.bodies.reserved().map(|(_, bytes)| bytes).iter().sum::<usize>(), held, "{path}");
        let whole = axum::body::to_bytes(request.into_body(), MIB).await.expect("the whole body");
        assert_eq!(whole.len(), pieces * 2_000, "{path}");
        drop(memory);
        assert_eq!(budget.reserved(), 0, "{path}");
    }
}

/// Regression test: half-sent bodies once filled the rooms. A place is taken only after the body, at any size.
#[tokio::test]
async fn a_request_whose_body_is_under_way_is_in_no_room() {
    let (bench, bearer) = with_ana(|_| {}).await;
    let headers = [("authorization", bearer.as_str())];
    for path in ["/sign-in", "/v1/leases/heartbeat", "/v1/leases/caja:1/claim", "/v1/queues/q/items"] {
        for length in [1_000, 10_000] {
            let asked = Arc::new(Notify::new());
            let signal = asked.clone();
            let rest = stream::poll_fn(move |_| {
                signal.notify_one();
                Poll::Pending
            });
            let pieces = stream::iter([Bytes::from_static(b"{")]).chain(rest);
            let body = Body::new(Declared { length, pieces: Box::pin(pieces) });
            let mut answer = std::pin::pin!(bench.send(post(path, &headers, body)));
            tokio::select! {
                answer = answer.as_mut() => panic!("{path}: {answer:?}"),
                () = asked.notified() => {}
            }
            let inside = [Room::Usual, Room::Reserved, Room::Waiting].map(|room| bench.app.rooms.inside(room));
            assert_eq!(inside, [0, 0, 0], "{path} {length}");
        }
    }
}

#[tokio::test]
async fn refused_body_is_read_to_its_end_unless_the_client_expects_100_continue() {
    let (bench, bearer) = with_ana(|_| {}).await;
    for (path, bearer, code) in [
        ("/nothing", "", None),
        ("/v1/tasks", "Bearer nobody", Some(Code::Unauthenticated)),
        ("/v1/tasks", bearer.as_str(), Some(Code::TooLarge)),
        ("/sign-in", "", Some(Code::TooLarge)),
    ] {
        for expects in [false, true] {
            let read = Arc::new(AtomicUsize::new(0));
            let body = Declared { length: 9 * MIB, pieces: Box::pin(counted(read.clone(), 9)) };
            let mut headers = vec![("authorization", bearer)];
            headers.extend(expects.then_some(("expect", "100-continue")));
            let mut request = post(path, &headers, Body::new(body));
            let refused = received(&bench, &mut request).await.err().map(|problem| problem.code());
            assert_eq!(refused, code, "{path}");
            assert_eq!(read.load(Ordering::Relaxed), if expects { 0 } else { 9 }, "{path}");
        }
    }
}

/// Returns chunks of 1 MiB and counts those that are read.
fn counted(read: Arc<AtomicUsize>, pieces: usize) -> impl Stream<Item = Bytes> + Send {
    stream::iter(0..pieces).map(move |_| {
        read.fetch_add(1, Ordering::Relaxed);
        Bytes::from(vec![b' '; MIB])
    })
}

/// A body with a declared length.
struct Declared {
    length: usize,
    pieces: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
}

impl http_body::Body for Declared {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.as_mut().poll_next(cx);
        piece.map(|piece| piece.map(|data| Ok(http_body::Frame::data(data))))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.length as u64)
    }
}
