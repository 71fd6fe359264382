//! A histogram of durations with buckets that are 3 % wide: cheap enough for the measured loop.

use std::time::Duration;

/// Buckets per doubling, as a power of two.
const FINE: u32 = 5;
const BUCKETS: usize = ((64 - FINE as usize) << FINE) + (1 << FINE);

/// Counts of calls by duration.
#[derive(Clone)]
pub(crate) struct Histogram {
    buckets: Vec<u32>,
    count: u64,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram { buckets: vec![0; BUCKETS], count: 0 }
    }

    pub(crate) fn record(&mut self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanos)] += 1;
        self.count += 1;
    }

    pub(crate) fn add(&mut self, other: &Histogram) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
    }

    /// Returns the duration that `share` of the calls did not exceed, or `None` without calls.
    pub(crate) fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let reaches = |count: &u32| {
            seen += u64::from(*count);
            seen >= rank
        };
        let index = self.buckets.iter().position(reaches)?;
        Some(Duration::from_nanos(upper(index)))
    }
}

fn bucket(nanos: u64) -> usize {
    if nanos < 1 << FINE {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - FINE;
    ((shift as usize) << FINE) + (nanos >> shift) as usize
}

/// Returns the largest value of a bucket.
fn upper(index: usize) -> u64 {
    if index < 2 << FINE {
        return index as u64;
    }
    let shift = (index >> FINE) - 1;
    let lower = ((index & ((1 << FINE) - 1)) + (1 << FINE)) as u64;
    (lower << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_ends_where_the_next_one_begins() {
        for index in 0..BUCKETS - 2 {
            assert_eq!(bucket(upper(index)), index);
            assert_eq!(bucket(upper(index) + 1), index + 1);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_never_below_the_true_value_and_at_most_a_bucket_above() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=1_000).for_each(|micros| histogram.record(Duration::from_micros(micros)));
        for (share, micros) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let found = histogram.quantile(share).unwrap().as_secs_f64() * 1e6;
            assert!((micros..micros * 1.04).contains(&found), "{share}: {found} instead of {micros}");
        }
    }
}
