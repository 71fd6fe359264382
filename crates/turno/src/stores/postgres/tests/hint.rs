//! Hints over a connection that is lost.

use super::*;
use crate::store::Hint;
use std::time::Duration;

/// Returns the process id of this database's listening connection, once it exists.
async fn listener(client: &Client) -> i32 {
    let sql = "select pid from pg_stat_activity
        where datname = current_database() and query like '-- hint_listen%' and pid <> pg_backend_pid()";
    loop {
        if let Some(row) = client.query_opt(sql, &[]).await.unwrap() {
            return row.get(0);
        }
    }
}

#[tokio::test]
async fn a_lost_listening_connection_is_reopened_and_sends_the_hint_all() {
    let (store, url) = fresh_store().await;
    let client = outside(&url).await;
    let next = async || tokio::time::timeout(Duration::from_secs(20), store.hint()).await.unwrap();
    assert_eq!(next().await, Ok(Hint::All), "hints from before it listened were missed");
    let lost = listener(&client).await;
    client.execute("select pg_terminate_backend($1, 10000)", &[&lost]).await.unwrap();
    assert_eq!(next().await, Ok(Hint::All), "hints during the loss were missed");
    assert_ne!(listener(&client).await, lost);

    let other = store_at(&url).await;
    other.announce(vec![Hint::Events]).await.unwrap();
    assert_eq!(next().await, Ok(Hint::Events), "the new connection listens");
}
