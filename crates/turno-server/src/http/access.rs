//! The table of routes: who may call each route, and which room it needs (R1).
//!
//! The guard looks up every request here before its handler runs. `docs/reference/access.md` is generated from the
//! table. Tests compare the table with the served routes and call every route in every role.

#[cfg(test)]
mod page;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use turno::core::access::Permission::{
    self, AuditRead, InventoryManage, LocksOverride, QueuesConsume, QueuesManage, QueuesProduce, SessionsMint,
    SyncManage, UsersManage,
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
    /// `leases.use`, or `inventory.manage` if the resource is a task.
    Lease,
    /// `leases.use` or `inventory.manage`. Each entry of a batch is checked on its own.
    SomeLease,
}

impl Needs {
    /// Describes the required permission for the reference, with names in backticks. `None` if none is required.
    pub(super) fn permission(self) -> Option<String> {
        match self {
            Needs::Nothing | Needs::Token => None,
            Needs::May(permission) => Some(format!("`{permission}`")),
            Needs::Lease => Some("`leases.use`; for `task:…` `inventory.manage`".to_owned()),
            Needs::SomeLease => Some("`leases.use` or `inventory.manage`".to_owned()),
        }
    }
}

/// A route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) needs: Needs,
    pub(crate) room: Room,
}

const fn row(method: &'static str, path: &'static str, needs: Needs, room: Room) -> Row {
    Row { method, path, needs, room }
}

use Needs::{Lease, May, Nothing, SomeLease, Token};

/// All routes, grouped by noun.
pub(crate) const TABLE: &[Row] = &[
    row("GET", "/", Nothing, Usual),
    row("GET", "/assets/{file}", Nothing, Free),
    row("POST", "/console/preferences", Nothing, Free),
    row("GET", "/tasks", Token, Usual),
    row("GET", "/tasks/new", May(InventoryManage), Usual),
    row("GET", "/tasks/{id}", Token, Usual),
    row("GET", "/tasks/{id}/edit", May(InventoryManage), Usual),
    row("POST", "/console/tasks", May(InventoryManage), Usual),
    row("POST", "/console/tasks/{id}/edit", May(InventoryManage), Usual),
    row("POST", "/console/tasks/{id}/ready", May(InventoryManage), Usual),
    row("POST", "/console/tasks/{id}/cancel", May(InventoryManage), Usual),
    row("GET", "/leases", Token, Usual),
    row("GET", "/leases/{resource}", Token, Usual),
    row("POST", "/console/leases/{resource}/force-release", May(LocksOverride), Usual),
    row("POST", "/console/leases/{resource}/force-claim", May(LocksOverride), Usual),
    row("GET", "/queues", Token, Usual),
    row("GET", "/queues/{queue}", Token, Usual),
    row("GET", "/queues/{queue}/keys/{key}", Token, Usual),
    row("GET", "/queues/{queue}/items/{id}", Token, Usual),
    row("POST", "/console/queues/{queue}/pause", May(QueuesManage), Usual),
    row("POST", "/console/queues/{queue}/resume", May(QueuesManage), Usual),
    row("POST", "/console/queues/{queue}/retry-exhausted", May(QueuesManage), Usual),
    row("POST", "/console/queues/{queue}/items/{id}/retry", May(QueuesManage), Usual),
    row("POST", "/console/queues/{queue}/items/{id}/cancel", May(QueuesManage), Usual),
    row("GET", "/sync", Token, Usual),
    row("POST", "/console/sync/{name}/resync", May(SyncManage), Usual),
    row("POST", "/console/sync/{name}/resync-all", May(SyncManage), Usual),
    row("GET", "/audit", May(AuditRead), Usual),
    row("GET", "/audit/export", May(AuditRead), Usual),
    row("POST", "/console/audit/verify", May(AuditRead), Usual),
    row("GET", "/admin", May(UsersManage), Usual),
    row("GET", "/admin/people/{id}", May(UsersManage), Usual),
    row("GET", "/admin/tokens", May(UsersManage), Usual),
    row("GET", "/admin/settings", May(UsersManage), Usual),
    row("POST", "/console/people", May(UsersManage), Usual),
    row("POST", "/console/people/{id}/change", May(UsersManage), Usual),
    row("POST", "/console/people/{id}/disable", May(UsersManage), Usual),
    row("POST", "/console/people/{id}/enable", May(UsersManage), Usual),
    row("POST", "/console/people/{id}/remove", May(UsersManage), Usual),
    row("POST", "/console/people/{id}/password", May(UsersManage), Usual),
    row("POST", "/console/people/{id}/token", May(UsersManage), Usual),
    row("POST", "/console/tokens/{id}/revoke", May(UsersManage), Usual),
    row("GET", "/healthz", Nothing, Free),
    row("GET", "/readyz", Nothing, Free),
    row("GET", "/openapi.json", Nothing, Free),
    row("GET", "/docs", Nothing, Free),
    row("GET", "/turno.js", Nothing, Free),
    row("GET", "/turno.d.ts", Nothing, Free),
    row("GET", "/sign-in", Nothing, Usual),
    row("POST", "/sign-in", Nothing, Usual),
    row("POST", "/sign-out", Nothing, Usual),
    row("GET", "/setup", Nothing, Usual),
    row("POST", "/setup", Nothing, Usual),
    row("GET", "/metrics", Token, Free),
    row("GET", "/locks", Token, Usual),
    row("POST", "/locks/clear", May(QueuesManage), Usual),
    row("GET", "/v1/me", Token, Usual),
    row("POST", "/v1/sessions", May(SessionsMint), Usual),
    row("GET", "/v1/events", Token, Stream),
    row("GET", "/v1/audit", May(AuditRead), Usual),
    row("GET", "/v1/audit/verify", May(AuditRead), Usual),
    row("GET", "/v1/users", May(UsersManage), Usual),
    row("POST", "/v1/users", May(UsersManage), Usual),
    row("GET", "/v1/users/{id}", May(UsersManage), Usual),
    row("PATCH", "/v1/users/{id}", May(UsersManage), Usual),
    row("DELETE", "/v1/users/{id}", May(UsersManage), Usual),
    row("POST", "/v1/me/password", Token, Usual),
    row("GET", "/v1/tokens", Token, Usual),
    row("POST", "/v1/tokens", Token, Usual),
    row("DELETE", "/v1/tokens/{id}", Token, Usual),
    row("GET", "/v1/leases", Token, Usual),
    row("POST", "/v1/leases/claim", SomeLease, Waiting),
    row("POST", "/v1/leases/heartbeat", SomeLease, Reserved),
    row("POST", "/v1/leases/release", SomeLease, Reserved),
    row("GET", "/v1/leases/claim", Token, Usual),
    row("GET", "/v1/leases/heartbeat", Token, Usual),
    row("GET", "/v1/leases/release", Token, Usual),
    row("GET", "/v1/leases/{resource}", Token, Usual),
    row("GET", "/v1/leases/{resource}/history", Token, Usual),
    row("POST", "/v1/leases/{resource}/claim", Lease, Waiting),
    row("POST", "/v1/leases/{resource}/heartbeat", Lease, Reserved),
    row("POST", "/v1/leases/{resource}/release", Lease, Reserved),
    row("POST", "/v1/leases/{resource}/force-claim", May(LocksOverride), Usual),
    row("POST", "/v1/leases/{resource}/force-release", May(LocksOverride), Usual),
    row("POST", "/v1/leases/{resource}/request-release", Lease, Usual),
    row("POST", "/v1/leases/{resource}/decline-release", Lease, Reserved),
    row("POST", "/v1/leases/{resource}/turn", Lease, Reserved),
    row("DELETE", "/v1/leases/{resource}/turn", Lease, Reserved),
    row("POST", "/v1/tasks", May(InventoryManage), Usual),
    row("GET", "/v1/tasks", Token, Usual),
    row("GET", "/v1/tasks/{id}", Token, Usual),
    row("PUT", "/v1/tasks/{id}", May(InventoryManage), Usual),
    row("GET", "/v1/tasks/{id}/history", Token, Usual),
    row("POST", "/v1/tasks/{id}/ready", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/cancel", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/claim", May(InventoryManage), Waiting),
    row("POST", "/v1/tasks/{id}/heartbeat", May(InventoryManage), Reserved),
    row("POST", "/v1/tasks/{id}/release", May(InventoryManage), Reserved),
    row("POST", "/v1/tasks/{id}/force-claim", May(LocksOverride), Usual),
    row("POST", "/v1/tasks/{id}/force-release", May(LocksOverride), Usual),
    row("POST", "/v1/tasks/{id}/request-release", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/decline-release", May(InventoryManage), Reserved),
    row("POST", "/v1/tasks/{id}/turn", May(InventoryManage), Reserved),
    row("DELETE", "/v1/tasks/{id}/turn", May(InventoryManage), Reserved),
    row("PATCH", "/v1/tasks/{id}/lines/{number}", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/lines/{number}/validate", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/finalize", May(InventoryManage), Reserved),
    row("GET", "/v1/stock/{sku}", Token, Usual),
    row("GET", "/v1/queues", Token, Usual),
    row("PUT", "/v1/queues/{queue}", May(QueuesManage), Usual),
    row("GET", "/v1/queues/{queue}", Token, Usual),
    row("POST", "/v1/queues/{queue}/items", May(QueuesProduce), Usual),
    row("GET", "/v1/queues/{queue}/items", Token, Usual),
    row("GET", "/v1/queues/{queue}/items/{id}", Token, Usual),
    row("GET", "/v1/queues/{queue}/items/{id}/why", Token, Usual),
    row("GET", "/v1/queues/{queue}/keys/{key}/why", Token, Usual),
    row("POST", "/v1/queues/{queue}/typing", May(QueuesProduce), Usual),
    row("POST", "/v1/queues/{queue}/claim", May(QueuesConsume), Waiting),
    row("POST", "/v1/queues/{queue}/items/{id}/claim", May(QueuesConsume), Usual),
    row("POST", "/v1/queues/{queue}/heartbeat", May(QueuesConsume), Reserved),
    row("POST", "/v1/queues/{queue}/ack", May(QueuesConsume), Reserved),
    row("POST", "/v1/queues/{queue}/fail", May(QueuesConsume), Reserved),
    row("POST", "/v1/queues/{queue}/return", May(QueuesConsume), Reserved),
    row("POST", "/v1/queues/{queue}/items/{id}/retry", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/items/{id}/cancel", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/pause", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/resume", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/retry-exhausted", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/purge", May(QueuesManage), Usual),
    row("GET", "/v1/sync/sources", Token, Usual),
    row("GET", "/v1/sync/sources/{name}", Token, Usual),
    row("POST", "/v1/sync/sources/{name}/resync", May(SyncManage), Usual),
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
