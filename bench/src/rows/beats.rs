//! Heartbeats: most are answered from a read. A note counts the written ones.

use super::Bench;
use super::pairs::{claim, holder};
use crate::measure::{BoxError, Outcome, Until, closed_loop};
use crate::raw;
use crate::result::{Measured, Sample};
use crate::site::{Database, Site};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use turno::core::id::Resource;
use turno::core::lease::{Action, Beat, Command, Outcome as Answer, Policy};

const HOLDERS: usize = 256;
/// Connections of the raw limit. More were not faster.
const CONNECTIONS: usize = 32;

pub(super) async fn measure(bench: &Bench<'_>) -> Outcome<Measured> {
    let (span, database) = (bench.args.span(), bench.row.database);
    let connections = match database {
        Database::Sqlite => 1,
        Database::Postgres => CONNECTIONS,
    };
    let mut measured = Measured {
        conditions: format!(
            "closed loop of {HOLDERS} holders, each beating for its own lease of 30 s with its fence; a beat is written when the \
             last written one is a second old and answered from a committed read otherwise; beats answered per second"
        ),
        beside: format!("single-row update commits, {connections} connection(s): every one is written"),
        ..Measured::default()
    };
    let raw = async |site: &Site| match database {
        Database::Sqlite => raw::sqlite::Raw::open(site)?.renew(HOLDERS as u64, span),
        Database::Postgres => {
            let raw = raw::postgres::Raw::open(site).await?;
            raw.renew(CONNECTIONS, HOLDERS as u64, span).await
        }
    };
    let mut written = Vec::new();
    let ours = async |site: &Site| {
        let (sample, writes) = beat(site, span).await?;
        written.push(format!("{writes}"));
        Ok(sample)
    };
    bench.rounds(&mut measured, raw, ours).await?;
    measured.notes.push(format!(
        "beats written during {:.1} s, by run: {} (about {HOLDERS} a second)",
        span.as_secs_f64() * 1.1,
        written.join(", ")
    ));
    Ok(measured)
}

async fn beat(site: &Site, span: Duration) -> Outcome<(Sample, u64)> {
    let turno = site.turno().await?;
    let writes = Arc::new(AtomicU64::new(0));
    let mut callers = Vec::new();
    for index in 0..HOLDERS {
        let resource = Resource::new(format!("lease-{index}"))?;
        let who = holder(index)?;
        let Some(grant) = claim(&turno, resource.clone(), who.clone()).await? else {
            return Err("a lease that nobody holds was refused".into());
        };
        let command = Arc::new(Command {
            resource,
            who,
            via: None,
            policy: Policy::default(),
            action: Action::Heartbeat { fence: grant.fence, idle: None, worked: false },
        });
        let last = Arc::new(AtomicI64::new(grant.heartbeat_at.0));
        let (turno, writes) = (turno.clone(), writes.clone());
        callers.push(move || {
            let (turno, command) = (turno.clone(), command.clone());
            let (last, writes) = (last.clone(), writes.clone());
            async move {
                let answer = turno.lease_command(Command::clone(&command)).await?;
                match (&answer.answer, &answer.state.grant) {
                    (Ok(Answer::Beat(Beat::Renewed)), Some(grant)) => {
                        let at = grant.heartbeat_at.0;
                        if last.swap(at, Ordering::Relaxed) != at {
                            writes.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(1)
                    }
                    (other, _) => Err(BoxError::from(format!("a beat was answered with {other:?}"))),
                }
            }
        });
    }
    let sample = closed_loop(callers, Until::After(span)).await?;
    Ok((sample, writes.load(Ordering::Relaxed)))
}
