//! The audited actions.

use std::fmt;
use std::str::FromStr;

/// A privileged action, with its stable name in entries, filters and translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuditAction {
    /// A supervisor took a lease.
    LockForceClaim,
    /// A supervisor released a lease.
    LockForceRelease,
    /// An item was queued again.
    ItemRetry,
    /// An item was queued again with another payload.
    ItemEdit,
    /// An item was cancelled.
    ItemCancel,
    /// A delivery of another account was settled.
    DeliverySettle,
    /// The waiting items of a lane were cancelled.
    LaneClear,
    /// The database began another life, after a restore or a failover.
    DatabaseLife,
    /// A queue was created or changed.
    QueuePut,
    /// A queue was paused.
    QueuePause,
    /// A queue was resumed.
    QueueResume,
    /// Finished items of a queue were removed.
    QueuePurge,
    /// Rows of a queue were repaired.
    QueueRepair,
    /// The triggers of a sync source were installed.
    SyncInstall,
    /// The triggers of a sync source were removed.
    SyncRemove,
    /// Keys of a sync source were queued again.
    SyncResync,
    /// Items that an outage exhausted were queued again.
    SyncRevived,
    /// A task was cancelled.
    TaskCancel,
    /// A user was added.
    UserAdd,
    /// A user was changed.
    UserChange,
    /// A user was removed.
    UserRemove,
    /// A token was created.
    TokenCreate,
    /// A token was revoked.
    TokenRevoke,
    /// A console session was opened or closed.
    SessionOpen,
    /// A session for a browser was minted.
    SessionMint,
    /// A sign-in link was made.
    LinkMake,
    /// A sign-in link was used.
    LinkRedeem,
}

/// No action of this program has this name. A newer program may have stored it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no audited action")]
pub struct UnknownAction(pub String);

impl AuditAction {
    /// Every action.
    pub const ALL: [AuditAction; 27] = [
        AuditAction::LockForceClaim,
        AuditAction::LockForceRelease,
        AuditAction::ItemRetry,
        AuditAction::ItemEdit,
        AuditAction::ItemCancel,
        AuditAction::DeliverySettle,
        AuditAction::LaneClear,
        AuditAction::DatabaseLife,
        AuditAction::QueuePut,
        AuditAction::QueuePause,
        AuditAction::QueueResume,
        AuditAction::QueuePurge,
        AuditAction::QueueRepair,
        AuditAction::SyncInstall,
        AuditAction::SyncRemove,
        AuditAction::SyncResync,
        AuditAction::SyncRevived,
        AuditAction::TaskCancel,
        AuditAction::UserAdd,
        AuditAction::UserChange,
        AuditAction::UserRemove,
        AuditAction::TokenCreate,
        AuditAction::TokenRevoke,
        AuditAction::SessionOpen,
        AuditAction::SessionMint,
        AuditAction::LinkMake,
        AuditAction::LinkRedeem,
    ];

    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            AuditAction::LockForceClaim => "lock_force_claim",
            AuditAction::LockForceRelease => "lock_force_release",
            AuditAction::ItemRetry => "item_retry",
            AuditAction::ItemEdit => "item_edit",
            AuditAction::ItemCancel => "item_cancel",
            AuditAction::DeliverySettle => "delivery_settle",
            AuditAction::LaneClear => "lane_clear",
            AuditAction::DatabaseLife => "database_life",
            AuditAction::QueuePut => "queue_put",
            AuditAction::QueuePause => "queue_pause",
            AuditAction::QueueResume => "queue_resume",
            AuditAction::QueuePurge => "queue_purge",
            AuditAction::QueueRepair => "queue_repair",
            AuditAction::SyncInstall => "sync_install",
            AuditAction::SyncRemove => "sync_remove",
            AuditAction::SyncResync => "sync_resync",
            AuditAction::SyncRevived => "sync_revived",
            AuditAction::TaskCancel => "task_cancel",
            AuditAction::UserAdd => "user_add",
            AuditAction::UserChange => "user_change",
            AuditAction::UserRemove => "user_remove",
            AuditAction::TokenCreate => "token_create",
            AuditAction::TokenRevoke => "token_revoke",
            AuditAction::SessionOpen => "session_open",
            AuditAction::SessionMint => "session_mint",
            AuditAction::LinkMake => "link_make",
            AuditAction::LinkRedeem => "link_redeem",
        }
    }
}

impl FromStr for AuditAction {
    type Err = UnknownAction;
    fn from_str(name: &str) -> Result<AuditAction, UnknownAction> {
        AuditAction::ALL
            .into_iter()
            .find(|action| action.as_str() == name)
            .ok_or_else(|| UnknownAction(name.to_owned()))
    }
}

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
