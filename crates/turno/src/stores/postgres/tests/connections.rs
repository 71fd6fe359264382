//! The number of connections that the page about pools promises.

use super::super::slot::Slot;
use super::*;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating/pools.md");

/// Returns every slot of the store. The patterns are exhaustive, so that a new slot fails to compile here until it is
/// listed.
fn slots(store: &PostgresStore) -> Vec<&Slot> {
    let PostgresStore {
        description: _,
        address: _,
        shared: _,
        expiry: _,
        looks: _,
        routes,
        readers,
        peekers,
        sequencer,
        lines,
        line_permits: _,
        effect_max: _,
        keeper,
        intake,
        sources,
        hints: _,
    } = store;
    let groups = routes.iter().chain(readers).chain(peekers).chain(lines).chain(sources);
    groups.chain(&intake.callers).chain([&intake.background, &sequencer.slot, keeper]).collect()
}

#[tokio::test]
async fn a_server_keeps_at_most_as_many_connections_as_the_page_says() {
    let (store, url) = fresh_store().await;
    let client = outside(&url).await;
    let open = "from pg_stat_activity where datname = current_database() and application_name = 'turno'";
    // Starts the connection for hints, which has no slot.
    store.announce(vec![crate::store::Hint::All]).await.unwrap();
    wait_until(&client, &format!("select count(*) {open} and query like '%pg_notify%'")).await;
    for slot in slots(&store) {
        slot.take(&store.address).await.unwrap().put_back();
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    let promised = page.split("| **").nth(1).and_then(|rest| rest.split("**").next()).unwrap();
    // The connection of the start may still be closing.
    wait_until(&client, &format!("select (count(*) = {promised})::int::bigint {open}")).await;
}
