//! The receivers of `docs/guides/push.md`, exactly as printed there.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::cases;
use crate::push::item_in;
use crate::queue::add;
use crate::world::{Running, World};
use reqwest::Method;
use serde_json::json;

cases![the_guides_python_receiver_accepts_only_signed_calls, the_guides_javascript_receiver_accepts_only_signed_calls];

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/push.md");

/// Returns the secrets that the page exports for the server and for the receiver.
fn secrets() -> [String; 2] {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let exports: Vec<&str> = page.lines().filter(|line| line.starts_with("export ")).collect();
    let script = format!("{}\necho \"$TURNO_PUSH_SECRET_BOT $RECEIVER_SECRET\"", exports.join("\n"));
    let output = Command::new("sh").args(["-ec", &script]).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let (server, receiver) = output.trim_end().split_once(' ').expect("both are exported");
    assert!(server.len() > 32 && server.starts_with("whsec_"), "the secret is long enough: {server}");
    [server.to_owned(), receiver.to_owned()]
}

/// A receiver process. Dropping it ends the process.
struct Guided {
    child: Child,
    base: String,
    stdout: BufReader<ChildStdout>,
    /// The server's secret, as the page exports it.
    secret: String,
}

impl Drop for Guided {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Guided {
    /// Starts the page's code block in this language. Returns `None` if the language is not installed.
    fn start(language: &str, program: &str, arguments: &[&str]) -> Option<Guided> {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let blocks = page.split("```").skip(1).step_by(2);
        let code = blocks.filter_map(|block| block.strip_prefix(&format!("{language}\n"))).next().unwrap().to_owned();
        let [secret, receiver] = secrets();
        let mut command = Command::new(program);
        command.args(arguments).arg(code).env("RECEIVER_SECRET", receiver).env("PORT", "0");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().ok()?;
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let base = line.trim_end().strip_prefix("listening on ").expect("the receiver prints its address").to_owned();
        Some(Guided { child, base, stdout, secret })
    }
}

async fn accepts_only_signed_calls(world: World, guided: Option<Guided>) {
    // CI has both languages. Elsewhere only the installed ones are checked.
    let Some(mut guided) = guided else { return assert!(std::env::var("CI").is_err(), "CI has python3 and node") };
    let server = Running::with(&world.url, &[], &[("TURNO_PUSH_SECRET_BOT", &guided.secret)]);
    let eva = world.client("eva").await.at(&server);
    let push = json!({ "url": format!("{}/{{key}}", guided.base), "secret_env": "TURNO_PUSH_SECRET_BOT" });
    let put = json!({ "kind": "lane", "window_ms": 0, "push": push });
    eva.send(Method::PUT, "/v1/queues/bot", put).await.expect(200);
    add(&eva, "bot", json!({ "id": "m-1", "key": "ana", "payload": "hola" })).await;
    item_in(&eva, "bot", "m-1", "processed").await;
    let mut line = String::new();
    guided.stdout.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), "ana m-1 hola");
    let forged = reqwest::Client::new()
        .post(&guided.base)
        .header("webhook-id", "msg_1_1")
        .header("webhook-timestamp", "1700000000")
        .header("webhook-signature", "v1,AAAA")
        .body(r#"{"queue":"bot","key":"ana","fence":9,"items":[]}"#);
    assert_eq!(forged.send().await.unwrap().status(), 401);
}

async fn the_guides_python_receiver_accepts_only_signed_calls(world: World) {
    accepts_only_signed_calls(world, Guided::start("python", "python3", &["-c"])).await;
}

async fn the_guides_javascript_receiver_accepts_only_signed_calls(world: World) {
    accepts_only_signed_calls(world, Guided::start("js", "node", &["--input-type=module", "--eval"])).await;
}
