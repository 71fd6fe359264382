//! Bodies on their way in: a request enters its room only once its body is there (R5).
//!
//! A half-sent body costs its sender a connection and costs nobody else a place. Its size and its time are bounded, and so
//! is the memory of all bodies together and of one caller's. Heartbeats, releases and settlements have memory of their
//! own, and so do callers who have not signed in. A body of up to 4 KiB needs no memory from any budget: it costs no more
//! than its connection, so an ordinary heartbeat, claim or sign-in never waits for other bodies.
//!
//! A request that is refused is still read to its end, within bounds, because many clients send everything before they
//! read the answer.

mod budget;
mod unread;

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
use super::caller::CallerId;
use super::guard;
use super::problem::{Code, Problem};
use super::room::Room;
use budget::{Budget, Reserved};
use unread::Unread;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// A body of this size costs no more than the buffers of its connection.
const SMALL_MAX: usize = 4 * KIB;
/// The largest body without signing in: a form with a name, a password and an address.
const PUBLIC_MAX: usize = 16 * KIB;
/// The largest heartbeat, release or settlement that has memory of its own: a thousand entries. A larger one, as of long
/// error texts, uses the memory of other requests.
const KEPT_MAX: usize = 512 * KIB;
/// The largest body that is read.
const BODY_MAX: usize = 8 * MIB;
/// So much of a refused body is still read.
const DISCARDED_MAX: usize = 64 * MIB;
/// For so long a refused body is still read.
const DISCARDED_TIME: Duration = Duration::from_secs(30);
/// A body earns a second with every so many bytes.
const BYTES_PER_SECOND: u64 = 128 << 10;

/// The bodies of one server that are under way or being answered.
#[derive(Debug)]
pub(crate) struct Bodies {
    usual: Budget,
    kept: Budget,
    public: Budget,
    unread: Unread,
    /// How long a body may take before it has earned any time, and how long it may wait for memory.
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
    /// The bytes that are reserved, by the name of their budget.
    pub(crate) fn reserved(&self) -> [(&'static str, usize); 3] {
        [("usual", &self.usual), ("kept", &self.kept), ("public", &self.public)]
            .map(|(name, budget)| (name, budget.reserved()))
    }
}

/// Where the memory for a body comes from, by its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Connection,
    Public,
    Kept,
    Usual,
}

/// The bounds of a route's bodies and where the memory up to each comes from, the smallest first.
fn levels(row: &Row) -> &'static [(usize, Memory)] {
    match row {
        Row { needs: Needs::Nobody, .. } => &[(SMALL_MAX, Memory::Connection), (PUBLIC_MAX, Memory::Public)],
        Row { room: Room::Kept, .. } => {
            &[(SMALL_MAX, Memory::Connection), (KEPT_MAX, Memory::Kept), (BODY_MAX, Memory::Usual)]
        }
        _ => &[(SMALL_MAX, Memory::Connection), (BODY_MAX, Memory::Usual)],
    }
}

/// Reads the body of a request and puts it back whole. A body that no route takes is read and dropped.
///
/// Returns the memory that the body holds; keep it until the request is answered.
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
    let read = if row.needs == Needs::Nobody {
        incoming.read_unknown(app, row, request).await
    } else {
        incoming.read(app, row, request).await
    };
    match read {
        Ok((whole, memory)) => {
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
    /// The client waits for the server to ask for the body, and has not sent it yet.
    expects: bool,
    /// The server has asked for the body.
    begun: bool,
    /// Nothing more is worth reading: all is there, or the rest did not come in time.
    over: bool,
    deadline: Option<Pin<Box<Sleep>>>,
    time: Duration,
}

impl Incoming {
    /// Reads the body of a caller who need not sign in, unless newer ones of the same source end it.
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
        let mut held = Held { row, room: 0, caller: None, memory: None };
        held.grow(app, request, declared.unwrap_or(0), declared).await?;
        let mut gathered = Vec::new();
        let whole = loop {
            let Some(data) = self.next().await? else { break Bytes::from(gathered) };
            let size = gathered.len().saturating_add(data.len());
            if size > held.room {
                held.grow(app, request, size, declared).await?;
                // The wait for memory was no fault of the client.
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

    /// Returns the next piece, or `None` at the end. Refuses a body that is slower than its time.
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
                        let later = deadline.deadline() + earned(data.len());
                        deadline.as_mut().reset(later);
                    }
                    return Ok(Some(data));
                }
                // Trailers say nothing that is asked for.
                Some(Ok(Err(_))) => {}
                Some(Err(_)) => {
                    self.over = true;
                    let cause = "the body broke off before its end; send all of it";
                    return Err(Problem::new(Code::BadBody).cause(cause));
                }
            }
        }
    }

    /// Reads and drops the rest of a refused body, so that a client that sends first sees the answer. A client that waits
    /// to be asked has sent nothing, and is not asked.
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

/// The time that so many bytes earn.
fn earned(bytes: usize) -> Duration {
    Duration::from_micros((bytes as u64).saturating_mul(1_000_000) / BYTES_PER_SECOND)
}

/// The memory of a body that is being read.
struct Held<'a> {
    row: &'a Row,
    /// How many bytes fit.
    room: usize,
    /// Who sends it; known once it needs memory of a budget.
    caller: Option<CallerId>,
    memory: Option<Reserved>,
}

impl Held<'_> {
    /// Makes room for this many bytes, or for all that were declared; a body of unknown length gets the most of its level,
    /// so that bodies never wait for each other half-read. What is refused for its caller is refused before its size.
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
            self.room = bound;
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
            Memory::Kept => &app.bodies.kept,
            Memory::Connection | Memory::Usual => &app.bodies.usual,
        };
        let memory = budget.reserve(caller.clone(), declared.unwrap_or(bound), app.bodies.time).await?;
        (self.room, self.caller, self.memory) = (bound, Some(caller), Some(memory));
        Ok(())
    }
}

fn too_large(max: usize) -> Problem {
    let shown = if max >= MIB { format!("{} MiB", max / MIB) } else { format!("{} KiB", max / KIB) };
    Problem::new(Code::TooLarge).arg("max", shown).with("max_bytes", max)
}

#[cfg(test)]
mod tests;
