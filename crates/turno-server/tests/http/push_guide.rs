//! The receivers of `docs/guides/push.md`, as they stand there.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::cases;
use crate::push::item_in;
use crate::queue::add;
use crate::world::{Running, World};
use reqwest::Method;
use serde_json::json;

cases![
    the_receiver_of_the_guide_in_python_takes_what_is_ours_only,
    the_receiver_of_the_guide_in_javascript_takes_what_is_ours_only
];

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/push.md");

/// What the page exports for the server and for the receiver.
fn secrets() -> [String; 2] {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let exports: Vec<&str> = page.lines().filter(|line| line.starts_with("export ")).collect();
    let script = format!("{}\necho \"$TURNO_PUSH_SECRET_BOT $RECEIVER_SECRET\"", exports.join("\n"));
    let said = Command::new("sh").args(["-ec", &script]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let (server, receiver) = said.trim_end().split_once(' ').expect("both are exported");
    assert!(server.len() > 32 && server.starts_with("whsec_"), "a secret worth the name: {server}");
    [server.to_owned(), receiver.to_owned()]
}

/// A receiver that does not outlive the case.
struct Guided {
    child: Child,
    base: String,
    said: BufReader<ChildStdout>,
    /// The server's, as the page exports it.
    secret: String,
}

impl Drop for Guided {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Guided {
    /// The page's block in this language; nothing where the language is not installed.
    fn start(language: &str, program: &str, arguments: &[&str]) -> Option<Guided> {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let blocks = page.split("```").skip(1).step_by(2);
        let code = blocks.filter_map(|block| block.strip_prefix(&format!("{language}\n"))).next().unwrap().to_owned();
        let [secret, receiver] = secrets();
        let mut command = Command::new(program);
        command.args(arguments).arg(code).env("RECEIVER_SECRET", receiver).env("PORT", "0");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().ok()?;
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let base = line.trim_end().strip_prefix("listening on ").expect("it says where").to_owned();
        Some(Guided { child, base, said, secret })
    }
}

async fn takes_what_is_ours_only(world: World, guided: Option<Guided>) {
    // CI has both; elsewhere the page is checked for what is there.
    let Some(mut guided) = guided else { return assert!(std::env::var("CI").is_err(), "CI has python3 and node") };
    let server = Running::with(&world.url, &[], &[("TURNO_PUSH_SECRET_BOT", &guided.secret)]);
    let eva = world.client("eva").await.at(&server);
    let push = json!({ "url": format!("{}/{{key}}", guided.base), "secret_env": "TURNO_PUSH_SECRET_BOT" });
    let put = json!({ "kind": "lane", "window_ms": 0, "push": push });
    eva.send(Method::PUT, "/v1/queues/bot", put).await.expect(200);
    add(&eva, "bot", json!({ "id": "m-1", "key": "ana", "payload": "hola" })).await;
    item_in(&eva, "bot", "m-1", "processed").await;
    let mut line = String::new();
    guided.said.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), "ana m-1 hola");
    let forged = reqwest::Client::new()
        .post(&guided.base)
        .header("webhook-id", "msg_1_1")
        .header("webhook-timestamp", "1700000000")
        .header("webhook-signature", "v1,AAAA")
        .body(r#"{"queue":"bot","key":"ana","fence":9,"items":[]}"#);
    assert_eq!(forged.send().await.unwrap().status(), 401);
}

async fn the_receiver_of_the_guide_in_python_takes_what_is_ours_only(world: World) {
    takes_what_is_ours_only(world, Guided::start("python", "python3", &["-c"])).await;
}

async fn the_receiver_of_the_guide_in_javascript_takes_what_is_ours_only(world: World) {
    takes_what_is_ours_only(world, Guided::start("js", "node", &["--input-type=module", "--eval"])).await;
}
