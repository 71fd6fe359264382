//! Messages of refused and lost leases.

use turno::core::lease::Refused;
use turno::core::limits::SPAN_MIN;
use turno::lease::Loss;

use super::Cause;
use crate::texts::message::Message;

impl Cause for Refused {
    fn message(&self) -> Message {
        match self {
            Refused::HeldBy { grant, .. } => Message::new("error-lease-held").text("holder", &grant.holder.name),
            Refused::OfferedTo { offer, .. } => Message::new("error-lease-offered").text("holder", &offer.to.name),
            Refused::Lost { ending } => lost(ending.as_ref().map_or("unknown", |ending| ending.cause.as_str())),
            Refused::Pinned => Message::new("error-lease-pinned"),
            Refused::LineFull => Message::new("error-line-full"),
            Refused::AlreadyHolder => Message::new("error-already-holder"),
            Refused::IdleMissing => Message::new("error-idle-required"),
            Refused::KeepOutOfBounds { max } => Message::new("error-keep").number("max", max.0),
            Refused::TtlOutOfBounds { max } => Message::new("error-ttl").number("min", SPAN_MIN.0).number("max", max.0),
        }
    }
}

impl Cause for Loss {
    fn message(&self) -> Message {
        match self {
            Loss::Ended(ending) => lost(ending.as_ref().map_or("expired", |ending| ending.cause.as_str())),
            Loss::Unreachable => lost("unreachable"),
            Loss::Denied => lost("denied"),
        }
    }
}

fn lost(cause: &str) -> Message {
    Message::new("error-lease-lost").text("cause", cause)
}
