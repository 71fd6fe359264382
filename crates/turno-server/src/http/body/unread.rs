//! Incomplete bodies of unauthenticated callers, bounded per source address.
//!
//! A new body beyond the bound ends the oldest incomplete one of its source. A normal sign-in arrives at once, so it is
//! read even while another client behind the same address keeps half-sent bodies open.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

/// The most incomplete bodies of one source. An office where many people sign in at once has a few.
const PER_SOURCE: usize = 64;

/// The incomplete bodies of all sources.
#[derive(Debug, Default)]
pub(crate) struct Unread(Mutex<Sources>);

#[derive(Debug, Default)]
struct Sources {
    /// The oldest body of a source is first. Dropping the sender ends the body.
    by_address: HashMap<IpAddr, VecDeque<(u64, oneshot::Sender<()>)>>,
    next: u64,
}

/// A body that is being read. Dropped when it is complete.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    unread: &'a Unread,
    source: IpAddr,
    number: u64,
    ended: oneshot::Receiver<()>,
}

impl Unread {
    /// Registers a body of this source. Ends the oldest one if there are too many.
    pub(super) fn begin(&self, source: IpAddr) -> Reading<'_> {
        let (sender, ended) = oneshot::channel();
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = sources.next;
        sources.next += 1;
        let bodies = sources.by_address.entry(source).or_default();
        if bodies.len() >= PER_SOURCE {
            bodies.pop_front();
        }
        bodies.push_back((number, sender));
        Reading { unread: self, source, number, ended }
    }
}

impl Reading<'_> {
    /// Waits until newer bodies of the same source end this one.
    pub(super) async fn ended(&mut self) {
        let _ = (&mut self.ended).await;
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut sources = self.unread.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bodies) = sources.by_address.get_mut(&self.source) else { return };
        bodies.retain(|(number, _)| *number != self.number);
        if bodies.is_empty() {
            sources.by_address.remove(&self.source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 8));

    #[test]
    fn the_oldest_unread_body_of_a_source_ends_for_a_new_one_and_other_sources_are_left_alone() {
        let unread = Unread::default();
        let mut other = unread.begin(THERE);
        let mut bodies: Vec<_> = (0..PER_SOURCE).map(|_| unread.begin(HERE)).collect();
        assert!(bodies.iter_mut().all(|body| body.ended().now_or_never().is_none()), "the bound is not exceeded");
        let mut newest = unread.begin(HERE);
        let ended: Vec<_> = bodies.iter_mut().map(|body| body.ended().now_or_never().is_some()).collect();
        assert!(ended[0] && !ended[1..].contains(&true), "only the oldest ends");
        assert!(newest.ended().now_or_never().is_none() && other.ended().now_or_never().is_none());
    }

    #[test]
    fn a_body_that_has_arrived_makes_room_and_a_source_without_bodies_is_forgotten() {
        let unread = Unread::default();
        let mut bodies: Vec<_> = (0..PER_SOURCE).map(|_| unread.begin(HERE)).collect();
        drop(bodies.pop());
        let _next = unread.begin(HERE);
        assert!(bodies[0].ended().now_or_never().is_none());
        drop((bodies, _next));
        assert!(unread.0.lock().expect("not poisoned").by_address.is_empty());
    }
}
