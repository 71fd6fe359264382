//! Leases: what a group decided is what is read.

use super::{Folder, claim, command, fence, holder, lease, resource, store};
use crate::store::traits::*;
use turno_core::lease::Action;
use turno_core::time::Span;

#[tokio::test]
async fn the_waiting_line_the_offer_and_requests_are_read_back() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let ask = Action::RequestRelease { message: Some("un momento, \u{1F600}".into()) };
    let commands = vec![
        claim("a", "ana"),
        command("a", "luis", Action::Claim { ttl: Some(Span(900)), wait: true }),
        command("a", "eva", Action::JoinLine),
        command("a", "eva", ask),
    ];
    let (_, state) = lease(&store, commands).await.pop().unwrap();
    assert_eq!((state.line.len(), state.requests.len()), (2, 1));
    let release = Action::Release { fence: fence(&state), claim: Some(1) };
    assert_eq!(store.peek(vec![resource("a")]).await.unwrap().states, [state]);
    let (_, state) = lease(&store, vec![command("a", "ana", release)]).await.pop().unwrap();
    assert!(state.offer.as_ref().is_some_and(|offer| offer.to.is(&holder("luis"))));
    assert_eq!(store.peek(vec![resource("a")]).await.unwrap().states, [state]);
}
