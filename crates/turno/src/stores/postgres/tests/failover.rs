//! Failovers between two real servers under running engines: what is handed out twice, what is lost, and that no number
//! is given twice.

mod load;

use super::*;
use crate::event::Live;
use crate::queue::{Delivery, Draft, QueueHandle};
use crate::task::NewTask;
use crate::{Error, Options, Turno};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use turno_core::event::Topics;
use turno_core::id::{Position, Sku};
use turno_core::task::{Goods, Movement, NewLine};
use turno_testkit::postgres::Settings;

/// A primary, its standby, and two engines that connect to the server that accepts writes.
struct Site {
    primary: Cluster,
    standby: Cluster,
    stores: [Arc<PostgresStore>; 2],
    engines: [Turno; 2],
}

impl Site {
    async fn start(synchronous: bool) -> Site {
        let mut settings = Settings::tests();
        if synchronous {
            // `on` would lose no commit either; with `remote_apply` the standby's reads agree, too.
            settings.extra.push(("synchronous_commit".into(), "remote_apply".into()));
            settings.extra.push(("synchronous_standby_names".into(), "second".into()));
        }
        let primary = Cluster::start_with(settings).unwrap();
        let standby = primary.standby("second", Settings::tests()).unwrap();
        Site::open(primary, standby, &[]).await
    }

    /// With a second standby of the same primary.
    async fn start_with_spare() -> (Site, Cluster) {
        let primary = Cluster::start_with(Settings::tests()).unwrap();
        let standby = primary.standby("second", Settings::tests()).unwrap();
        let spare = primary.standby("third", Settings::tests()).unwrap();
        (Site::open(primary, standby, &[&spare]).await, spare)
    }

    async fn open(primary: Cluster, standby: Cluster, spare: &[&Cluster]) -> Site {
        let database = primary.fresh_database().await;
        let name = database.rsplit('/').next().unwrap();
        let servers = [&[&primary, &standby], spare].concat();
        let url = Cluster::url_of_any(&servers, name);
        let stores = [Arc::new(store_at(&url).await), Arc::new(store_at(&url).await)];
        let engines = stores.clone().map(|store| {
            let clock = store.shared.clock.clone();
            Turno::on(store, Options { clock, ..Options::default() })
        });
        engines[0].put_queue("lane", lane()).await.unwrap();
        Site { primary, standby, stores, engines }
    }

    async fn queue(&self, engine: usize) -> QueueHandle {
        self.engines[engine].queue("lane").await.unwrap()
    }

    /// Waits until the standby has replayed everything, and then stops the replication.
    async fn freeze(&mut self) {
        let client = outside(&self.primary.url("postgres")).await;
        wait_until(&client, "select count(*) from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()").await;
        self.primary.freeze_replication().unwrap();
    }

    fn fail_over(&mut self) {
        self.primary.kill().unwrap();
        self.standby.promote().unwrap();
    }
}

/// A lost answer blocks a lane for `lock_timeout`.
fn lane() -> Policy {
    Policy {
        window: Span::ZERO,
        batch_max: 1,
        max_attempts: 50,
        lock_timeout: Span(2_000),
        ..Policy::for_kind(Kind::Lane)
    }
}

/// Repeats a call until the new server answers.
async fn insist<T>(mut ask: impl AsyncFnMut() -> Result<T, Error>) -> T {
    let answered = async {
        loop {
            match ask().await {
                Ok(answer) => return answer,
                Err(Error::Store(StoreError::Unavailable(_) | StoreError::Unknown(_) | StoreError::Conflict(_))) => {
                    tokio::task::yield_now().await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), answered).await.expect("the new server answers")
}

async fn enqueue_ids(queue: &QueueHandle, ids: &[String]) {
    insist(async || {
        let drafts = ids.iter().map(|id| Draft::json(id)?.id(id)?.key("k")).collect::<Result<Vec<_>, Error>>()?;
        queue.enqueue(drafts).await
    })
    .await;
}

fn ids(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

/// Claims and acks until nothing is left. Returns the ids in the order of the hand-outs, with their fences. Fails if
/// two deliveries of the one lane are live at once, or if an ack is refused.
async fn drain(queues: &[QueueHandle]) -> Result<Vec<(String, Fence)>, String> {
    let mut seen = Vec::new();
    for turn in 0.. {
        let queue = &queues[turn % queues.len()];
        let deliveries: Vec<Delivery> = insist(async || queue.claim(crate::queue::Claim::by("w1").max(10)).await).await;
        match &deliveries[..] {
            [] => break,
            [delivery] if !delivery.items.is_empty() => {
                seen.push((delivery.items[0].id.to_string(), delivery.reference.fence));
                let settled = insist(async || queue.ack([delivery.reference]).await).await;
                if settled[0].outcome != SettleOutcome::Acked {
                    return Err(format!("the ack of {} was {:?}", delivery.items[0].id, settled[0].outcome));
                }
            }
            several => return Err(format!("{} deliveries of one lane at once", several.len())),
        }
    }
    Ok(seen)
}

async fn claim_lease(turno: &Turno, user: &str) -> Fence {
    let action = Action::ForceClaim { reason: "a test".into(), fence: None };
    let claimed = insist(async || turno.lease_command(turno.command("caja:3", user, action.clone())?).await).await;
    claimed.state.grant.unwrap().fence
}

async fn new_task(turno: &Turno) -> i64 {
    let line = NewLine { movement: Movement::In, sku: Sku::new("clavos").unwrap(), goods: Goods::Quantity(3) };
    let made = insist(async || {
        turno.task_command(None, holder("ana"), NewTask::titled("t").lines(vec![line.clone()]).ready().into()).await
    })
    .await;
    made.task.unwrap().id.0
}

/// After this long without an event, the listener has received enough of them.
const QUIET: std::time::Duration = std::time::Duration::from_millis(500);
/// The lost tail is long, because a promoted server continues up to 32 sequence numbers beyond what it had replayed.
const LOST: usize = 80;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_asynchronous_failover_lanes_keep_their_order_and_no_number_comes_back() {
    let mut site = Site::start(false).await;
    let (a, b) = (site.queue(0).await, site.queue(1).await);
    let mut listener = site.engines[1].subscribe(Topics::ALL, None).await.unwrap();
    enqueue_ids(&a, &ids("early", 6)).await;
    site.freeze().await;
    let lost = drain(&[a.clone(), b.clone()]).await.unwrap();
    assert_eq!(lost.len(), 6);
    enqueue_ids(&a, &ids("lost", LOST)).await;
    let lost: Vec<_> = lost.into_iter().chain(drain(&[a.clone(), b.clone()]).await.unwrap()).collect();
    enqueue_ids(&b, &ids("waiting", 1)).await;
    let mut fences: Vec<Fence> = lost.iter().map(|(_, fence)| *fence).collect();
    fences.push(claim_lease(&site.engines[0], "ana").await);
    let tasks = [new_task(&site.engines[0]).await, new_task(&site.engines[1]).await];
    let mut position = Position(0);
    while let Ok(Ok(_)) = tokio::time::timeout(QUIET, listener.next()).await {
        position = listener.position();
    }
    assert!(position > Position(0), "the listener has received events of the lost commits");

    site.fail_over();
    enqueue_ids(&b, &ids("late", 3)).await;
    let expected: Vec<String> = ids("early", 6).into_iter().chain(ids("late", 3)).collect();
    let after = drain(&[a, b]).await.expect("one delivery at a time, all acked");
    assert_eq!(after.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), expected);
    let highest = *fences.iter().max().unwrap();
    let mut known: HashSet<Fence> = fences.into_iter().collect();
    for fence in after.into_iter().map(|(_, fence)| fence).chain([claim_lease(&site.engines[1], "eva").await]) {
        assert!(fence > highest && known.insert(fence), "{fence:?} after {highest:?}");
    }
    let task = new_task(&site.engines[0]).await;
    assert!(task > tasks[1], "{task} after {tasks:?}");
    let reset = async {
        loop {
            match listener.next().await {
                Ok(Live::Reset { position }) => return position,
                Ok(Live::Event { position: at, .. }) => assert!(at > position),
                Ok(Live::QueueChanged { .. }) | Err(_) => {}
            }
        }
    };
    let reset = tokio::time::timeout(SOON, reset).await.expect("the listener receives a reset");
    assert!(reset > position, "{reset:?} after {position:?}");
    let entries = site.stores[0].audit(AuditQuery { limit: 10, ..AuditQuery::default() }).await.unwrap();
    let lives = entries.iter().filter(|entry| entry.action == "database_life").count();
    assert_eq!(lives, 1, "one process began the life, the other entered it: {entries:?}");
    assert_eq!(site.engines[0].check(|_| {}).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_a_process_that_keeps_its_caches_over_a_failover_breaks_its_lanes() {
    let mut site = Site::start(false).await;
    let queue = site.queue(0).await;
    enqueue_ids(&queue, &ids("early", 6)).await;
    site.freeze().await;
    drain(std::slice::from_ref(&queue)).await.unwrap();
    enqueue_ids(&queue, &ids("lost", LOST)).await;
    drain(std::slice::from_ref(&queue)).await.unwrap();
    enqueue_ids(&queue, &ids("waiting", 1)).await;
    site.stores.iter().for_each(|store| store.shared.lives.blind.store(true, Ordering::SeqCst));
    site.fail_over();
    enqueue_ids(&queue, &ids("late", 1)).await;
    let expected: Vec<String> = ids("early", 6).into_iter().chain(ids("late", 1)).collect();
    let seen = drain(&[queue]).await.map(|seen| seen.into_iter().map(|(id, _)| id).collect::<Vec<_>>());
    assert_ne!(seen, Ok(expected), "the lane has two heads, and nothing comes after them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_failover_loses_no_answered_commit() {
    let mut site = Site::start(true).await;
    let (a, b) = (site.queue(0).await, site.queue(1).await);
    enqueue_ids(&a, &ids("early", 6)).await;
    let before = drain(&[a.clone(), b.clone()]).await.unwrap();
    enqueue_ids(&b, &ids("more", 4)).await;
    let fence = claim_lease(&site.engines[0], "ana").await;
    site.fail_over();
    let after = drain(&[a, b]).await.unwrap();
    assert_eq!(after.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), ids("more", 4));
    assert!(after.iter().all(|(_, late)| before.iter().all(|(_, early)| early < late)));
    let held = insist(async || site.engines[1].lease_state(resource("caja:3")).await).await.1;
    assert_eq!(held.grant.map(|grant| grant.fence), Some(fence), "the lease survives");
}

#[tokio::test]
async fn an_enqueue_into_a_queue_lost_in_a_failover_is_refused() {
    let (store, url) = fresh_store().await;
    let turno = Turno::on(Arc::new(store), Options::default());
    let queue = turno.put_queue("inbox", Policy::for_kind(Kind::Inbox)).await.unwrap();
    let client = outside(&url).await;
    client.batch_execute("delete from turno.queue").await.unwrap();
    let refused = queue.enqueue(vec![Draft::json("hola").unwrap()]).await;
    assert!(matches!(refused, Err(Error::Unknown(_))), "{refused:?}");
    let named = queue.enqueue(vec![Draft::json("hola").unwrap().id("m-1").unwrap()]).await;
    assert!(matches!(named, Err(Error::Unknown(_))), "{named:?}");
    assert_eq!(number(&client, "select count(*) from turno.body").await, 0);
}

#[tokio::test]
async fn a_dump_restored_under_a_running_engine_begins_another_life() {
    let (store, url) = fresh_store().await;
    let turno = Turno::on(Arc::new(store), Options::default());
    let before = claim_lease(&turno, "ana").await;
    let task = new_task(&turno).await;
    let client = outside(&url).await;
    // A restore leaves the same rows in a new table.
    let restored = "create table turno.copy as table turno.life; drop table turno.life; \
                    alter table turno.copy rename to life; alter sequence turno.number restart with 2; \
                    alter sequence turno.task_id_seq restart with 1; delete from turno.task";
    client.batch_execute(restored).await.unwrap();
    assert!(claim_lease(&turno, "eva").await > before);
    assert!(new_task(&turno).await > task);
    assert_eq!(number(&client, "select count(*) from turno.audit where action = 'database_life'").await, 1);
}

#[tokio::test]
async fn snapshot_restored_under_a_running_engine_begins_another_life() {
    let (store, url) = fresh_store().await;
    let turno = Turno::on(Arc::new(store), Options::default());
    let before = claim_lease(&turno, "ana").await;
    let task = new_task(&turno).await;
    let client = outside(&url).await;
    // A snapshot has the same origin, an older recorded time, and older sequences. The restart changes the life.
    let restored = "update turno.life set number = number + 1; update turno.mark set high = high - 60000; \
                    alter sequence turno.task_id_seq restart with 1; delete from turno.task";
    client.batch_execute(restored).await.unwrap();
    assert!(claim_lease(&turno, "eva").await > before);
    assert!(new_task(&turno).await > task);
    assert_eq!(number(&client, "select count(*) from turno.audit where action = 'database_life'").await, 1);
}
