//! Server-Sent Events, read one at a time.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// One event may be this long; whoever sends more does not send events.
const LINE_MAX: usize = 1_048_576;

/// What a server sends as it happens.
pub(crate) struct Events {
    body: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    reader: Reader,
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Its position, if it has one.
    pub(crate) id: Option<String>,
    /// Its name.
    pub(crate) event: String,
    /// What it says: JSON.
    pub(crate) data: String,
}

impl Events {
    pub(super) fn new(response: reqwest::Response) -> Events {
        Events { body: Box::pin(response.bytes_stream()), reader: Reader::default() }
    }

    /// The next one; nothing when the connection has ended, however it did.
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some(sent) = self.reader.take() {
                return Some(sent);
            }
            let bytes = self.body.next().await?.ok()?;
            self.reader.feed(&bytes)?;
        }
    }
}

/// Bytes in, events out.
#[derive(Debug, Default)]
struct Reader {
    rest: Vec<u8>,
    building: Sent,
    done: std::collections::VecDeque<Sent>,
}

impl Reader {
    /// Nothing, if a line is longer than any event's.
    fn feed(&mut self, bytes: &[u8]) -> Option<()> {
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.rest);
                self.line(String::from_utf8_lossy(&line).trim_end_matches('\r'));
            } else {
                self.rest.push(byte);
            }
        }
        (self.rest.len() <= LINE_MAX).then_some(())
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let sent = std::mem::take(&mut self.building);
            // Blank lines between comments are no events.
            if sent != Sent::default() {
                self.done.push_back(sent);
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.building.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.building.event),
            "data" if self.building.data.is_empty() => value.clone_into(&mut self.building.data),
            "data" => {
                self.building.data.push('\n');
                self.building.data.push_str(value);
            }
            // A comment, which keeps the connection alive, or something that is not for us.
            _ => {}
        }
    }

    fn take(&mut self) -> Option<Sent> {
        self.done.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = ": hello\n\nid: 7\r\nevent: lease.claimed\r\ndata: {\"ñ\":\r\ndata: 1}\r\n\r\nid: 8\ndata: {}\n\n";
        for size in 1..text.len() {
            let mut reader = Reader::default();
            let mut sent = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                reader.feed(piece).expect("short lines");
                sent.extend(std::iter::from_fn(|| reader.take()));
            }
            let first = Sent { id: Some("7".into()), event: "lease.claimed".into(), data: "{\"ñ\":\n1}".into() };
            let second = Sent { id: Some("8".into()), event: String::new(), data: "{}".into() };
            assert_eq!(sent, [first, second], "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_without_end_is_no_event() {
        assert!(Reader::default().feed(&vec![b'x'; LINE_MAX + 1]).is_none());
    }
}
