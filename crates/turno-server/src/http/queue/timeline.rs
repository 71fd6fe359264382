//! The life of an item, from its rows: accepted, handed out, how each attempt ended, what people did to it.

use serde::Serialize;
use turno::core::audit::Entry;
use turno::core::id::QueueName;
use turno::core::queue::{AttemptError, CameBack, Done, Ended, Last, Taker};
use turno::core::sync::NOTHING;
use turno::core::time::Time;
use turno::store::AuditQuery;
use turno::{Denied, Error, ItemRecord};

use crate::http::caller::Caller;
use crate::http::problem::Problem;
use crate::http::stamp::Stamp;

/// What people did to one item, at most; the audit has the rest.
const AUDITED_MAX: u32 = 200;

/// What clearing a lane is called in the audit.
const LANE_CLEAR: &str = "lane_clear";

/// Something that happened to an item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItemHappened)]
pub(crate) struct Happened {
    pub(crate) at: Stamp,
    /// `enqueued`, `handed_out` (and not settled yet), `failed`, `expired` (nobody settled it in time), `exhausted`,
    /// `processed`, `skipped` (there was nothing to be told of the key), `returned` or `superseded` (a newer change
    /// had overtaken it; of what came back without counting the newest twenty), `cleared` (the attempt that was under way when its lane was cleared), `cancelled`, `retried`
    /// or `edited` (sent round again with another payload).
    #[schema(example = "failed")]
    pub(crate) what: &'static str,
    /// When the attempt that ended `at` was handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) handed_at: Option<Stamp>,
    /// Which attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<u32>,
    /// Under which fence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fence: Option<i64>,
    /// Which process had it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance: Option<String>,
    /// In whose name it was taken; or who did it, of what people did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// Why it was cancelled, if not by itself: `lane_clear`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
    /// What the attempt said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// When it was to be tried again; or until when the hand-out lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Stamp>,
}

impl Happened {
    fn new(at: Time, what: &'static str) -> Happened {
        let none = (None, None);
        let ((attempt, fence), (instance, user), error, until) = (none, (None, None), None, None);
        Happened { at: at.into(), what, handed_at: None, attempt, fence, instance, user, reason: None, error, until }
    }

    /// By whom, in which attempt and under which fence.
    fn by(self, taker: Option<&Taker>, attempt: u32, fence: i64) -> Happened {
        let instance = taker.map(|taker| taker.instance().to_owned());
        let user = taker.and_then(Taker::user).map(str::to_owned);
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

impl From<&CameBack> for Happened {
    /// Without a number: the attempt was taken back, or the change that overtook it has begun to count anew.
    fn from(back: &CameBack) -> Happened {
        let what = match back.how {
            Last::Expired => "expired",
            Last::Superseded => "superseded",
            Last::Returned | Last::None | Last::Failed => "returned",
        };
        let happened = Happened::new(back.at, what).by(back.holder.as_ref(), 0, back.fence.0);
        Happened { attempt: None, error: back.error.clone(), handed_at: back.handed_at.map(Stamp), ..happened }
    }
}

/// What people did to the item, and to its lane when that ended it, for those who may read the audit.
pub(crate) async fn audited(caller: &Caller, queue: &QueueName, record: &ItemRecord) -> Result<Vec<Entry>, Problem> {
    let mut entries = of_resource(caller, format!("{queue}/{}", record.body.id), None).await?;
    let cancelled = record.done.as_ref().filter(|done| done.ended == Ended::Cancelled);
    if let (Some(done), Some(key)) = (cancelled, &record.body.key) {
        let cleared = of_resource(caller, format!("{queue}/{key}"), Some(LANE_CLEAR)).await?;
        // One transaction writes both, at one instant.
        entries.extend(cleared.into_iter().filter(|entry| entry.at == done.at && entry.action == LANE_CLEAR));
    }
    Ok(entries)
}

async fn of_resource(caller: &Caller, resource: String, action: Option<&str>) -> Result<Vec<Entry>, Problem> {
    let (resource, action) = (Some(resource), action.map(str::to_owned));
    match caller.0.audit(AuditQuery { resource, action, limit: AUDITED_MAX, ..AuditQuery::default() }).await {
        Err(Error::Denied(Denied::Missing(_))) => Ok(Vec::new()),
        entries => Ok(entries?),
    }
}

/// The attempt that was under way when its lane was cleared.
fn cut_short(record: &ItemRecord, done: &Done) -> Option<Happened> {
    let handed_at = done.handed_at?;
    // Of what was cancelled by earlier versions, the last attempt may have ended before.
    if record.errors.iter().any(|error| error.fence == done.fence) {
        return None;
    }
    let happened = Happened::new(done.at, "cleared").by(done.holder.as_ref(), done.attempt, done.fence.0);
    Some(Happened { handed_at: Some(Stamp(handed_at)), ..happened })
}

/// What happened, oldest first.
pub(crate) fn of(record: &ItemRecord, audited: Vec<Entry>) -> Vec<Happened> {
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
            // Its last error says so, with all that is known.
            Ended::Exhausted => {}
            Ended::Cancelled => {
                all.extend(cut_short(record, done));
                // Who did it is known to the audit.
                if !audited.iter().any(|entry| matches!(entry.action.as_str(), "item_cancel" | LANE_CLEAR)) {
                    all.push(Happened::new(done.at, "cancelled"));
                }
            }
        }
    }
    all.extend(audited.into_iter().filter_map(|entry| {
        let what = match entry.action.as_str() {
            "item_retry" => "retried",
            "item_edit" => "edited",
            "item_cancel" | LANE_CLEAR => "cancelled",
            _ => return None,
        };
        let reason = (entry.action == LANE_CLEAR).then_some(LANE_CLEAR);
        Some(Happened { user: Some(entry.actor.user.to_string()), reason, ..Happened::new(entry.at, what) })
    }));
    // Stable: what happened in one instant stays in the order of its causes.
    all.sort_by_key(|happened| happened.at.0);
    all
}
