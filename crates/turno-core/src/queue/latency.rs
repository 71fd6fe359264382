//! The latency of a queue: how long its recently processed items waited, and how long they took in total.

use crate::time::Span;

/// The times of one processed item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// From its arrival to the delivery that finished it. Includes windows, delays and earlier attempts.
    pub waited: Span,
    /// From its arrival to its end.
    pub took: Span,
}

/// The median and the 95th percentile of a list of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// The median.
    pub p50: Span,
    /// The 95th percentile.
    pub p95: Span,
}

/// The latency of a queue's recently processed items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The number of items.
    pub items: u64,
    /// From their arrival to the delivery that finished them.
    pub waited: Quantiles,
    /// From their arrival to their end.
    pub took: Quantiles,
}

impl Latency {
    /// The most items that are read, so that the read stays fast for a busy queue.
    pub const MOST: u32 = 1_000;

    /// Computes the latency, or `None` without items.
    pub fn from_waits(all: &[Waited]) -> Option<Latency> {
        Some(Latency {
            items: all.len() as u64,
            waited: Quantiles::from_spans(all.iter().map(|item| item.waited))?,
            took: Quantiles::from_spans(all.iter().map(|item| item.took))?,
        })
    }
}

impl Quantiles {
    fn from_spans(spans: impl Iterator<Item = Span>) -> Option<Quantiles> {
        let mut spans: Vec<Span> = spans.collect();
        spans.sort_unstable();
        // The smallest span that at least `percent` of the spans do not exceed.
        let at = |percent: usize| spans.get((spans.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Quantiles { p50: at(50)?, p95: at(95)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_returns_the_median_and_the_95th_percentile() {
        let all: Vec<Waited> = (1..=100).rev().map(|n| Waited { waited: Span(n), took: Span(10 * n) }).collect();
        let latency = Latency::from_waits(&all).expect("some");
        assert_eq!((latency.items, latency.waited), (100, Quantiles { p50: Span(50), p95: Span(95) }));
        assert_eq!(latency.took, Quantiles { p50: Span(500), p95: Span(950) });
        let one = Latency::from_waits(&all[..1]).expect("one");
        assert_eq!(one.waited, Quantiles { p50: Span(100), p95: Span(100) });
        assert_eq!(Latency::from_waits(&[]), None);
    }
}
