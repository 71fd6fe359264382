//! How long items of a queue waited, and how long they took: of those that were done lately.

use crate::time::Span;

/// How it was with one item that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// From its acceptance to the hand-out that finished it: windows, delays and earlier attempts included.
    pub waited: Span,
    /// From its acceptance to its end.
    pub took: Span,
}

/// Half of the items were quicker than the first number, and nineteen of twenty than the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// The median.
    pub p50: Span,
    /// Slower were only five in a hundred.
    pub p95: Span,
}

/// How quick a queue was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// So many items were looked at.
    pub items: u64,
    /// Until the hand-out that finished them.
    pub waited: Quantiles,
    /// Until they were done.
    pub took: Quantiles,
}

impl Latency {
    /// So many items are looked at and no more, so that a glance at a busy queue stays one.
    pub const MOST: u32 = 1_000;

    /// Nothing is known of nothing.
    pub fn of(all: &[Waited]) -> Option<Latency> {
        Some(Latency {
            items: all.len() as u64,
            waited: Quantiles::of(all.iter().map(|one| one.waited))?,
            took: Quantiles::of(all.iter().map(|one| one.took))?,
        })
    }
}

impl Quantiles {
    fn of(spans: impl Iterator<Item = Span>) -> Option<Quantiles> {
        let mut spans: Vec<Span> = spans.collect();
        spans.sort_unstable();
        // The smallest that at least so many in a hundred do not exceed.
        let at = |percent: usize| spans.get((spans.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Quantiles { p50: at(50)?, p95: at(95)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_were_quicker_than_the_median_and_one_in_twenty_slower_than_the_rest() {
        let all: Vec<Waited> = (1..=100).rev().map(|n| Waited { waited: Span(n), took: Span(10 * n) }).collect();
        let latency = Latency::of(&all).expect("some");
        assert_eq!((latency.items, latency.waited), (100, Quantiles { p50: Span(50), p95: Span(95) }));
        assert_eq!(latency.took, Quantiles { p50: Span(500), p95: Span(950) });
        let one = Latency::of(&all[..1]).expect("one");
        assert_eq!(one.waited, Quantiles { p50: Span(100), p95: Span(100) });
        assert_eq!(Latency::of(&[]), None);
    }
}
