//! Sizes: payloads that a list leaves out, and pages, claims and groups that end by bytes.

use super::world::{World, ack, ids, queue_name, take};
use turno::core::fault::{Fault, Invalid};
use turno::core::id::{ItemId, Key};
use turno::core::queue::{Act, ItemState, Kind, Policy, SettleOutcome};
use turno::core::time::Span;
use turno::queue::{Claim, Draft, ItemQuery, QueueHandle};
use turno::{Error, Options};

super::cases![
    a_list_leaves_out_large_payloads_and_names_their_size,
    a_page_ends_by_bytes_with_at_least_one_item_in_every_list,
    a_claim_ends_by_bytes_and_the_rest_stays_due,
    claims_that_run_together_get_every_item_once,
    a_group_closes_by_bytes_before_its_window_ends,
    a_payload_above_the_limit_is_refused,
];

/// Opens another instance with small limits.
async fn small(world: &World, policy: Policy) -> QueueHandle {
    let options = Options { answer_bytes: 10_000, payload_bytes: 9_000, ..world.options() };
    let turno = turno::Turno::open_with(world.url(), options).await.unwrap();
    turno.put_queue(queue_name(), policy).await.unwrap()
}

/// Returns an item whose payload has this many bytes.
fn sized(id: &str, key: &str, bytes: usize) -> Draft {
    let payload = format!("\"{}\"", "ñ".repeat(bytes / 2 - 1));
    let (id, key) = (Some(ItemId::new(id).unwrap()), Some(Key::new(key).unwrap()));
    Draft { id, key, action: None, payload: payload.into(), delay: Span::ZERO }
}

fn every_list() -> Vec<ItemQuery> {
    let states = ItemState::ALL.into_iter().map(Some).chain([None]);
    let keys = [None, Some(Key::new("ana").unwrap())];
    states.flat_map(|state| keys.clone().map(|key| ItemQuery { state, key, ..ItemQuery::default() })).collect()
}

async fn a_list_leaves_out_large_payloads_and_names_their_size(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    queue.enqueue(vec![sized("1", "ana", 4_096), sized("2", "ana", 4_098), sized("3", "ana", 30_000)]).await.unwrap();
    for (payload_max, cut) in [(4_096, [false, true, true]), (5_000, [false, false, true]), (usize::MAX, [false; 3])] {
        for key in [None, Some(Key::new("ana").unwrap())] {
            let page = queue.item_page(ItemQuery { key, payload_max, ..ItemQuery::default() }).await.unwrap();
            let sizes: Vec<usize> = page.items.iter().map(|record| record.payload_bytes).collect();
            assert_eq!((sizes, page.more), (vec![4_096, 4_098, 30_000], false));
            for (record, cut) in page.items.iter().zip(cut) {
                assert_eq!(record.payload_cut, cut, "{payload_max}");
                let expected = if cut { "null".len() } else { record.payload_bytes };
                assert_eq!(record.body.payload.len(), expected);
            }
        }
    }
    let record = queue.item(ItemId::new("3").unwrap()).await.unwrap().unwrap();
    assert_eq!((record.payload_bytes, record.payload_cut, record.body.payload.len()), (30_000, false, 30_000));
}

async fn a_page_ends_by_bytes_with_at_least_one_item_in_every_list(world: World) {
    let policy = Policy { max_attempts: 1, ..Policy::for_kind(Kind::Inbox) };
    let queue = world.queue(policy).await;
    let names = |state: &str| (0..3).map(|n| format!("{state}{n}")).collect::<Vec<_>>();
    for state in ["acked", "exhausted", "in_process", "cancelled", "waiting"] {
        queue.enqueue(names(state).iter().map(|id| sized(id, "ana", 6_000)).collect()).await.unwrap();
        if state == "waiting" {
            break;
        }
        if state == "cancelled" {
            for id in names(state) {
                queue.cancel(ItemId::new(id).unwrap()).await.unwrap().unwrap();
            }
            continue;
        }
        for got in take(&queue, 3).await {
            let error = "e".repeat(3_900);
            match state {
                "acked" => assert_eq!(ack(&queue, &got).await, SettleOutcome::Acked),
                "exhausted" => {
                    let act = Act::Fail { error, item: None, retry_in: None, give_up: true };
                    super::world::settle(&queue, got.reference, act).await;
                }
                _ => {}
            }
        }
    }
    for list in every_list() {
        let all = queue.item_page(list.clone()).await.unwrap();
        assert!(!all.more, "the negative control: no bytes, no early end");
        // One payload of 6,000 fits, two do not. Cut payloads do not count, but errors do.
        for (payload_max, at_a_time) in [(usize::MAX, 1), (100, 2)] {
            let with_errors = list.state == Some(ItemState::Exhausted);
            let (mut after, mut seen, mut early) = (None, Vec::new(), false);
            loop {
                let query = ItemQuery { after, bytes: 10_000, payload_max, ..list.clone() };
                let page = queue.item_page(query).await.unwrap();
                early |= page.more;
                assert!(!page.items.is_empty() || !page.more);
                if payload_max == usize::MAX || with_errors {
                    assert!(page.items.len() <= at_a_time, "{list:?}");
                }
                let Some(last) = page.items.last() else { break };
                after = Some(last.body.seq);
                seen.extend(page.items.into_iter().map(|record| record.body.id));
            }
            let expected: Vec<_> = all.items.iter().map(|record| record.body.id.clone()).collect();
            assert_eq!(seen, expected, "{list:?}");
            let large = payload_max == usize::MAX && expected.len() > 1;
            assert!(early || !(large || with_errors), "{list:?}");
        }
    }
}

async fn a_claim_ends_by_bytes_and_the_rest_stays_due(world: World) {
    let queue = small(&world, Policy::for_kind(Kind::Inbox)).await;
    let items = (0..5).map(|n| sized(&n.to_string(), "ana", 4_000)).collect();
    queue.enqueue(items).await.unwrap();
    for expected in [vec!["0", "1"], vec!["2", "3"], vec!["4"], vec![]] {
        let got = take(&queue, 100).await;
        assert_eq!(got.iter().map(|got| ids(got)[0]).collect::<Vec<_>>(), expected);
    }
}

async fn claims_that_run_together_get_every_item_once(world: World) {
    let queue = small(&world, Policy::for_kind(Kind::Inbox)).await;
    let items = (0..40).map(|n| sized(&n.to_string(), "ana", 8_000)).collect();
    queue.enqueue(items).await.unwrap();
    let claim = |n| {
        let queue = queue.clone();
        async move { queue.claim(Claim::by(format!("worker-{n}")).max(3)).await.unwrap() }
    };
    let got: Vec<_> = (0..40).map(claim).collect::<tokio::task::JoinSet<_>>().join_all().await;
    assert!(got.iter().all(|deliveries| deliveries.len() == 1), "8,000 bytes each, and 10,000 per answer");
    let mut all: Vec<&str> = got.iter().flatten().flat_map(ids).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 40);
}

async fn a_group_closes_by_bytes_before_its_window_ends(world: World) {
    let policy = Policy { window: Span(60_000), max_wait: Span(60_000), ..Policy::for_kind(Kind::Lane) };
    let queue = small(&world, policy).await;
    queue.enqueue(vec![sized("1", "ana", 4_000), sized("2", "ana", 4_000)]).await.unwrap();
    assert!(take(&queue, 9).await.is_empty(), "the negative control: the group fits, and its window is open");
    queue.enqueue(vec![sized("3", "ana", 4_000)]).await.unwrap();
    assert_eq!(queue.why_key(Key::new("ana").unwrap()).await.unwrap().reason.code(), "ready");
    let got = take(&queue, 9).await;
    assert_eq!((got.len(), ids(&got[0])), (1, vec!["1", "2"]));
}

async fn a_payload_above_the_limit_is_refused(world: World) {
    let queue = small(&world, Policy::for_kind(Kind::Inbox)).await;
    let refused = queue.enqueue(vec![sized("1", "ana", 9_000), sized("2", "ana", 9_002)]).await;
    let Err(Error::Invalid(Invalid { index, field, fault })) = refused else { panic!("{refused:?}") };
    assert_eq!((index, field, fault), (Some(1), "payload", Fault::TooLarge { max: 9_000 }));
    assert_eq!(queue.counts().await.unwrap().pending, 0);
    let refused = queue.enqueue(vec![sized("1", "ana", 9_000)]).await;
    assert!(refused.is_ok(), "{refused:?}");
}
