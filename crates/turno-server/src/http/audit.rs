//! The audit over HTTP.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use turno::core::audit::{Entry, Head};
use turno::core::fault::Fault;
use turno::core::id::UserId;
use turno::store::AuditQuery;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::caller::Caller;
use super::extract::{Json, Query};
use super::listing::{Page, Wanted};
use super::problem::Problem;
use super::stamp::Stamp;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(audit_list)).routes(routes!(audit_verify))
}

/// An entry of the audit.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct EntryView {
    /// The entry's number, from 1 without gaps.
    n: i64,
    /// When it happened.
    at: Stamp,
    /// The user who acted.
    actor: String,
    /// The account that acted for the user. Null if the user acted.
    via: Option<String>,
    /// The action, as a stable name.
    action: String,
    /// What the action changed.
    resource: String,
    /// Details and reason.
    #[schema(value_type = Object)]
    detail: Box<RawValue>,
    /// A hash of this entry and all before it.
    hash: String,
}

impl From<Entry> for EntryView {
    fn from(entry: Entry) -> EntryView {
        EntryView {
            n: entry.n,
            at: entry.at.into(),
            actor: entry.actor.user.to_string(),
            via: entry.actor.via.as_ref().map(ToString::to_string),
            action: entry.action,
            resource: entry.resource,
            // A person with access to the database may have changed the text to something that is not JSON. Then null
            // is shown, and the verification fails.
            detail: RawValue::from_string(entry.detail).unwrap_or_else(|_| RawValue::NULL.to_owned()),
            hash: entry.hash.to_string(),
        }
    }
}

/// Filters and page of the audit.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EntriesQuery {
    /// Only this action, for example `lock_force_claim`.
    action: Option<String>,
    /// Only entries of this user, or of users that this account acted for.
    actor: Option<String>,
    /// Only entries about this resource.
    resource: Option<String>,
    /// Number of entries per page, 1 to 1000. Default: 50.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists audit entries, newest first.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", params(EntriesQuery), responses((status = 200, body = Page<EntryView>)))]
async fn audit_list(caller: Caller, Query(query): Query<EntriesQuery>) -> Result<Json<Page<EntryView>>, Problem> {
    let wanted = Wanted::new(query.limit, query.cursor.as_deref())?;
    let before = wanted.after::<i64>()?;
    let actor = query.actor.map(UserId::new).transpose();
    let actor = actor.map_err(|cause| Problem::query("actor", cause))?;
    let texts = [("action", &query.action), ("resource", &query.resource)];
    if let Some((name, _)) = texts.iter().find(|(_, text)| text.as_ref().is_some_and(|text| text.contains('\0'))) {
        return Err(Problem::query(name, Fault::Nul));
    }
    let (action, resource, limit) = (query.action, query.resource, wanted.one_more());
    let entries = caller.0.audit(AuditQuery { after: None, before, action, actor, resource, limit }).await?;
    Ok(Json(wanted.page(entries, |entry| entry.n.to_string()).map(Into::into)))
}

/// What to compare with.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct VerifyQuery {
    /// A `head` that you stored elsewhere. The check shows whether any entry up to it has changed since.
    head: Option<String>,
}

/// The result of a verification.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Verified {
    /// True if the chain is intact.
    ok: bool,
    /// The number of verified entries.
    entries: i64,
    /// The end of the chain. Store it elsewhere for later checks. Null if the chain is broken.
    head: Option<String>,
    /// The damage that was found. Omitted if the chain is intact.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
}

/// Verifies the hash chain of the audit from its first entry.
#[utoipa::path(get, path = "/v1/audit/verify", tag = "audit", params(VerifyQuery), responses((status = 200, body = Verified)))]
async fn audit_verify(caller: Caller, Query(query): Query<VerifyQuery>) -> Result<Json<Verified>, Problem> {
    let kept = query.head.map(|head| head.parse::<Head>()).transpose();
    let kept = kept.map_err(|cause| Problem::query("head", cause))?;
    let mut entries = 0;
    let verified = match caller.0.audit_verify(kept, |followed, _| entries = followed).await? {
        Ok(head) => Verified { ok: true, entries: head.n, head: Some(head.to_string()), broken: None },
        Err(broken) => Verified { ok: false, entries, head: None, broken: Some(broken.to_string()) },
    };
    Ok(Json(verified))
}
