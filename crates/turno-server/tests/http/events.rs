//! Live events over HTTP.

use std::time::Duration;

use crate::cases;
use crate::world::{Client, World, answer};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use turno::access::{NewToken, Permission};

cases![
    events_arrive_as_they_happen_with_their_positions,
    a_stream_goes_on_behind_the_last_event,
    a_stream_resumed_before_its_first_event_misses_nothing,
    a_position_that_is_gone_is_answered_with_reset,
    an_unknown_topic_is_refused,
    audit_events_go_only_to_listeners_with_the_permission,
    a_token_for_some_resources_gets_only_their_events,
    a_revoked_tokens_stream_ends,
    an_expired_tokens_stream_ends,
    a_stream_ends_with_bye_when_the_server_stops,
    an_event_of_one_instance_arrives_at_another,
    a_quiet_stream_sends_keep_alives_with_its_position,
];

/// Longer than any event takes, also beside many other tests.
const LIMIT: Duration = Duration::from_secs(60);

/// One block of an event stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) id: Option<i64>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<Value>,
    comment: bool,
    retry: Option<u32>,
}

/// A client of the event stream.
pub(crate) struct Listener {
    response: Response,
    text: String,
}

impl Listener {
    pub(crate) async fn open(client: &Client, path: &str) -> Listener {
        Listener::from_response(client.request(Method::GET, path).send().await.unwrap()).await
    }

    async fn behind(client: &Client, path: &str, position: &str) -> Listener {
        let request = client.request(Method::GET, path).header("last-event-id", position);
        Listener::from_response(request.send().await.unwrap()).await
    }

    async fn from_response(response: Response) -> Listener {
        assert_eq!(response.status(), 200);
        Listener { response, text: String::new() }
    }

    /// Returns the next block, or `None` after the end of the stream.
    async fn block(&mut self) -> Option<Block> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = parsed(block);
                self.text = rest.to_owned();
                return Some(block);
            }
            let chunk =
                tokio::time::timeout(LIMIT, self.response.chunk()).await.expect("a block arrives in time").unwrap();
            self.text += std::str::from_utf8(&chunk?).unwrap();
        }
    }

    /// Returns the next event.
    pub(crate) async fn event(&mut self) -> Block {
        loop {
            let block = self.block().await.expect("the stream is open");
            if block.event.is_some() {
                return block;
            }
        }
    }

    /// Returns all blocks until the stream ends.
    async fn rest(&mut self) -> Vec<Block> {
        let mut rest = Vec::new();
        while let Some(block) = self.block().await {
            rest.push(block);
        }
        rest
    }
}

fn parsed(text: &str) -> Block {
    let mut block = Block::default();
    for line in text.lines() {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        match name {
            "id" => block.id = Some(value.parse().unwrap()),
            "event" => block.event = Some(value.to_owned()),
            "data" => block.data = Some(serde_json::from_str(value).unwrap()),
            "retry" => block.retry = Some(value.parse().unwrap()),
            "" => block.comment = true,
            other => panic!("{other:?} is no field of a stream"),
        }
    }
    block
}

async fn claim(client: &Client, resource: &str) -> Value {
    client.post(&format!("/v1/leases/{resource}/claim"), json!({})).await.expect(200)
}

fn resource(block: &Block) -> &str {
    block.data.as_ref().unwrap()["resource"].as_str().unwrap()
}

async fn events_arrive_as_they_happen_with_their_positions(world: World) {
    let ana = world.client("ana").await;
    let mut listener = Listener::open(&ana, "/v1/events?topics=leases,tasks").await;
    let headers = listener.response.headers();
    assert_eq!(headers["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(
        (&headers["cache-control"], &headers["x-accel-buffering"]),
        (&"no-store".parse().unwrap(), &"no".parse().unwrap())
    );
    let hello = listener.block().await.unwrap();
    assert_eq!((hello.retry, hello.event), (Some(3_000), None));
    let first = claim(&ana, "caja:1").await;
    let claimed = listener.event().await;
    assert_eq!((claimed.event.as_deref(), resource(&claimed)), (Some("lease.claimed"), "caja:1"));
    let data = claimed.data.unwrap();
    assert_eq!((&data["topic"], &data["by"], &data["fence"]), (&json!("leases"), &json!("ana"), &first["fence"]));
    assert!(data["at"].as_str().unwrap().ends_with('Z'), "{data}");
    claim(&ana, "caja:2").await;
    let next = listener.event().await;
    assert_eq!(resource(&next), "caja:2");
    assert!(claimed.id.unwrap() > hello.id.unwrap() && next.id.unwrap() > claimed.id.unwrap());
}

async fn a_stream_goes_on_behind_the_last_event(world: World) {
    let ana = world.client("ana").await;
    let mut listener = Listener::open(&ana, "/v1/events?topics=leases").await;
    claim(&ana, "caja:1").await;
    let position = listener.event().await.id.unwrap();
    drop(listener);
    claim(&ana, "caja:2").await;
    claim(&ana, "caja:3").await;
    let mut by_header = Listener::behind(&ana, "/v1/events?topics=leases", &position.to_string()).await;
    let mut by_query = Listener::open(&ana, &format!("/v1/events?topics=leases&last_event_id={position}")).await;
    for listener in [&mut by_header, &mut by_query] {
        assert_eq!(resource(&listener.event().await), "caja:2");
        assert_eq!(resource(&listener.event().await), "caja:3");
    }
}

async fn a_stream_resumed_before_its_first_event_misses_nothing(world: World) {
    let ana = world.client("ana").await;
    let hello = Listener::open(&ana, "/v1/events?topics=leases").await.block().await.unwrap();
    claim(&ana, "caja:1").await;
    let mut again = Listener::behind(&ana, "/v1/events?topics=leases", &hello.id.unwrap().to_string()).await;
    assert_eq!(resource(&again.event().await), "caja:1");
}

async fn a_position_that_is_gone_is_answered_with_reset(world: World) {
    let ana = world.client("ana").await;
    for gone in ["999999999", "-5", "nonsense"] {
        let mut listener = Listener::behind(&ana, "/v1/events?topics=leases", gone).await;
        let hello = listener.block().await.unwrap();
        assert_eq!(hello.id, None, "the position is kept until the reset is sent");
        let reset = listener.event().await;
        assert_eq!(reset.event.as_deref(), Some("reset"), "{gone}");
        assert_eq!(reset.data.unwrap()["position"], json!(reset.id));
        claim(&ana, "caja:1").await;
        let next = listener.event().await;
        assert!(next.id > reset.id, "the stream goes on from the reset");
        let held = ana.get("/v1/leases/caja:1").await.expect(200);
        world.turno.lease_command(released(&world, held["fence"].as_i64().unwrap())).await.unwrap().answer.unwrap();
    }
}

/// Returns the command that releases Ana's lease.
fn released(world: &World, fence: i64) -> turno::core::lease::Command {
    let action = turno::lease::Action::Release { fence: turno::core::id::Fence(fence), claim: None };
    world.turno.command("caja:1", "ana", action).unwrap()
}

async fn an_unknown_topic_is_refused(world: World) {
    let ana = world.client("ana").await;
    for topics in ["lease", "leases,", "leases,nada", ""] {
        ana.get(&format!("/v1/events?topics={topics}")).await.problem(400, "bad_query");
    }
    ana.get("/v1/events?topic=leases").await.problem(400, "bad_query");
    world.anonymous().get("/v1/events").await.problem(401, "unauthenticated");
}

async fn audit_events_go_only_to_listeners_with_the_permission(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let refused = ana.get("/v1/events?topics=leases,audit").await.problem(403, "forbidden");
    assert_eq!(refused["permission"], "audit.read");
    let mut all = Listener::open(&ana, "/v1/events").await;
    let mut audit = Listener::open(&eva, "/v1/events?topics=audit").await;
    eva.post("/v1/users", json!({ "id": "nuevo", "role": "viewer" })).await.expect(201);
    claim(&ana, "caja:1").await;
    let heard = loop {
        // An earlier audit event may have got its position after the listener subscribed.
        let heard = audit.event().await;
        assert_eq!(heard.event.as_deref(), Some("audit.recorded"));
        if resource(&heard) == "nuevo" {
            break heard;
        }
    };
    assert_eq!(heard.data.unwrap()["detail"], "user_add");
    assert_eq!(resource(&all.event().await), "caja:1", "audit events are left out for an editor");
}

async fn a_token_for_some_resources_gets_only_their_events(world: World) {
    let ana = world.client("ana").await;
    let resources = vec!["caja:".to_owned(), "puerta:".to_owned()];
    let confined = world.token(NewToken { resources, ..NewToken::for_user("eva").unwrap() }).await;
    let mut listener = Listener::open(&confined, "/v1/events").await;
    for other in ["otra:1", "caja:1", "xcaja:2", "puerta:1"] {
        claim(&ana, other).await;
    }
    world.client("eva").await.post("/v1/users", json!({ "id": "nuevo", "role": "viewer" })).await.expect(201);
    claim(&ana, "caja:3").await;
    let heard = [listener.event().await, listener.event().await, listener.event().await];
    assert_eq!(heard.each_ref().map(resource), ["caja:1", "puerta:1", "caja:3"]);
}

async fn a_revoked_tokens_stream_ends(world: World) {
    let eva = world.client("eva").await;
    let made = eva.post("/v1/tokens", json!({ "user": "ana" })).await.expect(201);
    let ana = Client::new(&world.server.base, Some(made["token"].as_str().unwrap().to_owned()));
    let mut listener = Listener::open(&ana, "/v1/events").await;
    let mut other = Listener::open(&world.client("ana").await, "/v1/events").await;
    eva.delete(&format!("/v1/tokens/{}", made["id"].as_str().unwrap())).await.expect(204);
    let rest = listener.rest().await;
    let last = rest.last().unwrap();
    assert_eq!((last.event.as_deref(), &last.data), (Some("bye"), &Some(json!({ "reason": "signed_out" }))));
    // The control: the stream of another token of the same person goes on.
    claim(&world.client("leo").await, "caja:1").await;
    assert_eq!(resource(&other.event().await), "caja:1");
}

async fn an_expired_tokens_stream_ends(world: World) {
    let eva = world.client("eva").await;
    let made = eva.post("/v1/sessions", json!({ "user": { "id": "u" }, "ttl_s": 1 })).await.expect(201);
    let page = Client::new(&world.server.base, Some(made["token"].as_str().unwrap().to_owned()));
    let mut listener = Listener::open(&page, "/v1/events?topics=leases").await;
    let rest = listener.rest().await;
    assert_eq!(rest.last().unwrap().event.as_deref(), Some("bye"));
    page.get("/v1/me").await.problem(401, "unauthenticated");
}

async fn a_stream_ends_with_bye_when_the_server_stops(mut world: World) {
    let scope = Some([Permission::LeasesUse].into_iter().collect());
    let client = world.token(NewToken { scope, ..NewToken::for_user("ana").unwrap() }).await;
    let mut listener = Listener::open(&client, "/v1/events?topics=leases").await;
    listener.block().await.unwrap();
    assert_eq!(world.server.stop(), Some(0));
    let rest = listener.rest().await;
    let last = rest.last().unwrap();
    assert_eq!((last.event.as_deref(), &last.data), (Some("bye"), &Some(json!({ "reason": "stopping" }))));
}

async fn an_event_of_one_instance_arrives_at_another(world: World) {
    let second = world.second();
    let ana = world.client("ana").await;
    let mut listener = Listener::open(&ana.at(&second), "/v1/events?topics=leases").await;
    claim(&ana, "caja:1").await;
    let heard = listener.event().await;
    assert_eq!((heard.event.as_deref(), resource(&heard)), (Some("lease.claimed"), "caja:1"));
}

async fn a_quiet_stream_sends_keep_alives_with_its_position(world: World) {
    let ana = world.client("ana").await;
    let request = ana.request(Method::GET, "/v1/events?topics=sync");
    let mut listener = Listener::from_response(request.send().await.unwrap()).await;
    let hello = listener.block().await.unwrap();
    // Events that this listener may not see still move its position.
    claim(&ana, "caja:1").await;
    let comment = listener.block().await.unwrap();
    assert!(comment.comment && comment.event.is_none() && comment.data.is_none(), "{comment:?}");
    assert!(comment.id > hello.id, "{comment:?} after {hello:?}");
    drop(answer(ana.request(Method::HEAD, "/v1/events").send().await.unwrap()).await);
}
