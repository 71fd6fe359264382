//! The private server: it starts, keeps committed data, and ends with its owner.

use std::path::Path;
use std::process::{Command, Stdio};

use tokio_postgres::{Client, NoTls};

use super::{Cluster, Settings, run};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    // The connection ends with an error when the server is killed, as some tests intend.
    tokio::spawn(connection);
    client
}

async fn count(client: &Client, table: &str) -> i64 {
    client.query_one(&format!("select count(*) from {table}"), &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn databases_of_one_server_are_separate() {
    let cluster = Cluster::for_tests();
    let (left, right) = (cluster.fresh_database().await, cluster.fresh_database().await);
    assert_ne!(left, right);
    connect(&left).await.batch_execute("create table only_left (n int)").await.unwrap();
    let there = "select to_regclass('only_left') is not null";
    assert!(connect(&left).await.query_one(there, &[]).await.unwrap().get::<_, bool>(0));
    assert!(!connect(&right).await.query_one(there, &[]).await.unwrap().get::<_, bool>(0));
}

#[tokio::test]
async fn a_database_can_be_created_inside_a_runtime_without_awaiting() {
    let url = Cluster::for_tests().fresh_database_blocking();
    assert_eq!(count(&connect(&url).await, "pg_class where relname = 'only_left'").await, 0);
}

#[tokio::test]
async fn a_restarted_server_has_exactly_the_committed_data() {
    let mut cluster = Cluster::start().unwrap();
    let url = cluster.fresh_database().await;
    let (committed, open) = (connect(&url).await, connect(&url).await);
    committed.batch_execute("create table kept (n int); insert into kept values (1), (2)").await.unwrap();
    open.batch_execute("begin; insert into kept values (3)").await.unwrap();

    cluster.kill().unwrap();
    assert!(committed.batch_execute("select 1").await.is_err());
    assert!(tokio_postgres::connect(&url, NoTls).await.is_err());

    cluster.restart().unwrap();
    assert_eq!(count(&connect(&url).await, "kept").await, 2);
    cluster.stop().unwrap();
    cluster.restart().unwrap();
    assert_eq!(count(&connect(&url).await, "kept").await, 2);
}

/// If a kill let a busy backend go on, no crash test could fail.
#[tokio::test]
async fn a_kill_ends_a_backend_in_the_middle_of_a_statement() {
    let mut cluster = Cluster::start().unwrap();
    let client = connect(&cluster.fresh_database().await).await;
    let pid: i32 = client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let busy = "do $$ begin loop perform 1; end loop; end $$";
    let busy = tokio::spawn(async move { client.batch_execute(busy).await });
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    cluster.kill().unwrap();
    assert!(busy.await.unwrap().is_err());
    assert!(!super::server::is_alive(pid.try_into().unwrap()));
}

#[tokio::test]
async fn settings_reach_the_server() {
    let extra = vec![("work_mem".to_owned(), "5MB".to_owned())];
    let cluster = Cluster::start_with(Settings { fsync: true, extra, ..Settings::tests() }).unwrap();
    let client = connect(&cluster.url("postgres")).await;
    for (name, value) in [("fsync", "on"), ("work_mem", "5MB"), ("max_connections", "400"), ("lc_ctype", "C.UTF-8")] {
        let row = client.query_one("select current_setting($1)", &[&name]).await.unwrap();
        assert_eq!(row.get::<_, &str>(0), value, "{name}");
    }
}

#[test]
fn dropping_a_cluster_stops_its_server_and_removes_its_directory() {
    let cluster = Cluster::start().unwrap();
    let (directory, port) = (cluster.directory().to_owned(), cluster.port);
    assert!(directory.join("data/PG_VERSION").exists());
    drop(cluster);
    assert!(!directory.exists());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// The opposite case: a shared server is not dropped, and the runner just ends.
#[test]
fn a_shared_server_outlives_the_test_that_started_it_and_ends_with_the_run() {
    let directory = std::env::temp_dir().join(format!("turno-pg-run-{}", super::unique()));
    let mut runner = Command::new("sh").args(["-c", "read -r line"]).stdin(Stdio::piped()).spawn().unwrap();

    let mut first = run::join_run(&directory, runner.id()).unwrap();
    let second = run::join_run(&directory, runner.id()).unwrap();
    assert_eq!(second.port, first.port);
    assert!(second.owned.is_none());

    // The end of the first process without its `Drop`: the pipe to the watchdog closes.
    drop(first.owned().watchdog.orders.take());
    let mut postmaster = first.owned().server.process.take().unwrap();
    std::mem::forget(first);
    let reachable = || std::net::TcpStream::connect(("127.0.0.1", second.port)).is_ok();
    assert!(reachable());

    drop(runner.stdin.take());
    runner.wait().unwrap();
    postmaster.wait().unwrap();
    super::server::until("the watchdog to remove the directory", || Ok(!directory.exists())).unwrap();
    assert!(!reachable());
}

#[tokio::test]
async fn a_promoted_standby_lacks_the_commits_after_the_freeze() {
    let mut primary = Cluster::start().unwrap();
    let mut standby = primary.standby("second", Settings::tests()).unwrap();
    let first = connect(&primary.url("postgres")).await;
    first.batch_execute("create table t (n int); insert into t values (1)").await.unwrap();
    let behind = "pg_stat_replication where replay_lsn >= pg_current_wal_lsn()";
    let follows = async { while count(&first, behind).await == 0 {} };
    tokio::time::timeout(std::time::Duration::from_secs(60), follows).await.expect("the standby follows");
    primary.freeze_replication().unwrap();
    first.batch_execute("insert into t values (2)").await.unwrap();
    primary.kill().unwrap();
    standby.promote().unwrap();
    let second = connect(&standby.url("postgres")).await;
    second.batch_execute("insert into t values (3)").await.unwrap();
    let kept: String = second.query_one("select string_agg(n::text, ',' order by n) from t", &[]).await.unwrap().get(0);
    assert_eq!(kept, "1,3");
}
