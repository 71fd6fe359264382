//! The start of the fan-out, step by step, on the model: it answers at once, in one thread.

use std::sync::Arc;
use std::time::Duration;
use turno::clock::{Clock, Manual};
use turno::core::event::Topics;
use turno::core::id::{Position, Resource, UserId};
use turno::core::lease::{Action, Command, Holder, Policy};
use turno::core::time::Time;
use turno::event::Live;
use turno::store::{Group, LeaseGroup};
use turno::{Options, Turno};
use turno_testkit::model::Model;

#[tokio::test]
async fn an_event_committed_between_subscribing_and_the_readers_first_read_is_received() {
    let clock = Arc::new(Clock::manual(Manual::starting_at(Time(1_000_000))));
    let turno = Turno::on(Arc::new(Model::new(clock.clone())), Options { clock, sweep: false, ..Options::default() });
    // The model never waits, so no other task runs before `next`: the reader starts after the event.
    let mut listener = turno.subscribe(Topics::ALL, None).await.unwrap();
    let who = Holder { user: UserId::new("ana").unwrap(), name: "Ana".to_owned(), instance: None };
    let action = Action::Claim { ttl: None, wait: false };
    let command = Command { resource: Resource::new("r").unwrap(), who, via: None, policy: Policy::default(), action };
    let group = Group::Lease(LeaseGroup { commands: vec![command] });
    turno.store().unwrap().commit(0, Arc::new([group]), None).await.unwrap();
    assert_eq!(listener.position(), Position(0));
    let heard =
        tokio::time::timeout(Duration::from_secs(20), listener.next()).await.expect("the event is received").unwrap();
    assert!(matches!(&heard, Live::Event { position: Position(1), event } if &*event.resource == "r"), "{heard:?}");
}
