//! A busy server: the command line waits as long as the server says, within bounds.

use super::{text, turno};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Output;

/// An answer: the status, the problem's code, and `Retry-After` if there is one.
type Busy = (u16, &'static str, Option<&'static str>);

/// Runs a command against a server that gives these answers, one per request, and then succeeds. Returns the output of
/// the command and how many requests arrived.
fn ask(answers: &'static [Busy], words: &[&str]) -> (Output, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("http://{}", listener.local_addr().expect("the listener is bound"));
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.expect("a connection arrives");
            let request = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
            let _head: Vec<_> = request.lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let (status, code, after) = answers.get(number).copied().unwrap_or((200, "", None));
            let after = after.map_or_else(String::new, |after| format!("Retry-After: {after}\r\n"));
            let body =
                format!(r#"{{"code":"{code}","title":"Busy","status":{status},"state":"free","resource":"caja"}}"#);
            let length = body.len();
            // Counted before the answer, so that the count is complete when the command has ended.
            let _ = sender.send(());
            let answer = format!(
                "HTTP/1.1 {status} Status\r\nContent-Length: {length}\r\n{after}Connection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let output = turno(&[words, &["--server", &address]].concat()).env("TURNO_TOKEN", "t").output();
    (output.expect("the program was built with this test"), requests.try_iter().count())
}

const GET: [&str; 3] = ["lease", "get", "caja"];

#[test]
fn retry_after_is_waited_for_and_reported() {
    let (output, requests) = ask(&[(503, "overloaded", Some("0")), (429, "too_many_requests", Some("0"))], &GET);
    let talk = text(&output.stderr);
    assert_eq!((output.status.code(), requests), (Some(0), 3), "{talk}");
    assert!(talk.contains("is busy (503); trying again in 0s") && talk.contains("is busy (429)"), "{talk}");
}

#[test]
fn busy_server_is_asked_a_bounded_number_of_times() {
    let (output, requests) = ask(&[(503, "overloaded", Some("0")); 9], &GET);
    assert_eq!((output.status.code(), requests), (Some(1), 4), "{}", text(&output.stderr));
}

#[test]
fn long_missing_or_unsafe_wait_is_a_refusal() {
    const ANSWERS: [&[Busy]; 4] = [
        &[(503, "overloaded", Some("3600"))],
        &[(503, "overloaded", None)],
        &[(503, "overloaded", Some("soon"))],
        &[(503, "outcome_unknown", Some("0"))],
    ];
    for answers in ANSWERS {
        let (output, requests) = ask(answers, &GET);
        assert_eq!((output.status.code(), requests), (Some(1), 1), "{answers:?}: {}", text(&output.stderr));
    }
    let (output, requests) = ask(&[(503, "stopping", Some("0"))], &["healthcheck"]);
    assert_eq!((output.status.code(), requests), (Some(1), 1), "a health check does not wait");
}
