//! The rows: each measures one kind of work in rounds, beside its comparison.

mod beats;
mod bulk;
mod drain;
mod enqueue;
mod growth;
mod http;
mod ordered;
mod overload;
mod pairs;
mod pickup;

pub(crate) use bulk::Sender;
pub(crate) use http::HttpWork;

use crate::args::Args;
use crate::measure::Outcome;
use crate::result::{Measured, Sample};
use crate::site::{Home, Site};
use crate::spec::{Row, WorkKind};

/// The environment of a row.
pub(crate) struct Bench<'a> {
    home: &'a Home,
    args: &'a Args,
    row: &'a Row,
}

/// Measures one row.
pub(crate) async fn measure(home: &Home, args: &Args, row: &Row) -> Outcome<Measured> {
    let bench = Bench { home, args, row };
    match row.work {
        WorkKind::EnqueueSingle => enqueue::single(&bench).await,
        WorkKind::EnqueueBatch => enqueue::batch(&bench).await,
        WorkKind::Drain(batch) => drain::measure(&bench, batch).await,
        WorkKind::Ordered => ordered::measure(&bench).await,
        WorkKind::PickUp => pickup::measure(&bench).await,
        WorkKind::BesideBulk(sender) => bulk::measure(&bench, sender).await,
        WorkKind::Heartbeats => beats::measure(&bench).await,
        WorkKind::Pairs(holders) => pairs::measure(&bench, holders).await,
        WorkKind::Backlog => growth::backlog(&bench).await,
        WorkKind::History => growth::history(&bench).await,
        WorkKind::OpenTransaction => growth::open_transaction(&bench).await,
        WorkKind::ManyLanes => growth::many_lanes(&bench).await,
        WorkKind::Http(work) => http::measure(&bench, work).await,
        WorkKind::Overload => overload::measure(&bench).await,
    }
}

impl Bench<'_> {
    /// Creates an empty database.
    async fn fresh(&self) -> Outcome<Site> {
        self.home.fresh(self.row.database).await
    }

    /// Runs raw, Turno, raw, Turno, … each on its own database.
    async fn rounds(
        &self,
        measured: &mut Measured,
        raw: impl AsyncFn(&Site) -> Outcome<Sample>,
        mut ours: impl AsyncFnMut(&Site) -> Outcome<Sample>,
    ) -> Outcome<()> {
        for round in 1..=self.args.runs {
            let site = self.fresh().await?;
            let sample = raw(&site).await?;
            site.remove().await?;
            self.progress(round, "raw", &sample);
            measured.raw.push(sample);
            self.our_round(round, measured, &mut ours).await?;
        }
        Ok(())
    }

    /// Runs Turno in rounds, without a raw side.
    async fn our_rounds(
        &self,
        measured: &mut Measured,
        mut ours: impl AsyncFnMut(&Site) -> Outcome<Sample>,
    ) -> Outcome<()> {
        for round in 1..=self.args.runs {
            self.our_round(round, measured, &mut ours).await?;
        }
        Ok(())
    }

    async fn our_round(
        &self,
        round: u32,
        measured: &mut Measured,
        ours: &mut impl AsyncFnMut(&Site) -> Outcome<Sample>,
    ) -> Outcome<()> {
        let site = self.fresh().await?;
        let sample = ours(&site).await?;
        site.remove().await?;
        self.progress(round, "Turno", &sample);
        measured.ours.push(sample);
        Ok(())
    }

    /// Prints the progress to stderr.
    fn progress(&self, round: u32, side: &str, sample: &Sample) {
        let millis = |duration: Option<std::time::Duration>| duration.unwrap_or_default().as_secs_f64() * 1e3;
        eprintln!(
            "  round {round}/{}: {side} {:.0}/s, p50 {:.2} ms, p99 {:.2} ms",
            self.args.runs,
            sample.per_second,
            millis(sample.p50),
            millis(sample.p99)
        );
    }
}
