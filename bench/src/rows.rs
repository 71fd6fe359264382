//! The rows: each does one kind of work, round after round, beside what it is compared with.

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
use crate::spec::{Row, Work};

/// What a row has at hand.
pub(crate) struct Bench<'a> {
    home: &'a Home,
    args: &'a Args,
    row: &'a Row,
}

/// Measures one row.
pub(crate) async fn measure(home: &Home, args: &Args, row: &Row) -> Outcome<Measured> {
    let bench = Bench { home, args, row };
    match row.work {
        Work::EnqueueSingle => enqueue::single(&bench).await,
        Work::EnqueueBatch => enqueue::batch(&bench).await,
        Work::Drain(batch) => drain::measure(&bench, batch).await,
        Work::Ordered => ordered::measure(&bench).await,
        Work::PickUp => pickup::measure(&bench).await,
        Work::BesideBulk(sender) => bulk::measure(&bench, sender).await,
        Work::Heartbeats => beats::measure(&bench).await,
        Work::Pairs(holders) => pairs::measure(&bench, holders).await,
        Work::Backlog => growth::backlog(&bench).await,
        Work::History => growth::history(&bench).await,
        Work::OpenTransaction => growth::open_transaction(&bench).await,
        Work::ManyLanes => growth::many_lanes(&bench).await,
        Work::Http(work) => http::measure(&bench, work).await,
        Work::Overload => overload::measure(&bench).await,
    }
}

impl Bench<'_> {
    /// A database that nothing has been written to.
    async fn fresh(&self) -> Outcome<Site> {
        self.home.fresh(self.row.database).await
    }

    /// Raw, Turno, raw, Turno, … each on a database of its own.
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

    /// Turno, round after round, where there is nothing raw to set beside it.
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

    /// Says on stderr how far it is.
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
