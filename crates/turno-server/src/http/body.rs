//! Reading request bodies: a request enters its room only once its body is complete (R5).
//!
//! A half-sent body occupies a connection but no place in a room. Its size and its time are bounded, and so is the
//! memory of all bodies together and of each caller's. Heartbeats, releases and settlements have a budget of their own,
//! and so do callers who have not signed in. A body of up to 4 KiB needs no budget: it costs no more than its
//! connection, so an ordinary heartbeat, claim or sign-in never waits for other bodies.
//!
//! A refused request is still read to its end, within bounds, because many clients send everything before they read the
//! answer.

mod budget;
mod unread;

use crate::texts::message::Message;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::time::Sleep;

use super::access::{Needs, Row};
use super::app::App;
use super::caller::{CallerId, SmallBody};
use super::guard;
use super::problem::{Code, Problem};
use super::room::Room;
use budget::{Budget, Reserved};
use unread::Unread;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// A body of this size costs no more than the buffers of its connection.
const SMALL_MAX: usize = 4 * KIB;
/// The largest body of a public route: a form with a name, a password and an address.
const PUBLIC_MAX: usize = 16 * KIB;
/// The largest heartbeat, release or settlement that uses its own budget: about a thousand entries. A larger one, for
/// example with long error texts, uses the budget of other requests.
const KEPT_MAX: usize = 512 * KIB;
/// The largest body that is read.
const BODY_MAX: usize = 8 * MIB;
/// How many bytes of a refused body are still read.
const DISCARDED_MAX: usize = 64 * MIB;
/// How long a refused body is still read.
const DISCARDED_TIME: Duration = Duration::from_secs(30);
/// Every this many bytes extend a body's deadline by one second.
const BYTES_PER_SECOND: u64 = 128 << 10;

/// The memory budgets for the request bodies of one server.
#[derive(Debug)]
pub(crate) struct Bodies {
    usual: Budget,
    kept: Budget,
    public: Budget,
    unread: Unread,
    /// The initial deadline of a body, and the longest wait for memory.
    time: Duration,
}

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies {
            usual: Budget::new(64 * MIB),
            kept: Budget::new(16 * MIB),
            public: Budget::new(4 * MIB),
            unread: Unread::default(),
            time: Duration::from_secs(10),
        }
    }
}

impl Bodies {
    /// Returns the reserved bytes of each budget.
    pub(crate) fn reserved(&self) -> [(&'static str, usize); 3] {
        [("usual", &self.usual), ("kept", &self.kept), ("public", &self.public)]
            .map(|(name, budget)| (name, budget.reserved()))
    }
}

/// The budget that a body's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Connection,
    Public,
    Reserved,
    Usual,
}

/// Returns the size levels of a route's bodies and the budget of each, smallest first.
fn levels(row: &Row) -> &'static [(usize, Memory)] {
    match row {
        Row { needs: Needs::Nothing, .. } => &[(SMALL_MAX, Memory::Connection), (PUBLIC_MAX, Memory::Public)],
        Row { room: Room::Reserved, .. } => {
            &[(SMALL_MAX, Memory::Connection), (KEPT_MAX, Memory::Reserved), (BODY_MAX, Memory::Usual)]
        }
        _ => &[(SMALL_MAX, Memory::Connection), (BODY_MAX, Memory::Usual)],
    }
}

/// Reads the body of a request and puts it back as a whole. If no route matches, reads and drops it.
///
/// Returns the memory reserved for the body. Keep it until the request is answered.
pub(super) async fn receive(app: &App, row: Option<&Row>, request: &mut Request) -> Result<Option<Reserved>, Problem> {
    if request.body().is_end_stream() {
        return Ok(None);
    }
    let body = std::mem::take(request.body_mut());
    let expects = request.headers().contains_key(header::EXPECT);
    let mut incoming = Incoming { body, expects, begun: false, over: false, deadline: None, time: app.bodies.time };
    let Some(row) = row else {
        incoming.discard().await;
        return Ok(None);
    };
    let read = if row.needs == Needs::Nothing {
        incoming.read_unknown(app, row, request).await
    } else {
        incoming.read(app, row, request).await
    };
    match read {
        Ok((whole, memory)) => {
            if memory.is_none() {
                request.extensions_mut().insert(SmallBody(whole.clone()));
            }
            *request.body_mut() = Body::from(whole);
            Ok(memory)
        }
        Err(problem) => {
            incoming.discard().await;
            Err(problem)
        }
    }
}

/// A body that is being read.
struct Incoming {
    body: Body,
    /// The client waits for `100 Continue` before it sends the body.
    expects: bool,
    /// The server has begun to read the body.
    begun: bool,
    /// Nothing is left to read: the body is complete, broken off or too slow.
    over: bool,
    deadline: Option<Pin<Box<Sleep>>>,
    time: Duration,
}

impl Incoming {
    /// Reads the body of an unauthenticated caller. If the same source starts too many newer ones, this read ends.
    async fn read_unknown(
        &mut self,
        app: &App,
        row: &Row,
        request: &mut Request,
    ) -> Result<(Bytes, Option<Reserved>), Problem> {
        let mut reading = app.bodies.unread.begin(CallerId::source(request));
        let read = tokio::select! {
            biased;
            read = self.read(app, row, request) => Some(read),
            () = reading.ended() => None,
        };
        read.unwrap_or_else(|| {
            self.over = true;
            Err(Problem::new(Code::TooMany))
        })
    }

    async fn read(
        &mut self,
        app: &App,
        row: &Row,
        request: &mut Request,
    ) -> Result<(Bytes, Option<Reserved>), Problem> {
        let declared = self.body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let mut held = BodyMemory { row, capacity: 0, caller: None, memory: None };
        held.grow(app, request, declared.unwrap_or(0), declared).await?;
        let mut gathered = Vec::new();
        let whole = loop {
            let Some(data) = self.next().await? else { break Bytes::from(gathered) };
            let size = gathered.len().saturating_add(data.len());
            if size > held.capacity {
                held.grow(app, request, size, declared).await?;
                // The wait for memory is not the client's fault, so the deadline starts again.
                self.deadline = None;
            }
            if gathered.is_empty() {
                if self.body.is_end_stream() {
                    break data;
                }
                gathered.reserve_exact(declared.unwrap_or(data.len()));
            }
            gathered.extend_from_slice(&data);
        };
        self.over = true;
        if let Some(memory) = &mut held.memory {
            memory.shrink(whole.len());
        }
        Ok((whole, held.memory))
    }

    /// Returns the next chunk, or `None` at the end. Refuses a body that misses its deadline.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        self.begun = true;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.time)));
        loop {
            let frame = tokio::select! {
                biased;
                frame = self.body.frame() => frame,
                () = deadline.as_mut() => {
                    self.over = true;
                    return Err(Problem::new(Code::BodyTimeout));
                }
            };
            match frame.map(|frame| frame.map(http_body::Frame::into_data)) {
                None => return Ok(None),
                Some(Ok(Ok(data))) => {
                    if !self.body.is_end_stream() {
                        let later = deadline.deadline() + extra_time(data.len());
                        deadline.as_mut().reset(later);
                    }
                    return Ok(Some(data));
                }
                // Trailers are ignored.
                Some(Ok(Err(_))) => {}
                Some(Err(_)) => {
                    self.over = true;
                    return Err(Problem::new(Code::BadBody).cause(Message::new("json-broke-off")));
                }
            }
        }
    }

    /// Reads and drops the rest of a refused body, so that a client that sends everything first sees the answer. A
    /// client that waits for `100 Continue` has sent nothing, so nothing is read.
    async fn discard(&mut self) {
        if self.over || self.expects && !self.begun {
            return;
        }
        self.deadline = None;
        let rest = async {
            let mut size = 0usize;
            while let Ok(Some(data)) = self.next().await {
                size = size.saturating_add(data.len());
                if size > DISCARDED_MAX {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(DISCARDED_TIME, rest).await;
    }
}

/// Returns how much time this many bytes add to the deadline.
fn extra_time(bytes: usize) -> Duration {
    Duration::from_micros((bytes as u64).saturating_mul(1_000_000) / BYTES_PER_SECOND)
}

/// The memory of a body that is being read.
struct BodyMemory<'a> {
    row: &'a Row,
    /// How many bytes fit.
    capacity: usize,
    /// The sender. Known once the body needs memory from a budget.
    caller: Option<CallerId>,
    memory: Option<Reserved>,
}

impl BodyMemory<'_> {
    /// Reserves memory for this many bytes, or for the declared length. A body of unknown length reserves its whole
    /// level, because bodies that wait for each other half-read could deadlock. Checks the caller before the size.
    async fn grow(
        &mut self,
        app: &App,
        request: &mut Request,
        bytes: usize,
        declared: Option<usize>,
    ) -> Result<(), Problem> {
        let levels = levels(self.row);
        let level = levels.iter().find(|(bound, _)| bytes <= *bound).copied();
        if let Some((bound, Memory::Connection)) = level {
            self.capacity = bound;
            return Ok(());
        }
        let caller = match self.caller.take() {
            Some(known) => known,
            None => guard::preview(app, self.row, request).await?,
        };
        let Some((bound, memory)) = level else {
            return Err(too_large(levels.last().map_or(BODY_MAX, |(bound, _)| *bound)));
        };
        let budget = match memory {
            Memory::Public => &app.bodies.public,
            Memory::Reserved => &app.bodies.kept,
            Memory::Connection | Memory::Usual => &app.bodies.usual,
        };
        let memory = budget.reserve(caller.clone(), declared.unwrap_or(bound), app.bodies.time).await?;
        (self.capacity, self.caller, self.memory) = (bound, Some(caller), Some(memory));
        Ok(())
    }
}

fn too_large(max: usize) -> Problem {
    let limit = if max >= MIB { format!("{} MiB", max / MIB) } else { format!("{} KiB", max / KIB) };
    Problem::new(Code::TooLarge).arg("max", limit).with("max_bytes", max)
}

#[cfg(test)]
mod tests;
