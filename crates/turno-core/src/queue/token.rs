//! The name of a delivery in the API: one opaque text. The fence is a separate field.
//!
//! The text is the letter `a`, then the queue, the first item, the size and, if there is one, the lane. These are
//! hexadecimal numbers separated by `-`: `a3-1f4-2-00c0ffee00c0ffee`. The letter is the version of the format. The SQL
//! function `turno.complete` parses the same format. A change of the format needs another letter, here and there.

use super::DeliveryRef;
use crate::id::{Fence, Lane, QueueId, Seq};

/// The text is not the name of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a delivery; pass the text on exactly as it was handed out")]
pub struct BadDelivery;

impl DeliveryRef {
    /// Renders the delivery's name, without the fence.
    pub fn token(&self) -> String {
        let DeliveryRef { queue: QueueId(queue), seq: Seq(seq), lane, size, .. } = self;
        match lane {
            Some(Lane(lane)) => format!("a{queue:x}-{seq:x}-{size:x}-{lane:016x}"),
            None => format!("a{queue:x}-{seq:x}-{size:x}"),
        }
    }

    /// Parses a delivery's name. Accepts only text that [`DeliveryRef::token`] renders.
    pub fn parse(token: &str, fence: Fence) -> Result<DeliveryRef, BadDelivery> {
        let mut fields = token.strip_prefix('a').ok_or(BadDelivery)?.split('-');
        let mut field = || fields.next().map(|text| u64::from_str_radix(text, 16).map_err(|_| BadDelivery)).transpose();
        let (queue, seq, size, lane) = (field()?, field()?, field()?, field()?);
        let (Some(queue), Some(seq), Some(size)) = (queue, seq, size) else {
            return Err(BadDelivery);
        };
        let reference = DeliveryRef {
            queue: QueueId(queue.try_into().map_err(|_| BadDelivery)?),
            seq: Seq(seq.try_into().map_err(|_| BadDelivery)?),
            lane: lane.map(|lane| Lane(lane.cast_signed())),
            size: size.try_into().map_err(|_| BadDelivery)?,
            fence,
        };
        // Each delivery has exactly one text, so upper case, signs, leading zeros and trailing text are refused.
        if reference.token() == token { Ok(reference) } else { Err(BadDelivery) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivery_name_is_parsed_back_to_the_same_delivery() {
        for lane in [None, Some(Lane(0)), Some(Lane(-1)), Some(Lane(i64::MIN)), Some(Lane(i64::MAX))] {
            for (queue, seq, size) in [(1, 2, 3), (i32::MAX, i64::MAX, u32::MAX)] {
                let reference = DeliveryRef { queue: QueueId(queue), seq: Seq(seq), lane, size, fence: Fence(77) };
                assert_eq!(DeliveryRef::parse(&reference.token(), Fence(77)), Ok(reference));
            }
        }
    }

    #[test]
    fn delivery_name_format_never_changes() {
        let reference = DeliveryRef { queue: QueueId(3), seq: Seq(500), lane: None, size: 2, fence: Fence(9) };
        assert_eq!(reference.token(), "a3-1f4-2");
        assert_eq!(DeliveryRef { lane: Some(Lane(-2)), ..reference }.token(), "a3-1f4-2-fffffffffffffffe");
    }

    #[test]
    fn altered_delivery_name_is_refused() {
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
            assert_eq!(DeliveryRef::parse(text, Fence(1)), Err(BadDelivery), "{text:?}");
        }
    }
}
