//! How a delivery is named outside: one opaque text, beside which the fence travels.
//!
//! `a`, then queue, first item, size and, where there is one, the lane, as hexadecimal numbers with `-` between them:
//! `a3-1f4-2-00c0ffee00c0ffee`. The letter is the version of the form. It is read in one other place, the SQL function
//! `turno.complete`; whoever changes it here gives it another letter and teaches both.

use super::Handed;
use crate::id::{Fence, Lane, QueueId, Seq};

/// The text names no delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a delivery; pass the text on exactly as it was handed out")]
pub struct BadDelivery;

impl Handed {
    /// The delivery's name outside, without its fence.
    pub fn token(&self) -> String {
        let Handed { queue: QueueId(queue), seq: Seq(seq), lane, size, .. } = self;
        match lane {
            Some(Lane(lane)) => format!("a{queue:x}-{seq:x}-{size:x}-{lane:016x}"),
            None => format!("a{queue:x}-{seq:x}-{size:x}"),
        }
    }

    /// The delivery of this name and fence. Only what [`Handed::token`] wrote is accepted.
    pub fn parse(token: &str, fence: Fence) -> Result<Handed, BadDelivery> {
        let mut fields = token.strip_prefix('a').ok_or(BadDelivery)?.split('-');
        let mut field = || fields.next().map(|text| u64::from_str_radix(text, 16).map_err(|_| BadDelivery)).transpose();
        let (queue, seq, size, lane) = (field()?, field()?, field()?, field()?);
        let (Some(queue), Some(seq), Some(size)) = (queue, seq, size) else {
            return Err(BadDelivery);
        };
        let handed = Handed {
            queue: QueueId(queue.try_into().map_err(|_| BadDelivery)?),
            seq: Seq(seq.try_into().map_err(|_| BadDelivery)?),
            lane: lane.map(|lane| Lane(lane.cast_signed())),
            size: size.try_into().map_err(|_| BadDelivery)?,
            fence,
        };
        // One text per delivery: no other case, no signs, no zeros before, nothing behind.
        if handed.token() == token { Ok(handed) } else { Err(BadDelivery) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_found_by_its_name_and_fence() {
        for lane in [None, Some(Lane(0)), Some(Lane(-1)), Some(Lane(i64::MIN)), Some(Lane(i64::MAX))] {
            for (queue, seq, size) in [(1, 2, 3), (i32::MAX, i64::MAX, u32::MAX)] {
                let handed = Handed { queue: QueueId(queue), seq: Seq(seq), lane, size, fence: Fence(77) };
                assert_eq!(Handed::parse(&handed.token(), Fence(77)), Ok(handed));
            }
        }
    }

    #[test]
    fn the_name_does_not_change_between_versions() {
        let handed = Handed { queue: QueueId(3), seq: Seq(500), lane: None, size: 2, fence: Fence(9) };
        assert_eq!(handed.token(), "a3-1f4-2");
        assert_eq!(Handed { lane: Some(Lane(-2)), ..handed }.token(), "a3-1f4-2-fffffffffffffffe");
    }

    #[test]
    fn what_was_not_handed_out_so_is_refused() {
        for text in [
            "",
            "a",
            "b3-1f4-2",
            "a3-1f4",
            "a3-1F4-2",
            "a03-1f4-2",
            "a+3-1f4-2",
            "a3-1f4-2-",
            "a3-1f4-2-2",
            "a3-1f4-2-fffffffffffffffe-1",
            "a80000000-1-1",
            "a1-8000000000000000-1",
            "a1-1-100000000",
            " a3-1f4-2",
        ] {
            assert_eq!(Handed::parse(text, Fence(1)), Err(BadDelivery), "{text:?}");
        }
    }
}
