//! Faults of arguments, as data: the field, the bound, the index. Only the edge turns them into sentences for
//! people, in their language.

use crate::id::{BadName, QueueName, Serial, UserId};
use crate::task::TaskId;
use std::fmt;

/// A field that is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    /// The position of the entry in its list, if the field belongs to one: an item of a call, a line of a task.
    pub index: Option<usize>,
    /// The name of the field in the API.
    pub field: &'static str,
    /// The fault of the field.
    pub fault: Fault,
}

impl Invalid {
    /// Makes the error of a field that belongs to no list.
    pub fn new(field: &'static str, fault: Fault) -> Invalid {
        Invalid { index: None, field, fault }
    }

    /// Adds the position of the entry that has the field.
    pub fn at(self, index: usize) -> Invalid {
        Invalid { index: Some(index), ..self }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Invalid { index, field, fault } = self;
        match index {
            Some(index) => write!(f, "[{index}].{field}: {fault}"),
            None => write!(f, "{field}: {fault}"),
        }
    }
}

/// A fault of a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The number is outside its bounds.
    #[error("must be between {min} and {max}")]
    OutOfBounds {
        /// The lower bound.
        min: i64,
        /// The upper bound.
        max: i64,
    },
    /// The text is empty or too long.
    #[error("must have 1 to {max} characters")]
    Length {
        /// The most characters.
        max: usize,
    },
    /// The list has too many entries.
    #[error("at most {max}, not {given}; split it")]
    TooMany {
        /// The most entries.
        max: usize,
        /// The number of entries in the call.
        given: usize,
    },
    /// The text has too many bytes.
    #[error("larger than {max} bytes")]
    TooLarge {
        /// The most bytes.
        max: usize,
    },
    /// The JSON is nested too deeply.
    #[error("nested deeper than {max} levels; flatten it, or send it as a text")]
    TooDeep {
        /// The most levels.
        max: usize,
    },
    /// The text contains a character that changes the direction of text.
    #[error("contains a character that changes the direction of text; remove it")]
    BidiControl,
    /// The text contains a NUL character.
    #[error("contains a NUL character; remove it")]
    Nul,
    /// The value cannot be written as JSON, with the serializer's own text.
    #[error("cannot be written as JSON: {0}")]
    NotJson(String),
    /// The text is not a valid name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// An item of a lane or a sync queue has no key.
    #[error("a lane or sync queue needs to know whose item it is")]
    KeyRequired,
    /// A task that can be claimed has no lines.
    #[error("a task that can be claimed has at least one line")]
    NoLines,
    /// A line names a serial number twice.
    #[error("{0} is there twice")]
    Twice(Serial),
    /// The text is not a position that an earlier page returned.
    #[error("pass on the cursor of the page before, unchanged")]
    Cursor,
}

/// A text that is none of the known words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no {vocabulary}; use {}", known.join(", "))]
pub struct UnknownWord {
    /// What the word should name.
    pub vocabulary: Vocabulary,
    /// The text.
    pub given: String,
    /// The known words.
    pub known: Vec<&'static str>,
}

/// The kinds of known words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vocabulary {
    /// The states of an item.
    ItemState,
    /// The statuses of a task.
    TaskStatus,
    /// The permissions.
    Permission,
    /// The roles.
    Role,
    /// The topics of events.
    Topic,
    /// The reasons for which an ownership ends.
    Reason,
    /// The causes of the end of an ownership.
    Cause,
    /// The directions of a line.
    Movement,
    /// The statuses of a line.
    LineStatus,
}

impl Vocabulary {
    /// Returns a stable word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Vocabulary::ItemState => "item_state",
            Vocabulary::TaskStatus => "task_status",
            Vocabulary::Permission => "permission",
            Vocabulary::Role => "role",
            Vocabulary::Topic => "topic",
            Vocabulary::Reason => "reason",
            Vocabulary::Cause => "cause",
            Vocabulary::Movement => "movement",
            Vocabulary::LineStatus => "line_status",
        }
    }

    /// Finds the value whose name is `given`.
    pub(crate) fn find<T: Copy>(
        self,
        given: &str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, UnknownWord> {
        let unknown = || UnknownWord {
            vocabulary: self,
            given: given.to_owned(),
            known: all.iter().map(|value| name(*value)).collect(),
        };
        all.iter().copied().find(|value| name(*value) == given).ok_or_else(unknown)
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('_', " "))
    }
}

/// A thing that a call names and that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A user.
    User(UserId),
    /// A token, by its id.
    Token(String),
    /// A sign-in link, which is secret.
    Link,
    /// A queue.
    Queue(QueueName),
    /// A task.
    Task(TaskId),
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Thing::User(user) => write!(f, "user {user}"),
            Thing::Token(id) => write!(f, "token {id}"),
            Thing::Link => f.write_str("the link"),
            Thing::Queue(queue) => write!(f, "queue {queue}"),
            Thing::Task(task) => write!(f, "task {task}"),
        }
    }
}
