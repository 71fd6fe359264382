//! The caller of a settlement, and the deliveries that it may settle.

use super::{Act, WorkerName};
use crate::audit::Actor;
use crate::id::{QueueName, UserId};

/// The caller of a settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settler {
    /// The server, or the program that embeds the library. It may settle every delivery.
    Server,
    /// An account. It may settle the deliveries that it claimed, with any of its tokens.
    Account(UserId),
    /// An account that may manage queues. It may also settle deliveries of others, which is audited. It cannot renew
    /// them, because only their worker knows whether it still works.
    Manager {
        /// The account, for the audit.
        actor: Actor,
        /// The name of the queue, for the audit.
        queue: QueueName,
    },
}

impl Settler {
    /// Returns whether the caller may settle a delivery of `holder` in this way. A delivery without a user belongs to
    /// the server.
    pub fn may(&self, act: &Act, holder: Option<&WorkerName>) -> bool {
        match self {
            Settler::Server => true,
            Settler::Account(user) => owns(user, holder),
            Settler::Manager { actor, .. } => *act != Act::Beat || owns(&actor.user, holder),
        }
    }

    /// Returns the account and the queue if the caller settles the delivery of another account.
    pub fn overrides(&self, holder: Option<&WorkerName>) -> Option<(&Actor, &QueueName)> {
        match self {
            Settler::Manager { actor, queue } if !owns(&actor.user, holder) => Some((actor, queue)),
            _ => None,
        }
    }
}

fn owns(user: &UserId, holder: Option<&WorkerName>) -> bool {
    holder.and_then(WorkerName::user) == Some(user.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Instance;

    #[test]
    fn only_the_claiming_account_the_server_and_managers_settle_a_delivery() {
        let user = |id: &str| UserId::new(id).expect("valid");
        let instance = Instance::new("w-1").expect("valid");
        let of_ana = WorkerName::new(&instance, &user("ana"));
        let of_server = WorkerName::from("w-1");
        let manager = |id| Settler::Manager {
            actor: Actor { user: user(id), via: None },
            queue: QueueName::new("q").expect("valid"),
        };
        let ack = Act::Ack { through: None };
        for (by, act, holder, may) in [
            (Settler::Account(user("ana")), &ack, &of_ana, true),
            (Settler::Account(user("ana")), &Act::Beat, &of_ana, true),
            (Settler::Account(user("leo")), &ack, &of_ana, false),
            (Settler::Account(user("leo")), &Act::Beat, &of_ana, false),
            (Settler::Account(user("w-1")), &ack, &of_server, false),
            (manager("eva"), &ack, &of_ana, true),
            (manager("eva"), &ack, &of_server, true),
            (manager("eva"), &Act::Beat, &of_ana, false),
            (manager("ana"), &Act::Beat, &of_ana, true),
            (Settler::Server, &Act::Beat, &of_ana, true),
        ] {
            assert_eq!(by.may(act, Some(holder)), may, "{by:?} {act:?} {holder:?}");
        }
        assert!(manager("eva").overrides(Some(&of_ana)).is_some() && manager("ana").overrides(Some(&of_ana)).is_none());
        assert!(Settler::Server.overrides(Some(&of_ana)).is_none());
    }
}
