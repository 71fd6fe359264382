//! PgBouncer between Turno and PostgreSQL, with the settings of its package.

use std::time::Duration;
use tokio_postgres::NoTls;
use turno::queue::{Claim, Draft, Kind, Policy};
use turno::{Error, Options, Turno};
use turno_testkit::postgres::{Cluster, Pooler};

/// Returns the number of prepared statements in the pooler's sessions, and of sessions that listen.
async fn session_state(pooled: &str) -> (i64, i64) {
    let (client, connection) = tokio_postgres::connect(pooled, NoTls).await.unwrap();
    tokio::spawn(connection);
    let (mut statements, mut listening) = (0, 0);
    // Each transaction may run in another session.
    for _ in 0..20 {
        let sql = "select count(*) from pg_prepared_statements where name <> ''";
        let rows = client.query_typed(sql, &[]).await.unwrap();
        statements += rows[0].get::<_, i64>(0);
        let rows = client.query_typed("select count(*) from pg_listening_channels()", &[]).await.unwrap();
        listening += rows[0].get::<_, i64>(0);
    }
    (statements, listening)
}

/// Claims and settles an item, and takes a lease: one group of most kinds.
async fn work(turno: &Turno, round: usize) -> Result<(), Error> {
    let queue = turno.queue("mails").await?;
    queue.enqueue(vec![Draft::json(&round)?.id(&format!("m{round}"))?]).await?;
    let delivery = queue.claim(Claim::by("worker")).await?.pop().expect("the item is due");
    queue.ack([delivery.reference]).await?;
    turno.lease(format!("caja:{round}").as_str()).claim("ana").await?;
    Ok(())
}

async fn put_queue(turno: &Turno) {
    turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await.unwrap();
}

#[tokio::test]
async fn twelve_starts_through_a_transaction_pooler_work_and_leave_nothing_in_its_sessions() {
    let cluster = Cluster::start().unwrap();
    let url = cluster.fresh_database().await;
    let pooler = Pooler::start(&cluster, "transaction").unwrap();
    let pooled = pooler.url(&url);
    let first = Turno::open(&pooled).await.unwrap();
    put_queue(&first).await;
    for round in 0..12 {
        let turno = Turno::open(&pooled).await.unwrap();
        work(&turno, round).await.unwrap();
        work(&first, 100 + round).await.unwrap();
    }
    assert_eq!(session_state(&pooled).await, (0, 0));
}

#[tokio::test]
async fn a_session_pooler_works_too() {
    let cluster = Cluster::start().unwrap();
    let url = cluster.fresh_database().await;
    let pooler = Pooler::start(&cluster, "session").unwrap();
    let turno = Turno::open(&pooler.url(&url)).await.unwrap();
    put_queue(&turno).await;
    for round in 0..3 {
        work(&turno, round).await.unwrap();
    }
}

#[tokio::test]
async fn a_restarted_pooler_is_used_again() {
    let cluster = Cluster::start().unwrap();
    let url = cluster.fresh_database().await;
    let mut pooler = Pooler::start(&cluster, "transaction").unwrap();
    let turno = Turno::open(&pooler.url(&url)).await.unwrap();
    put_queue(&turno).await;
    work(&turno, 0).await.unwrap();
    for round in 1..4 {
        pooler.restart().unwrap();
        work(&turno, round).await.unwrap();
    }
}

#[tokio::test]
async fn changes_of_other_processes_are_noticed_through_a_pooler_and_over_the_second_url() {
    let cluster = Cluster::start().unwrap();
    let url = cluster.fresh_database().await;
    let pooler = Pooler::start(&cluster, "transaction").unwrap();
    let pooled = pooler.url(&url);
    let direct = Options { direct: Some(url.clone()), ..Options::default() };
    for (round, options) in [Options::default(), direct].into_iter().enumerate() {
        let (here, other) = (Turno::open_with(&pooled, options).await.unwrap(), Turno::open(&url).await.unwrap());
        put_queue(&other).await;
        let queue = here.queue("mails").await.unwrap();
        let claim = Claim::by("worker").wait(Duration::from_secs(20));
        let waiting = tokio::spawn(async move { queue.claim(claim).await });
        let draft = Draft::json(&round).unwrap();
        other.queue("mails").await.unwrap().enqueue(vec![draft]).await.unwrap();
        assert_eq!(waiting.await.unwrap().unwrap().len(), 1);
    }
    let listening = "select count(*) from pg_stat_activity where query like '-- hint_listen%'";
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let row = client.query_one(listening, &[]).await.unwrap();
    assert!(row.get::<_, i64>(0) <= 4, "only direct sessions listen");
}
