//! The table of routes: the permission that each route requires, the reach that its caller's token must have, and the
//! room that it needs (R1).
//!
//! The guard looks up every request here before its handler runs. `docs/reference/access.md` is generated from the
//! table. Tests compare the table with the served routes and call every route in every role and with every reach.

#[cfg(test)]
mod page;
mod scope;

pub(crate) use scope::Scope;
pub(super) use scope::check as check_scope;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use turno::core::access::Permission::{
    self, AuditRead, InventoryManage, LeasesUse, LocksOverride, MetricsRead, QueuesConsume, QueuesManage,
    QueuesProduce, QueuesRead, SessionsMint, SyncManage, TasksRead, UsersManage,
};

use super::room::Room::{self, Free, Reserved, Stream, Usual, Waiting};

/// What a route requires of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing. The route is public.
    Nothing,
    /// A valid token or console session.
    Token,
    /// A permission.
    May(Permission),
    /// One of two permissions.
    Either(Permission, Permission),
    /// `leases.use`, or `inventory.manage` if the resource is a task.
    Lease,
}

impl Needs {
    /// Describes the required permission for the reference, with names in backticks. `None` if none is required.
    pub(super) fn permission(self) -> Option<String> {
        match self {
            Needs::Nothing | Needs::Token => None,
            Needs::May(permission) => Some(format!("`{permission}`")),
            Needs::Either(one, other) => Some(format!("`{one}` or `{other}`")),
            Needs::Lease => Some("`leases.use`; for `task:…` `inventory.manage`".to_owned()),
        }
    }
}

/// A route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) needs: Needs,
    pub(crate) scope: Scope,
    pub(crate) room: Room,
}

const fn row(method: &'static str, path: &'static str, needs: Needs, scope: Scope, room: Room) -> Row {
    Row { method, path, needs, scope, room }
}

use Needs::{Either, Lease, May, Nothing, Token};
use Scope::{Account, Any, Leases, Queues, Tasks, Whole};

/// Claims, heartbeats and releases of several leases. Each entry of the batch is checked on its own.
const SOME_LEASE: Needs = Either(LeasesUse, InventoryManage);
/// Reading tasks. A caller who may process tasks can also read them.
const READ_TASKS: Needs = Either(TasksRead, InventoryManage);

/// All routes, grouped by noun.
pub(crate) const TABLE: &[Row] = &[
    row("GET", "/", Nothing, Any, Usual),
    row("GET", "/assets/{file}", Nothing, Any, Free),
    row("GET", "/oidc/start", Nothing, Any, Usual),
    row("GET", "/oidc/callback", Nothing, Any, Usual),
    row("GET", "/login", Token, Whole, Usual),
    row("POST", "/console/login", Token, Whole, Usual),
    row("POST", "/console/preferences", Nothing, Any, Free),
    row("GET", "/tasks", READ_TASKS, Whole, Usual),
    row("GET", "/tasks/new", May(InventoryManage), Whole, Usual),
    row("GET", "/tasks/{id}", READ_TASKS, Whole, Usual),
    row("GET", "/tasks/{id}/edit", May(InventoryManage), Whole, Usual),
    row("POST", "/console/tasks", May(InventoryManage), Whole, Usual),
    row("POST", "/console/tasks/{id}/edit", May(InventoryManage), Whole, Usual),
    row("POST", "/console/tasks/{id}/ready", May(InventoryManage), Whole, Usual),
    row("POST", "/console/tasks/{id}/cancel", May(InventoryManage), Whole, Usual),
    row("GET", "/leases", Token, Whole, Usual),
    row("GET", "/leases/{resource}", Token, Whole, Usual),
    row("POST", "/console/leases/{resource}/force-release", May(LocksOverride), Whole, Usual),
    row("POST", "/console/leases/{resource}/force-claim", May(LocksOverride), Whole, Usual),
    row("GET", "/queues", May(QueuesRead), Whole, Usual),
    row("GET", "/queues/{queue}", May(QueuesRead), Whole, Usual),
    row("GET", "/queues/{queue}/keys/{key}", May(QueuesRead), Whole, Usual),
    row("GET", "/queues/{queue}/items/{id}", May(QueuesRead), Whole, Usual),
    row("POST", "/console/queues/{queue}/pause", May(QueuesManage), Whole, Usual),
    row("POST", "/console/queues/{queue}/resume", May(QueuesManage), Whole, Usual),
    row("POST", "/console/queues/{queue}/retry-exhausted", May(QueuesManage), Whole, Usual),
    row("POST", "/console/queues/{queue}/items/{id}/retry", May(QueuesManage), Whole, Usual),
    row("POST", "/console/queues/{queue}/items/{id}/cancel", May(QueuesManage), Whole, Usual),
    row("GET", "/sync", May(QueuesRead), Whole, Usual),
    row("POST", "/console/sync/{name}/resync", May(SyncManage), Whole, Usual),
    row("POST", "/console/sync/{name}/resync-all", May(SyncManage), Whole, Usual),
    row("GET", "/audit", May(AuditRead), Whole, Usual),
    row("GET", "/audit/export", May(AuditRead), Whole, Usual),
    row("POST", "/console/audit/verify", May(AuditRead), Whole, Usual),
    row("GET", "/admin", May(UsersManage), Whole, Usual),
    row("GET", "/admin/people/{id}", May(UsersManage), Whole, Usual),
    row("GET", "/admin/tokens", May(UsersManage), Whole, Usual),
    row("GET", "/admin/settings", May(UsersManage), Whole, Usual),
    row("POST", "/console/people", May(UsersManage), Whole, Usual),
    row("POST", "/console/people/{id}/change", May(UsersManage), Whole, Usual),
    row("POST", "/console/people/{id}/disable", May(UsersManage), Whole, Usual),
    row("POST", "/console/people/{id}/enable", May(UsersManage), Whole, Usual),
    row("POST", "/console/people/{id}/remove", May(UsersManage), Whole, Usual),
    row("POST", "/console/people/{id}/password", May(UsersManage), Whole, Usual),
    row("POST", "/console/people/{id}/token", May(UsersManage), Whole, Usual),
    row("POST", "/console/people/{id}/link", May(UsersManage), Whole, Usual),
    row("POST", "/console/people/{id}/unlink", May(UsersManage), Whole, Usual),
    row("POST", "/console/tokens/{id}/rotate", May(UsersManage), Whole, Usual),
    row("POST", "/console/tokens/{id}/revoke", May(UsersManage), Whole, Usual),
    row("GET", "/healthz", Nothing, Any, Free),
    row("GET", "/readyz", Nothing, Any, Free),
    row("GET", "/openapi.json", Nothing, Any, Free),
    row("GET", "/docs", Nothing, Any, Free),
    row("GET", "/turno.js", Nothing, Any, Free),
    row("GET", "/turno.d.ts", Nothing, Any, Free),
    row("GET", "/sign-in", Nothing, Any, Usual),
    row("POST", "/sign-in", Nothing, Any, Usual),
    row("POST", "/sign-in/link", Nothing, Any, Usual),
    row("POST", "/sign-out", Nothing, Any, Usual),
    row("GET", "/setup", Nothing, Any, Usual),
    row("POST", "/setup", Nothing, Any, Usual),
    row("GET", "/metrics", May(MetricsRead), Whole, Free),
    row("GET", "/locks", May(QueuesRead), Whole, Usual),
    row("POST", "/locks/clear", May(QueuesManage), Whole, Usual),
    row("GET", "/v1/me", Token, Any, Usual),
    row("POST", "/v1/sessions", May(SessionsMint), Account, Usual),
    row("GET", "/v1/events", Token, Any, Stream),
    row("GET", "/v1/audit", May(AuditRead), Whole, Usual),
    row("GET", "/v1/audit/verify", May(AuditRead), Whole, Usual),
    row("GET", "/v1/users", May(UsersManage), Whole, Usual),
    row("POST", "/v1/users", May(UsersManage), Whole, Usual),
    row("GET", "/v1/users/{id}", May(UsersManage), Whole, Usual),
    row("PATCH", "/v1/users/{id}", May(UsersManage), Whole, Usual),
    row("DELETE", "/v1/users/{id}", May(UsersManage), Whole, Usual),
    row("PUT", "/v1/users/{id}/identity", May(UsersManage), Whole, Usual),
    row("DELETE", "/v1/users/{id}/identity", May(UsersManage), Whole, Usual),
    row("POST", "/v1/me/password", Token, Account, Usual),
    row("GET", "/v1/tokens", Token, Account, Usual),
    row("POST", "/v1/tokens", Token, Account, Usual),
    row("DELETE", "/v1/tokens/{id}", Token, Any, Usual),
    row("POST", "/v1/tokens/{id}/rotate", Token, Account, Usual),
    row("POST", "/v1/login", Nothing, Any, Usual),
    row("GET", "/v1/leases", Token, Leases, Usual),
    row("POST", "/v1/leases/claim", SOME_LEASE, Leases, Waiting),
    row("POST", "/v1/leases/heartbeat", SOME_LEASE, Leases, Reserved),
    row("POST", "/v1/leases/release", SOME_LEASE, Leases, Reserved),
    row("GET", "/v1/leases/claim", Token, Leases, Usual),
    row("GET", "/v1/leases/heartbeat", Token, Leases, Usual),
    row("GET", "/v1/leases/release", Token, Leases, Usual),
    row("GET", "/v1/leases/{resource}", Token, Leases, Usual),
    row("GET", "/v1/leases/{resource}/history", Token, Leases, Usual),
    row("POST", "/v1/leases/{resource}/claim", Lease, Leases, Waiting),
    row("POST", "/v1/leases/{resource}/heartbeat", Lease, Leases, Reserved),
    row("POST", "/v1/leases/{resource}/release", Lease, Leases, Reserved),
    row("POST", "/v1/leases/{resource}/force-claim", May(LocksOverride), Leases, Usual),
    row("POST", "/v1/leases/{resource}/force-release", May(LocksOverride), Leases, Usual),
    row("POST", "/v1/leases/{resource}/request-release", Lease, Leases, Usual),
    row("POST", "/v1/leases/{resource}/decline-release", Lease, Leases, Reserved),
    row("POST", "/v1/leases/{resource}/turn", Lease, Leases, Reserved),
    row("DELETE", "/v1/leases/{resource}/turn", Lease, Leases, Reserved),
    row("POST", "/v1/tasks", May(InventoryManage), Tasks, Usual),
    row("GET", "/v1/tasks", READ_TASKS, Tasks, Usual),
    row("GET", "/v1/tasks/{id}", READ_TASKS, Tasks, Usual),
    row("PUT", "/v1/tasks/{id}", May(InventoryManage), Tasks, Usual),
    row("GET", "/v1/tasks/{id}/history", READ_TASKS, Tasks, Usual),
    row("POST", "/v1/tasks/{id}/ready", May(InventoryManage), Tasks, Usual),
    row("POST", "/v1/tasks/{id}/cancel", May(InventoryManage), Tasks, Usual),
    row("POST", "/v1/tasks/{id}/claim", May(InventoryManage), Tasks, Waiting),
    row("POST", "/v1/tasks/{id}/heartbeat", May(InventoryManage), Tasks, Reserved),
    row("POST", "/v1/tasks/{id}/release", May(InventoryManage), Tasks, Reserved),
    row("POST", "/v1/tasks/{id}/force-claim", May(LocksOverride), Tasks, Usual),
    row("POST", "/v1/tasks/{id}/force-release", May(LocksOverride), Tasks, Usual),
    row("POST", "/v1/tasks/{id}/request-release", May(InventoryManage), Tasks, Usual),
    row("POST", "/v1/tasks/{id}/decline-release", May(InventoryManage), Tasks, Reserved),
    row("POST", "/v1/tasks/{id}/turn", May(InventoryManage), Tasks, Reserved),
    row("DELETE", "/v1/tasks/{id}/turn", May(InventoryManage), Tasks, Reserved),
    row("PATCH", "/v1/tasks/{id}/lines/{number}", May(InventoryManage), Tasks, Usual),
    row("POST", "/v1/tasks/{id}/lines/{number}/validate", May(InventoryManage), Tasks, Usual),
    row("POST", "/v1/tasks/{id}/finalize", May(InventoryManage), Tasks, Reserved),
    row("GET", "/v1/stock/{sku}", READ_TASKS, Whole, Usual),
    row("GET", "/v1/queues", May(QueuesRead), Queues, Usual),
    row("PUT", "/v1/queues/{queue}", May(QueuesManage), Queues, Usual),
    row("GET", "/v1/queues/{queue}", May(QueuesRead), Queues, Usual),
    row("POST", "/v1/queues/{queue}/items", May(QueuesProduce), Queues, Usual),
    row("GET", "/v1/queues/{queue}/items", May(QueuesRead), Queues, Usual),
    row("GET", "/v1/queues/{queue}/items/{id}", May(QueuesRead), Queues, Usual),
    row("GET", "/v1/queues/{queue}/items/{id}/why", May(QueuesRead), Queues, Usual),
    row("GET", "/v1/queues/{queue}/keys/{key}/why", May(QueuesRead), Queues, Usual),
    row("POST", "/v1/queues/{queue}/typing", May(QueuesProduce), Queues, Usual),
    row("POST", "/v1/queues/{queue}/claim", May(QueuesConsume), Queues, Waiting),
    row("POST", "/v1/queues/{queue}/items/{id}/claim", May(QueuesConsume), Queues, Usual),
    row("POST", "/v1/queues/{queue}/heartbeat", May(QueuesConsume), Queues, Reserved),
    row("POST", "/v1/queues/{queue}/ack", May(QueuesConsume), Queues, Reserved),
    row("POST", "/v1/queues/{queue}/fail", May(QueuesConsume), Queues, Reserved),
    row("POST", "/v1/queues/{queue}/return", May(QueuesConsume), Queues, Reserved),
    row("POST", "/v1/queues/{queue}/items/{id}/retry", May(QueuesManage), Queues, Usual),
    row("POST", "/v1/queues/{queue}/items/{id}/cancel", May(QueuesManage), Queues, Usual),
    row("POST", "/v1/queues/{queue}/pause", May(QueuesManage), Queues, Usual),
    row("POST", "/v1/queues/{queue}/resume", May(QueuesManage), Queues, Usual),
    row("POST", "/v1/queues/{queue}/retry-exhausted", May(QueuesManage), Queues, Usual),
    row("POST", "/v1/queues/{queue}/purge", May(QueuesManage), Queues, Usual),
    row("GET", "/v1/sync/sources", May(QueuesRead), Queues, Usual),
    row("GET", "/v1/sync/sources/{name}", May(QueuesRead), Queues, Usual),
    row("POST", "/v1/sync/sources/{name}/resync", May(SyncManage), Queues, Usual),
];

/// Returns the console page that a form's address belongs to: the path without `/console`, or its nearest ancestor that
/// is a page.
pub(super) fn page_of_form(path: &str) -> Option<&str> {
    let mut page = path.strip_prefix("/console").filter(|rest| rest.starts_with('/'))?;
    while find("GET", page).is_none() {
        page = page.rsplit_once('/').map(|(above, _)| above).filter(|above| !above.is_empty()).unwrap_or("/");
    }
    Some(page)
}

/// Returns the row that matches a path as it was sent. HEAD counts as GET.
pub(super) fn find(method: &str, path: &str) -> Option<&'static Row> {
    // The router uses the same matcher, so both resolve a path alike.
    static BY_PATH: LazyLock<matchit::Router<Vec<&Row>>> = LazyLock::new(|| {
        let mut by_path: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        TABLE.iter().for_each(|row| by_path.entry(row.path).or_default().push(row));
        let mut router = matchit::Router::new();
        for (path, rows) in by_path {
            router.insert(path, rows).expect("no two paths conflict, because the router serves them all");
        }
        router
    });
    let method = if method == "HEAD" { "GET" } else { method };
    BY_PATH.at(path).ok()?.value.iter().find(|row| row.method == method).copied()
}
