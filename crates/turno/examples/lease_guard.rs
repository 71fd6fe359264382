//! A lease that is lost: the work under it is dropped at that moment, and a late holder is refused by its fence.
//! `cargo run --example lease_guard -- sqlite:guard.db`

use std::time::Duration;
use turno::Turno;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turno = Turno::open(&std::env::args().nth(1).unwrap_or("sqlite:guard.db".into())).await?;
    let till = turno.lease("caja:3");
    let hold = till.hold("till-1").ttl(Duration::from_secs(1)).await?.expect("the lease is free");
    println!("held");

    // An override: a user with the permission takes the lease and gives a reason.
    let taken = till.force_claim("eva", "the till is needed elsewhere").await?;

    let work = hold.run(std::future::pending::<()>()).await;
    println!("{}", work.expect_err("the work ends only with the loss of the lease"));
    println!("the new fence is greater: {}", taken.fence > hold.fence());

    // A command with the old fence changes nothing.
    let refused = till.heartbeat(hold.grant()).await.expect_err("the fence is old");
    println!("the late heartbeat is refused: {}", refused.code() == "lease_lost");
    Ok(())
}
