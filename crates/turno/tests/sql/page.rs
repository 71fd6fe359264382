//! Runs every SQL block of the guide unchanged, with the roles that it names.

use super::*;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/sql.md");

/// Returns the SQL blocks in order.
fn blocks(page: &str) -> Vec<String> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.strip_prefix("sql\n")).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_sql_block_of_the_guide_works_as_described() {
    // A separate server, because the guide creates a role, and roles belong to the whole server.
    let cluster = Cluster::start().unwrap();
    let world = World::at(cluster.fresh_database().await).await;
    let queue = world.queue("orders", plain(Kind::Lane)).await;
    let fence = super::lease::held(&world, "order:7").await;
    let mut app: Option<Client> = None;
    let (mut got, mut run) = (None, 0);
    for block in blocks(&std::fs::read_to_string(PAGE).unwrap()) {
        let Some(rest) = block.strip_prefix("-- as the application\n") else {
            assert!(block.starts_with("-- as the owner\n"), "the block names no role: {block}");
            world.sql.batch_execute(&block).await.unwrap();
            continue;
        };
        if app.is_none() {
            let mut config: tokio_postgres::Config = world.url.parse().unwrap();
            let (client, connection) = config.user("shop").connect(NoTls).await.unwrap();
            tokio::spawn(connection);
            app = Some(client);
        }
        if rest.contains(":'delivery'") {
            got = claim(&queue).await;
        }
        let mut sql = rest.replace(":lease_fence", &fence.0.to_string());
        if let Some(got) = &got {
            sql = sql.replace(":'delivery'", &format!("'{}'", got.reference.token()));
            sql = sql.replace(":fence", &got.reference.fence.0.to_string());
        }
        app.as_ref().unwrap().batch_execute(&sql).await.unwrap_or_else(|error| panic!("{error:?} in {sql}"));
        run += 1;
    }
    assert_eq!(run, 3, "an example of each function");
    assert_eq!(got.expect("the item was enqueued").items[0].id, id("order-7"));
    assert_eq!(world.number("select count(*) from shop.orders where id = 7 and state = 'sent'").await, 1);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.processed, counts.pending), (1, 1), "one item is acked and the reminder waits");
}
