//! A claim that may wait longer than a server keeps a call open.

use std::time::Duration;

use super::{Body, ClaimWish};
use crate::client::{Answer, Client, Refusal};
use crate::failure::Failure;
use crate::uptime::Uptime;

/// The longest that a server waits in one call. Asking again at once keeps the place in line.
const SLICE: Duration = Duration::from_secs(30);

/// Claims under `path`, standing in line for as long as the wish says.
pub(in crate::cli) async fn claim(client: &Client, path: &str, wish: &ClaimWish) -> Result<Answer, Failure> {
    Ok(try_claim(client, path, wish).await?.0)
}

/// The same, for whoever wants to know why not, or when the call was made that succeeded.
pub(in crate::cli) async fn try_claim(
    client: &Client,
    path: &str,
    wish: &ClaimWish,
) -> Result<(Answer, Uptime), Refusal> {
    let mut left = wish.wait.unwrap_or_default();
    loop {
        let slice = left.min(SLICE);
        left -= slice;
        let body = Body::new().maybe("instance", wish.instance.clone()).span("ttl_ms", wish.ttl);
        let body = body.span("wait_ms", Some(slice).filter(|slice| !slice.is_zero()));
        let asked = Uptime::start();
        let refusal = match client.try_post(path, &body).await {
            Ok(answer) => return Ok((answer, asked)),
            Err(refusal) => refusal,
        };
        let waited = matches!(refusal.code.as_deref(), Some("lease_held" | "lease_offered"));
        if !waited || left.is_zero() {
            return Err(refusal);
        }
    }
}
