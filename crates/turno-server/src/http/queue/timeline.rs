//! The timeline of an item, built from its rows: enqueued, handed out, the end of each attempt, audited changes.

use serde::Serialize;
use turno::Error;
use turno::access::Denied;
use turno::core::audit::{AuditAction, Entry};
use turno::core::id::QueueName;
use turno::core::queue::{AttemptError, Done, Ended, Last, UncountedDelivery, WorkerName};
use turno::core::sync::NOTHING;
use turno::core::time::Time;
use turno::queue::ItemRecord;
use turno::store::AuditQuery;

use crate::http::caller::Caller;
use crate::http::problem::Problem;
use crate::http::stamp::Stamp;

/// The most audit entries in a timeline. The audit has the rest.
const AUDITED_MAX: u32 = 200;

/// An entry of an item's timeline.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItemHappened)]
pub(crate) struct Happened {
    /// When it happened.
    pub(crate) at: Stamp,
    /// `enqueued`, `handed_out` (not settled yet), `failed`, `expired` (not settled in time), `exhausted`, `processed`,
    /// `skipped` (there was nothing to send), `returned`, `superseded` (a newer change replaced it), `cleared` (the
    /// attempt that was in process when its lane was cleared), `cancelled`, `retried` or `edited` (retried with another
    /// payload). Of the attempts that came back without counting, the newest twenty are kept.
    #[schema(example = "failed")]
    pub(crate) what: &'static str,
    /// When the attempt that ended `at` was handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) handed_at: Option<Stamp>,
    /// The number of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<u32>,
    /// The fence of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fence: Option<i64>,
    /// The process that had the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<String>,
    /// The user of that process, or the user who made the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// Why the item was cancelled: `lane_clear` if its lane was cleared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
    /// The error of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// When the item was to be retried, or when the delivery expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Stamp>,
}

impl Happened {
    fn new(at: Time, what: &'static str) -> Happened {
        let none = (None, None);
        let ((attempt, fence), (instance, user), error, until) = (none, (None, None), None, None);
        Happened { at: at.into(), what, handed_at: None, attempt, fence, instance, user, reason: None, error, until }
    }

    /// Sets the process and user, the attempt and the fence.
    fn by(self, taker: Option<&WorkerName>, attempt: u32, fence: i64) -> Happened {
        let instance = taker.map(|taker| taker.instance().to_owned());
        let user = taker.and_then(WorkerName::user).map(str::to_owned);
        Happened { attempt: Some(attempt), fence: Some(fence), instance, user, ..self }
    }
}

impl From<&AttemptError> for Happened {
    fn from(failed: &AttemptError) -> Happened {
        let what = match failed.retry_at {
            None => "exhausted",
            Some(_) if failed.is_expiry() => "expired",
            Some(_) => "failed",
        };
        let (error, until) = (Some(failed.error.clone()), failed.retry_at.map(Stamp));
        let happened = Happened::new(failed.at, what).by(failed.holder.as_ref(), failed.attempt, failed.fence.0);
        let attempt = happened.attempt.filter(|attempt| *attempt > 0);
        Happened { error, until, handed_at: failed.handed_at.map(Stamp), attempt, ..happened }
    }
}

impl From<&UncountedDelivery> for Happened {
    /// Omits the attempt's number, because the attempt does not count or the newer change restarted the count.
    fn from(back: &UncountedDelivery) -> Happened {
        let what = match back.how {
            Last::Expired => "expired",
            Last::Superseded => "superseded",
            Last::Returned | Last::None | Last::Failed => "returned",
        };
        let happened = Happened::new(back.at, what).by(back.holder.as_ref(), 0, back.fence.0);
        Happened { attempt: None, error: back.error.clone(), handed_at: back.handed_at.map(Stamp), ..happened }
    }
}

/// Returns the audit entries of the item, and of the clearing of its lane if that cancelled the item. Empty if the
/// caller may not read the audit.
pub(crate) async fn audited(caller: &Caller, queue: &QueueName, record: &ItemRecord) -> Result<Vec<Entry>, Problem> {
    let mut entries = audit_entries(caller, format!("{queue}/{}", record.body.id), None).await?;
    let cancelled = record.done.as_ref().filter(|done| done.ended == Ended::Cancelled);
    if let (Some(done), Some(key)) = (cancelled, &record.body.key) {
        let cleared = audit_entries(caller, format!("{queue}/{key}"), Some(AuditAction::LaneClear)).await?;
        // One transaction writes both, so their times are equal.
        entries.extend(cleared.into_iter().filter(|entry| entry.at == done.at));
    }
    Ok(entries)
}

async fn audit_entries(caller: &Caller, resource: String, action: Option<AuditAction>) -> Result<Vec<Entry>, Problem> {
    let (resource, action) = (Some(resource), action.map(|action| action.to_string()));
    match caller.0.audit(AuditQuery { resource, action, limit: AUDITED_MAX, ..AuditQuery::default() }).await {
        Err(Error::Denied(Denied::Missing(_))) => Ok(Vec::new()),
        entries => Ok(entries?),
    }
}

/// Returns the attempt that was in process when its lane was cleared.
fn cleared_attempt(record: &ItemRecord, done: &Done) -> Option<Happened> {
    let handed_at = done.handed_at?;
    // For items that earlier versions cancelled, the last attempt may already have ended.
    if record.errors.iter().any(|error| error.fence == done.fence) {
        return None;
    }
    let happened = Happened::new(done.at, "cleared").by(done.holder.as_ref(), done.attempt, done.fence.0);
    Some(Happened { handed_at: Some(Stamp(handed_at)), ..happened })
}

/// Builds the timeline, oldest first.
pub(crate) fn build(record: &ItemRecord, audited: Vec<Entry>) -> Vec<Happened> {
    let mut all = vec![Happened::new(record.body.enqueued_at, "enqueued")];
    all.extend(record.errors.iter().map(Happened::from));
    all.extend(record.came_back.iter().map(Happened::from));
    if let Some((item, expires_at)) = record.item.as_ref().and_then(|item| Some((item, item.expires_at?))) {
        let since = item.claimed_at.unwrap_or(item.enqueued_at);
        let handed = Happened::new(since, "handed_out").by(item.holder.as_ref(), item.attempt, item.fence.0);
        all.push(Happened { until: Some(Stamp(expires_at)), ..handed });
    }
    if let Some(done) = &record.done {
        match done.ended {
            Ended::Processed => {
                let nothing = record.body.action.as_deref() == Some(NOTHING);
                let what = if nothing { "skipped" } else { "processed" };
                let done_by = Happened::new(done.at, what).by(done.holder.as_ref(), done.attempt, done.fence.0);
                all.push(Happened { handed_at: done.handed_at.map(Stamp), ..done_by });
            }
            // The last error already shows it.
            Ended::Exhausted => {}
            Ended::Cancelled => {
                all.extend(cleared_attempt(record, done));
                // If the audit has the cancellation, its entry is used, because it names the user.
                if !audited
                    .iter()
                    .any(|entry| matches!(entry.action.parse(), Ok(AuditAction::ItemCancel | AuditAction::LaneClear)))
                {
                    all.push(Happened::new(done.at, "cancelled"));
                }
            }
        }
    }
    all.extend(audited.into_iter().filter_map(|entry| {
        let action = entry.action.parse().ok()?;
        let what = match action {
            AuditAction::ItemRetry => "retried",
            AuditAction::ItemEdit => "edited",
            AuditAction::ItemCancel | AuditAction::LaneClear => "cancelled",
            _ => return None,
        };
        let reason = (action == AuditAction::LaneClear).then_some(action.as_str());
        Some(Happened { user: Some(entry.actor.user.to_string()), reason, ..Happened::new(entry.at, what) })
    }));
    // The sort is stable, so entries of the same instant keep their order of cause and effect.
    all.sort_by_key(|happened| happened.at.0);
    all
}
