//! Leases that change their holder: claim and release over many resources.

use super::Bench;
use crate::measure::{BoxError, Dice, Outcome, Until, closed_loop};
use crate::raw;
use crate::result::{Measured, Sample};
use crate::site::{Database, Site};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use turno::Turno;
use turno::core::id::{Instance, Resource, UserId};
use turno::core::lease::{Action, Command, Grant, Holder, Outcome as Answer, Policy, Refused};

const RESOURCES: u64 = 10_000;

pub(super) async fn measure(bench: &Bench<'_>, holders: usize) -> Outcome<Measured> {
    let (span, database) = (bench.args.span(), bench.row.database);
    let connections = match database {
        Database::Sqlite => 1,
        Database::Postgres => holders,
    };
    let mut measured = Measured {
        conditions: format!(
            "closed loop of {holders} holders: claim one of {RESOURCES} resources at random, release it with its fence; \
             pairs per second, latency of a pair; a claim refused because somebody else holds it does not count"
        ),
        beside: format!("two single-row updates, a commit each, {connections} connection(s), no fence, no history"),
        ..Measured::default()
    };
    let raw = async |site: &Site| match database {
        Database::Sqlite => raw::sqlite::Raw::open(site)?.pairs(RESOURCES, span),
        Database::Postgres => {
            let raw = raw::postgres::Raw::open(site).await?;
            raw.pairs(holders, RESOURCES, span).await
        }
    };
    let mut refusals = Vec::new();
    let ours = async |site: &Site| {
        let (sample, refused) = pairs(site, holders, span).await?;
        refusals.push(refused.to_string());
        Ok(sample)
    };
    bench.rounds(&mut measured, raw, ours).await?;
    measured.notes.push(format!("claims refused, by run: {}", refusals.join(", ")));
    Ok(measured)
}

async fn pairs(site: &Site, holders: usize, span: Duration) -> Outcome<(Sample, u64)> {
    let turno = site.turno().await?;
    let refused = Arc::new(AtomicU64::new(0));
    let mut callers = Vec::new();
    for index in 0..holders {
        let (turno, refused, who) = (turno.clone(), refused.clone(), holder(index)?);
        let mut dice = Dice::new(index);
        callers.push(move || {
            let (turno, refused, who) = (turno.clone(), refused.clone(), who.clone());
            let number = dice.below(RESOURCES);
            async move {
                let resource = Resource::new(format!("lease-{number}"))?;
                let Some(grant) = claim(&turno, resource.clone(), who.clone()).await? else {
                    refused.fetch_add(1, Ordering::Relaxed);
                    return Ok(0);
                };
                release(&turno, resource, who, &grant).await?;
                Ok(1)
            }
        });
    }
    let sample = closed_loop(callers, Until::After(span)).await?;
    Ok((sample, refused.load(Ordering::Relaxed)))
}

/// Returns the holder with this number.
pub(super) fn holder(index: usize) -> Outcome<Holder> {
    Ok(Holder {
        user: UserId::new(format!("user-{index}"))?,
        name: format!("User {index}"),
        instance: Some(Instance::new("bench")?),
    })
}

/// Claims a lease. Returns `None` if another holder has it.
pub(super) async fn claim(turno: &Turno, resource: Resource, who: Holder) -> Outcome<Option<Grant>> {
    let command = Command {
        resource,
        who,
        via: None,
        policy: Policy::default(),
        action: Action::Claim { ttl: None, wait: false },
    };
    let answer = turno.lease_command(command).await?;
    match answer.answer {
        Ok(Answer::Claimed { renewed: false }) => Ok(answer.state.grant),
        Err(Refused::HeldBy { .. }) => Ok(None),
        other => Err(format!("a claim was answered with {other:?}").into()),
    }
}

async fn release(turno: &Turno, resource: Resource, who: Holder, grant: &Grant) -> Outcome<()> {
    let command = Command {
        resource,
        who,
        via: None,
        policy: Policy::default(),
        action: Action::Release { fence: grant.fence, claim: Some(grant.claim) },
    };
    let answer = turno.lease_command(command).await?.answer;
    match answer {
        Ok(Answer::Released { released: true, .. }) => Ok(()),
        other => Err(BoxError::from(format!("a release was answered with {other:?}"))),
    }
}
