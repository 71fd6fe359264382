//! What went on lately, for the small charts: the process's own counters, looked at every so often.
//!
//! It counts what *this* server did since it was started, and the page says so: with several instances each shows its own
//! part. What is in the queues and who holds what is read from the database and is the same everywhere.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use turno::core::time::Time;

use crate::figures;
use crate::uptime::Uptime;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(5);
/// A day of looks.
const KEPT: usize = 24 * 720;
/// Looks that a chart shows: a quarter of an hour.
const SHOWN: usize = 180;
/// Looks that a rate is reckoned over: half a minute, so that one busy instant is no mountain. The first ones have less
/// behind them.
const OVER: usize = 6;

/// A rate over less says nothing.
const MINUTES_MIN: f64 = 4.0 / 60.0;

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counters {
    pub(crate) processed: f64,
    pub(crate) failed: f64,
    pub(crate) claimed: f64,
    /// Somebody wanted what another held, or came late with a fence that was over.
    pub(crate) collisions: f64,
}

/// The looks, oldest first.
#[derive(Debug)]
pub(crate) struct Trend {
    started: Uptime,
    looks: Mutex<VecDeque<(Duration, Counters)>>,
}

impl Default for Trend {
    fn default() -> Trend {
        Trend { started: Uptime::start(), looks: Mutex::new(VecDeque::from([(Duration::ZERO, Counters::default())])) }
    }
}

/// One line of a chart.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Line {
    pub(crate) label: String,
    /// The colour's name in the style sheet.
    pub(crate) tone: &'static str,
    pub(crate) values: Vec<f64>,
}

/// A chart as console.js draws it.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Chart {
    /// Seconds since 1970.
    pub(crate) times: Vec<i64>,
    pub(crate) series: Vec<Line>,
}

impl Chart {
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The rates of a quarter of an hour, per minute.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    pub(crate) times: Vec<i64>,
    pub(crate) each: Vec<Counters>,
}

impl Rates {
    pub(crate) fn last(&self) -> Counters {
        self.each.last().copied().unwrap_or_default()
    }

    pub(crate) fn line(&self, label: String, tone: &'static str, of: impl Fn(&Counters) -> f64) -> Line {
        Line { label, tone, values: self.each.iter().map(of).collect() }
    }
}

impl Trend {
    /// Looks at the counters for as long as it is polled.
    pub(crate) async fn watch(&self) {
        loop {
            self.look(counters(&figures::installed().render()));
            tokio::time::sleep(EVERY).await;
        }
    }

    fn look(&self, counters: Counters) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.push_back((self.started.elapsed(), counters));
        if looks.len() > KEPT {
            looks.pop_front();
        }
    }

    /// Counted in the last day, or since the start if that is shorter.
    pub(crate) fn of_a_day(&self, of: impl Fn(&Counters) -> f64) -> i64 {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        match (looks.front(), looks.back()) {
            (Some((_, first)), Some((_, last))) => (of(last) - of(first)) as i64,
            _ => 0,
        }
    }

    /// How long it has been counting, up to a day.
    pub(crate) fn counting_since(&self, now: Time) -> Time {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let first = looks.front().map_or(Duration::ZERO, |(at, _)| *at);
        self.time(first, now)
    }

    fn time(&self, at: Duration, now: Time) -> Time {
        let ago = self.started.elapsed().saturating_sub(at).as_millis();
        Time(now.0.saturating_sub(i64::try_from(ago).unwrap_or(i64::MAX)))
    }

    pub(crate) fn rates(&self, now: Time) -> Rates {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rates = Rates::default();
        for end in looks.len().saturating_sub(SHOWN).max(1)..looks.len() {
            let ((from, before), (at, after)) = (looks[end.saturating_sub(OVER)], looks[end]);
            let minutes = at.saturating_sub(from).as_secs_f64() / 60.0;
            if minutes < MINUTES_MIN {
                continue;
            }
            let rate = |of: fn(&Counters) -> f64| ((of(&after) - of(&before)) / minutes * 10.0).round() / 10.0;
            rates.times.push(self.time(at, now).0 / 1_000);
            rates.each.push(Counters {
                processed: rate(|counters| counters.processed),
                failed: rate(|counters| counters.failed),
                claimed: rate(|counters| counters.claimed),
                collisions: rate(|counters| counters.collisions),
            });
        }
        rates
    }
}

/// Reads what is needed out of the text for Prometheus, which is the only way that the recorder tells.
fn counters(text: &str) -> Counters {
    let mut counters = Counters::default();
    for line in
        text.lines().filter(|line| line.starts_with("turno_items_total{") || line.starts_with("turno_lease_total{"))
    {
        let Some((labels, value)) = line.rsplit_once(' ') else { continue };
        let value = value.parse::<f64>().unwrap_or_default();
        let is =
            |name: &str, wanted: &[&str]| wanted.iter().any(|wanted| labels.contains(&format!("{name}=\"{wanted}\"")));
        let items = labels.starts_with("turno_items_total");
        let into = match (items, is("action", &["claim"])) {
            (true, _) if is("outcome", &["processed"]) => &mut counters.processed,
            (true, _) if is("outcome", &["retrying", "exhausted", "expired"]) => &mut counters.failed,
            (true, _) if is("outcome", &["stale"]) => &mut counters.collisions,
            (false, true) if is("outcome", &["granted"]) => &mut counters.claimed,
            (false, true) if is("outcome", &["held", "offered"]) => &mut counters.collisions,
            _ => continue,
        };
        *into += value;
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collisions_are_refused_claims_and_late_settlements() {
        let text = "# TYPE turno_items_total counter\n\
             turno_items_total{queue=\"a\",outcome=\"processed\"} 3\n\
             turno_items_total{queue=\"b\",outcome=\"processed\"} 4\n\
             turno_items_total{queue=\"b\",outcome=\"stale\"} 5\n\
             turno_items_total{queue=\"b\",outcome=\"retrying\"} 6\n\
             turno_lease_total{action=\"claim\",outcome=\"granted\"} 7\n\
             turno_lease_total{action=\"claim\",outcome=\"held\"} 8\n\
             turno_lease_total{action=\"heartbeat\",outcome=\"lost\"} 9\n";
        let expected = Counters { processed: 7.0, failed: 6.0, claimed: 7.0, collisions: 13.0 };
        assert_eq!(counters(text), expected);
    }

    #[test]
    fn a_day_is_counted_from_its_first_look_and_not_before() {
        let trend = Trend::default();
        let look = |collisions| trend.look(Counters { collisions, ..Counters::default() });
        look(2.0);
        look(9.0);
        assert_eq!(trend.of_a_day(|counters| counters.collisions), 9);
        for _ in 0..KEPT {
            look(10.0);
        }
        assert_eq!(trend.of_a_day(|counters| counters.collisions), 0, "what is older than a day is forgotten");
        assert_eq!(trend.rates(Time(1_000_000)).times.len(), SHOWN.min(trend.rates(Time(0)).times.len()));
    }
}
