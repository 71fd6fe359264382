//! A lease that is lost: the work under it is dropped at that moment, and a late holder is refused by its fence.
//! `cargo run --example lease_guard -- sqlite:guard.db`

use std::time::Duration;
use turno::{Action, Refused, Turno};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turno = Turno::open(&std::env::args().nth(1).unwrap_or("sqlite:guard.db".into())).await?;
    let hold = turno.hold("caja:3", "till-1").ttl(Duration::from_secs(1)).await?.expect("the lease is free");
    let fence = hold.fence();
    println!("held");

    // An override: a user with the permission takes the lease and gives a reason.
    let take = Action::ForceClaim { reason: "the till is needed elsewhere".to_owned(), fence: None };
    let taken = turno.lease(turno.command("caja:3", "eva", take)?).await?;
    let new = taken.state.grant.expect("the override was granted").fence;

    let work = hold.run(std::future::pending::<()>()).await;
    println!("{}", work.expect_err("the work ends only with the loss of the lease"));
    println!("the new fence is greater: {}", new > fence);

    // A command with the old fence changes nothing.
    let late = turno.command("caja:3", hold.user().as_str(), Action::Heartbeat { fence, idle: None, worked: true })?;
    let refused = turno.lease(late).await?.answer;
    println!("the late heartbeat is refused: {}", matches!(refused, Err(Refused::Lost { .. })));
    Ok(())
}
