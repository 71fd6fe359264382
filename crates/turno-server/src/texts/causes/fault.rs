//! Messages of invalid fields, names and words.

use turno::core::audit::{BadHead, Broken};
use turno::core::fault::{Fault, Invalid, Thing, UnknownWord};
use turno::core::id::BadName;
use turno::core::queue::BadPolicy;

use super::Cause;
use crate::texts::message::Message;

impl Cause for Invalid {
    fn message(&self) -> Message {
        let field = match self.index {
            Some(index) => format!("[{index}].{}", self.field),
            None => self.field.to_owned(),
        };
        Message::new("error-field").text("field", field).message("fault", self.fault.message())
    }
}

impl Cause for Fault {
    fn message(&self) -> Message {
        match self {
            Fault::OutOfBounds { min, max } => Message::new("error-bounds").number("min", *min).number("max", *max),
            Fault::Length { max } => Message::new("error-length").number("max", *max),
            Fault::TooMany { max, given } => Message::new("error-too-many").number("max", *max).number("given", *given),
            Fault::TooLarge { max } => Message::new("error-too-large").number("max", *max),
            Fault::TooDeep { max } => Message::new("error-too-deep").number("max", *max),
            Fault::Nul => Message::new("error-nul"),
            Fault::BidiControl => Message::new("error-bidi"),
            Fault::NotJson(cause) => Message::new("error-not-json").text("cause", cause),
            Fault::Name(bad) => bad.message(),
            Fault::KeyRequired => Message::new("error-key-required"),
            Fault::NoLines => Message::new("error-no-lines"),
            Fault::Twice(serial) => Message::new("error-twice").text("serial", serial),
            Fault::Cursor => Message::new("error-cursor"),
        }
    }
}

impl Cause for BadName {
    fn message(&self) -> Message {
        let (id, kind) = match self {
            BadName::Empty(kind) => ("error-name-empty", kind),
            BadName::TooLong(kind) => ("error-name-long", kind),
            BadName::Control(kind) => ("error-name-control", kind),
            BadName::Dots(kind) => ("error-name-dots", kind),
        };
        let name = Message::new("error-name-kind").text("kind", kind.as_str());
        Message::new(id).message("name", name).number("max", kind.max())
    }
}

impl Cause for BadPolicy {
    fn message(&self) -> Message {
        let BadPolicy { field, min, max } = self;
        Message::new("error-policy").text("field", field).number("min", *min).number("max", *max)
    }
}

impl Cause for UnknownWord {
    fn message(&self) -> Message {
        Message::new("error-unknown-word")
            .text("vocabulary", self.vocabulary.as_str())
            .text("given", &self.given)
            .text("known", self.known.join(", "))
    }
}

impl Cause for Thing {
    fn message(&self) -> Message {
        match self {
            Thing::User(user) => Message::verbatim(user),
            Thing::Token(id) => Message::new("thing-token").text("id", id),
            Thing::Link => Message::new("thing-link"),
            Thing::Queue(queue) => Message::new("thing-queue").text("queue", queue),
            Thing::Task(task) => Message::new("thing-task").text("task", task),
        }
    }
}

impl Cause for BadHead {
    fn message(&self) -> Message {
        Message::new("error-head").text("given", &self.0)
    }
}

impl Cause for Broken {
    fn message(&self) -> Message {
        match self {
            Broken::Gap { expected, found } => {
                Message::new("error-chain-gap").text("expected", expected).text("found", found)
            }
            Broken::Altered(n) => Message::new("error-chain-altered").text("n", n),
            Broken::Cut { expected, found } => {
                Message::new("error-chain-cut").text("expected", expected).text("found", found)
            }
            Broken::Rewritten(n) => Message::new("error-chain-rewritten").text("n", n),
        }
    }
}
