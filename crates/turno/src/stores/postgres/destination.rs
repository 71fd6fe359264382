//! The health of queues' push destinations.

use super::PostgresStore;
use super::call::Call;
use super::error::TripError;
use super::row::{garbled, get};
use super::sql;
use crate::store::{DestinationStore, Pending};
use tokio_postgres::Row;
use turno_core::destination::Destination;
use turno_core::event::Event;
use turno_core::id::{Lane, QueueId};
use turno_core::time::Time;

fn destination(row: &Row) -> Result<(QueueId, Destination), TripError> {
    let destination = Destination {
        version: get(row, 1)?,
        failures: u32::try_from(get::<i32>(row, 2)?).map_err(garbled)?,
        first: Lane(get(row, 3)?),
        several: get(row, 4)?,
        began_at: Time(get(row, 5)?),
        down_at: get::<Option<i64>>(row, 6)?.map(Time),
        probe_at: Time(get(row, 7)?),
        error: get(row, 8)?,
        revive_since: get::<Option<i64>>(row, 9)?.map(Time),
        revive_until: get::<Option<i64>>(row, 10)?.map(Time),
        stuck_at: get::<Option<i64>>(row, 11)?.map(Time),
    };
    Ok((QueueId(get(row, 0)?), destination))
}

impl DestinationStore for PostgresStore {
    fn destination(&self, queue: QueueId) -> Pending<'_, Option<Destination>> {
        Box::pin(async move {
            let found = self.first(Call::new(&sql::DESTINATION_READ).int(queue.0), destination).await?;
            Ok(found.map(|(_, destination)| destination))
        })
    }

    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>> {
        Box::pin(self.all(Call::new(&sql::DESTINATION_LIST), destination))
    }

    /// Returns whether the row was stored: `false` if another process has stored a version since. If the statement is
    /// repeated after a lost connection, it may find its own version and return `false`; then the caller reads the row
    /// again.
    fn put_destination(&self, queue: QueueId, new: Destination, news: Option<Event>) -> Pending<'_, bool> {
        Box::pin(async move {
            let news = news.as_ref();
            let save = Call::new(&sql::DESTINATION_SAVE)
                .int(queue.0)
                .big(new.version)
                .int(i32::try_from(new.failures).unwrap_or(i32::MAX))
                .big(new.first.0)
                .flag(new.several)
                .big(new.began_at.0)
                .maybe_big(new.down_at.map(|at| at.0))
                .big(new.probe_at.0)
                .text(&new.error)
                .maybe_big(new.revive_since.map(|at| at.0))
                .maybe_big(new.revive_until.map(|at| at.0))
                .maybe_big(new.stuck_at.map(|at| at.0))
                .maybe_text(news.map(|news| news.topic.as_str()))
                .maybe_text(news.map(|news| news.name.as_str()))
                .maybe_text(news.map(|news| &*news.resource))
                .maybe_big(news.map(|news| news.at.0))
                .maybe_text(news.and_then(|news| news.detail.as_deref()));
            Ok(!self.read(vec![save]).await?.take().is_empty())
        })
    }
}
