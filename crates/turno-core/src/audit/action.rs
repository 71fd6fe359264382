//! The audited actions.

use crate::named::named;
use std::str::FromStr;

named! {
    /// A privileged action, with its stable name in entries, filters and translations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum AuditAction {
        /// A supervisor took a lease.
        LockForceClaim = "lock_force_claim",
        /// A supervisor released a lease.
        LockForceRelease = "lock_force_release",
        /// An item was queued again.
        ItemRetry = "item_retry",
        /// An item was queued again with another payload.
        ItemEdit = "item_edit",
        /// An item was cancelled.
        ItemCancel = "item_cancel",
        /// A delivery of another account was settled.
        DeliverySettle = "delivery_settle",
        /// The waiting items of a lane were cancelled.
        LaneClear = "lane_clear",
        /// The database began another life, after a restore or a failover.
        DatabaseLife = "database_life",
        /// A queue was created or changed.
        QueuePut = "queue_put",
        /// A queue was paused.
        QueuePause = "queue_pause",
        /// A queue was resumed.
        QueueResume = "queue_resume",
        /// Finished items of a queue were removed.
        QueuePurge = "queue_purge",
        /// Rows of a queue were repaired.
        QueueRepair = "queue_repair",
        /// The triggers of a sync source were installed.
        SyncInstall = "sync_install",
        /// The triggers of a sync source were removed.
        SyncRemove = "sync_remove",
        /// Keys of a sync source were queued again.
        SyncResync = "sync_resync",
        /// Items that an outage exhausted were queued again.
        SyncRevived = "sync_revived",
        /// A task was cancelled.
        TaskCancel = "task_cancel",
        /// A user was added.
        UserAdd = "user_add",
        /// A user was changed.
        UserChange = "user_change",
        /// A user was removed.
        UserRemove = "user_remove",
        /// A user was linked to an identity of an OpenID provider.
        UserLink = "user_link",
        /// All tokens and sessions of a user ended, because the OpenID provider gives no role.
        AccessEnd = "access_end",
        /// A token was created.
        TokenCreate = "token_create",
        /// A token was replaced by a new one.
        TokenRotate = "token_rotate",
        /// A token was revoked.
        TokenRevoke = "token_revoke",
        /// A console session was opened or closed.
        SessionOpen = "session_open",
        /// A session for a browser was minted.
        SessionMint = "session_mint",
        /// A sign-in link was made.
        LinkMake = "link_make",
        /// A sign-in link was used.
        LinkRedeem = "link_redeem",
        /// A person signed in.
        SignIn = "sign_in",
        /// Sign-ins failed.
        SignInFailed = "sign_in_failed",
    }
}

/// No action of this program has this name. A newer program may have stored it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no audited action")]
pub struct UnknownAction(pub String);

impl FromStr for AuditAction {
    type Err = UnknownAction;
    fn from_str(name: &str) -> Result<AuditAction, UnknownAction> {
        AuditAction::ALL
            .into_iter()
            .find(|action| action.as_str() == name)
            .ok_or_else(|| UnknownAction(name.to_owned()))
    }
}
