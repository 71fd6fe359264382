//! Runs every SQL block of the guide unchanged, with the roles that it names, and compares its result tables.

use super::*;
use tokio_postgres::SimpleQueryMessage;

const PAGE: &str = include_str!("../../../../docs/guides/sync.md");

/// Returns the rows of a query, formatted like the guide's tables.
async fn query_as_table(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap();
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let cells = |row: &tokio_postgres::SimpleQueryRow| {
        (0..row.len()).map(|n| row.get(n).unwrap_or_default().to_owned()).collect::<Vec<_>>().join(" | ")
    };
    rows.map(|row| format!("| {} |", cells(row))).collect()
}

#[tokio::test]
async fn every_sql_block_of_the_guide_works_as_described() {
    let world = World::new().await;
    let (mut changes, mut looks) = (0, 0);
    let mut rest = PAGE;
    while let Some((_, behind)) = rest.split_once("```sql\n") {
        let (block, behind) = behind.split_once("```").unwrap();
        rest = behind;
        if block.starts_with("-- as the application\n") {
            world.run(block).await;
            changes += 1;
            continue;
        }
        assert!(block.starts_with("-- as the owner\n"), "the block names no role: {block}");
        let table = behind.trim_start().lines().skip(2).take_while(|line| line.starts_with('|'));
        let expected: Vec<&str> = table.collect();
        assert_eq!(query_as_table(&world.sql, block).await, expected, "{block}");
        looks += 1;
    }
    assert_eq!((changes, looks), (3, 3));
}
