//! A reader of Server-Sent Events.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// The longest line. A longer one is not an event stream of Turno.
const LINE_MAX: usize = 1_048_576;

/// A stream of live events.
pub(crate) struct Events {
    body: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    reader: Reader,
}

/// An event as it was received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The event's position, if it has one.
    pub(crate) id: Option<String>,
    /// The event's name.
    pub(crate) event: String,
    /// The event's data, as JSON.
    pub(crate) data: String,
}

impl Events {
    pub(super) fn new(response: reqwest::Response) -> Events {
        Events { body: Box::pin(response.bytes_stream()), reader: Reader::default() }
    }

    /// Returns the next event, or `None` when the connection has ended for any reason.
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

/// Parses bytes into events.
#[derive(Debug, Default)]
struct Reader {
    rest: Vec<u8>,
    building: Sent,
    done: std::collections::VecDeque<Sent>,
}

impl Reader {
    /// Parses bytes. Returns `None` if a line is too long.
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
            // Blank lines after comments end no event.
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
            // A comment, which keeps the connection alive, or an unknown field.
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
    fn events_are_parsed_at_any_chunk_size() {
        let text = ": hello\n\nid: 7\r\nevent: lease.claimed\r\ndata: {\"ñ\":\r\ndata: 1}\r\n\r\nid: 8\ndata: {}\n\n";
        for size in 1..text.len() {
            let mut reader = Reader::default();
            let mut sent = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                reader.feed(piece).expect("the lines are short");
                sent.extend(std::iter::from_fn(|| reader.take()));
            }
            let first = Sent { id: Some("7".into()), event: "lease.claimed".into(), data: "{\"ñ\":\n1}".into() };
            let second = Sent { id: Some("8".into()), event: String::new(), data: "{}".into() };
            assert_eq!(sent, [first, second], "in pieces of {size}");
        }
    }

    #[test]
    fn endless_line_is_refused() {
        assert!(Reader::default().feed(&vec![b'x'; LINE_MAX + 1]).is_none());
    }
}
