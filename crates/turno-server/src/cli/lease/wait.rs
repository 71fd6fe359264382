//! A claim that may wait longer than a server keeps a call open.

use std::time::Duration;

use super::{Body, ClaimArgs};
use crate::client::{Answer, Client, Refusal};
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

/// The longest wait of one call. Repeating the call at once keeps the ticket alive.
const SLICE: Duration = Duration::from_secs(30);

/// Claims under `path`. Stays in the waiting line for as long as the options say.
pub(in crate::cli) async fn claim(client: &Client, path: &str, args: &ClaimArgs) -> Result<Answer, Failure> {
    Ok(try_claim(client, path, args).await?.0)
}

/// Claims as above. Returns the refusal, or the answer with a stopwatch started when the call was sent.
pub(in crate::cli) async fn try_claim(
    client: &Client,
    path: &str,
    args: &ClaimArgs,
) -> Result<(Answer, Stopwatch), Refusal> {
    let mut left = args.wait.unwrap_or_default();
    loop {
        let slice = left.min(SLICE);
        left -= slice;
        let body = Body::new().maybe("instance", args.instance.clone()).span("ttl_ms", args.ttl);
        let body = body.span("wait_ms", Some(slice).filter(|slice| !slice.is_zero()));
        let sent = Stopwatch::start();
        let refusal = match client.try_post(path, &body).await {
            Ok(answer) => return Ok((answer, sent)),
            Err(refusal) => refusal,
        };
        let waited = matches!(refusal.code.as_deref(), Some("lease_held" | "lease_offered"));
        if !waited || left.is_zero() {
            return Err(refusal);
        }
    }
}
