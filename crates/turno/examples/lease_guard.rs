//! A lease that is lost: the work under it is dropped at that moment, and whoever comes late is refused by the fence.
//! `cargo run --example lease_guard -- sqlite:guard.db`

use std::time::Duration;
use turno::{Action, Refused, Turno};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turno = Turno::open(&std::env::args().nth(1).unwrap_or("sqlite:guard.db".into())).await?;
    let hold = turno.hold("caja:3", "till-1").ttl(Duration::from_secs(1)).await?.expect("nobody else holds it");
    let fence = hold.fence();
    println!("held");

    // Somebody with the right to do so takes it over, and says why.
    let take = Action::ForceClaim { reason: "the till is needed elsewhere".to_owned(), fence: None };
    let taken = turno.lease(turno.command("caja:3", "eva", take)?).await?;
    let new = taken.state.grant.expect("an override holds it").fence;

    let work = hold.run(std::future::pending::<()>()).await;
    println!("{}", work.expect_err("it never ends by itself"));
    println!("the new fence is greater: {}", new > fence);

    // Whatever arrives with the old fence changes nothing.
    let late = turno.command("caja:3", hold.user().as_str(), Action::Heartbeat { fence, idle: None, worked: true })?;
    let refused = turno.lease(late).await?.answer;
    println!("the late heartbeat is refused: {}", matches!(refused, Err(Refused::Lost { .. })));
    Ok(())
}
