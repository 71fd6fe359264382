//! The server's recent activity, for the small charts: samples of the process's own counters.
//!
//! The counters belong to *this* server process since its start, and the page says so: with several servers each shows
//! its own part. The contents of queues and the leases come from the database and are the same everywhere.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use turno::core::time::Time;

use crate::figures;
use crate::stopwatch::Stopwatch;

/// The interval between two samples.
const EVERY: Duration = Duration::from_secs(5);
/// How many samples are kept: a day.
const KEPT: usize = 24 * 720;
/// How many samples a chart shows: 15 minutes.
const SHOWN: usize = 180;
/// How many samples a rate covers: half a minute, which smooths short bursts. The first rates cover less.
const RATE_SAMPLES: usize = 6;

/// The shortest time for a meaningful rate.
const MINUTES_MIN: f64 = 4.0 / 60.0;

/// Counters since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counters {
    pub(crate) processed: f64,
    pub(crate) failed: f64,
    pub(crate) claimed: f64,
    /// Refused claims of held leases, and calls with a stale fence.
    pub(crate) collisions: f64,
}

/// The samples, oldest first.
#[derive(Debug)]
pub(crate) struct Trend {
    started: Stopwatch,
    samples: Mutex<VecDeque<(Duration, Counters)>>,
}

impl Default for Trend {
    fn default() -> Trend {
        Trend {
            started: Stopwatch::start(),
            samples: Mutex::new(VecDeque::from([(Duration::ZERO, Counters::default())])),
        }
    }
}

/// One line of a chart.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Line {
    pub(crate) label: String,
    /// The name of the colour in the style sheet.
    pub(crate) tone: &'static str,
    pub(crate) values: Vec<f64>,
}

/// A chart as console.js draws it.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Chart {
    /// Unix timestamps in seconds.
    pub(crate) times: Vec<i64>,
    pub(crate) series: Vec<Line>,
}

impl Chart {
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Rates per minute over the last 15 minutes.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    pub(crate) times: Vec<i64>,
    pub(crate) each: Vec<Counters>,
}

impl Rates {
    pub(crate) fn last(&self) -> Counters {
        self.each.last().copied().unwrap_or_default()
    }

    pub(crate) fn line(&self, label: String, tone: &'static str, value_of: impl Fn(&Counters) -> f64) -> Line {
        Line { label, tone, values: self.each.iter().map(value_of).collect() }
    }
}

impl Trend {
    /// Samples the counters for as long as the future is polled.
    pub(crate) async fn watch(&self) {
        loop {
            self.sample(counters(&figures::installed().render()));
            tokio::time::sleep(EVERY).await;
        }
    }

    fn sample(&self, counters: Counters) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.push_back((self.started.elapsed(), counters));
        if samples.len() > KEPT {
            samples.pop_front();
        }
    }

    /// Returns the count of the last day, or since the start if that is shorter.
    pub(crate) fn last_day(&self, value_of: impl Fn(&Counters) -> f64) -> i64 {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        match (samples.front(), samples.back()) {
            (Some((_, first)), Some((_, last))) => (value_of(last) - value_of(first)) as i64,
            _ => 0,
        }
    }

    /// Returns when the counting began, at most a day ago.
    pub(crate) fn counting_since(&self, now: Time) -> Time {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let first = samples.front().map_or(Duration::ZERO, |(at, _)| *at);
        self.time(first, now)
    }

    fn time(&self, at: Duration, now: Time) -> Time {
        let ago = self.started.elapsed().saturating_sub(at).as_millis();
        Time(now.0.saturating_sub(i64::try_from(ago).unwrap_or(i64::MAX)))
    }

    pub(crate) fn rates(&self, now: Time) -> Rates {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rates = Rates::default();
        for end in samples.len().saturating_sub(SHOWN).max(1)..samples.len() {
            let ((from, before), (at, after)) = (samples[end.saturating_sub(RATE_SAMPLES)], samples[end]);
            let minutes = at.saturating_sub(from).as_secs_f64() / 60.0;
            if minutes < MINUTES_MIN {
                continue;
            }
            let rate = |value_of: fn(&Counters) -> f64| {
                ((value_of(&after) - value_of(&before)) / minutes * 10.0).round() / 10.0
            };
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

/// Parses the counters out of the text for Prometheus, because the recorder has no other interface.
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
    fn the_count_of_a_day_begins_with_its_first_sample() {
        let trend = Trend::default();
        let sample = |collisions| trend.sample(Counters { collisions, ..Counters::default() });
        sample(2.0);
        sample(9.0);
        assert_eq!(trend.last_day(|counters| counters.collisions), 9);
        for _ in 0..KEPT {
            sample(10.0);
        }
        assert_eq!(trend.last_day(|counters| counters.collisions), 0, "older samples are dropped");
        assert_eq!(trend.rates(Time(1_000_000)).times.len(), SHOWN.min(trend.rates(Time(0)).times.len()));
    }
}
