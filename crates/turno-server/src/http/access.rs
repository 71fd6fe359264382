//! Every route, who may call it, and which room it needs: the one table (R1).
//!
//! The guard asks this table before a handler runs, and `docs/reference/access.md` is written from it. A test compares it
//! with the routes that are really served, and asks every route as everybody.

#[cfg(test)]
mod page;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use turno::core::access::Permission::{
    self, AuditRead, InventoryManage, LocksOverride, QueuesConsume, QueuesManage, QueuesProduce, SessionsMint,
    SyncManage, UsersManage,
};

use super::room::Room::{self, Free, Kept, Stream, Usual, Waiting};

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: anybody may.
    Nobody,
    /// To be somebody.
    Anybody,
    /// This permission.
    May(Permission),
    /// `leases.use`, or for the leases of tasks `inventory.manage`.
    Lease,
    /// One of these two: what each entry of a batch needs is asked with the entry.
    SomeLease,
}

/// One route.
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

use Needs::{Anybody, Lease, May, Nobody, SomeLease};

/// All of them, by noun.
pub(crate) const TABLE: &[Row] = &[
    row("GET", "/", Nobody, Usual),
    row("GET", "/assets/{file}", Nobody, Free),
    row("POST", "/console/preferences", Nobody, Free),
    row("GET", "/tasks", Anybody, Usual),
    row("GET", "/tasks/new", May(InventoryManage), Usual),
    row("GET", "/tasks/{id}", Anybody, Usual),
    row("GET", "/tasks/{id}/edit", May(InventoryManage), Usual),
    row("POST", "/console/tasks", May(InventoryManage), Usual),
    row("POST", "/console/tasks/{id}/edit", May(InventoryManage), Usual),
    row("POST", "/console/tasks/{id}/ready", May(InventoryManage), Usual),
    row("POST", "/console/tasks/{id}/cancel", May(InventoryManage), Usual),
    row("GET", "/leases", Anybody, Usual),
    row("GET", "/leases/{resource}", Anybody, Usual),
    row("POST", "/console/leases/{resource}/force-release", May(LocksOverride), Usual),
    row("POST", "/console/leases/{resource}/force-claim", May(LocksOverride), Usual),
    row("GET", "/queues", Anybody, Usual),
    row("GET", "/queues/{queue}", Anybody, Usual),
    row("GET", "/queues/{queue}/keys/{key}", Anybody, Usual),
    row("GET", "/queues/{queue}/items/{id}", Anybody, Usual),
    row("POST", "/console/queues/{queue}/pause", May(QueuesManage), Usual),
    row("POST", "/console/queues/{queue}/resume", May(QueuesManage), Usual),
    row("POST", "/console/queues/{queue}/retry-exhausted", May(QueuesManage), Usual),
    row("POST", "/console/queues/{queue}/items/{id}/retry", May(QueuesManage), Usual),
    row("POST", "/console/queues/{queue}/items/{id}/cancel", May(QueuesManage), Usual),
    row("GET", "/sync", Anybody, Usual),
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
    row("GET", "/healthz", Nobody, Free),
    row("GET", "/readyz", Nobody, Free),
    row("GET", "/openapi.json", Nobody, Free),
    row("GET", "/docs", Nobody, Free),
    row("GET", "/turno.js", Nobody, Free),
    row("GET", "/turno.d.ts", Nobody, Free),
    row("GET", "/sign-in", Nobody, Usual),
    row("POST", "/sign-in", Nobody, Usual),
    row("POST", "/sign-out", Nobody, Usual),
    row("GET", "/setup", Nobody, Usual),
    row("POST", "/setup", Nobody, Usual),
    row("GET", "/metrics", Anybody, Free),
    row("GET", "/locks", Anybody, Usual),
    row("POST", "/locks/clear", May(QueuesManage), Usual),
    row("GET", "/v1/me", Anybody, Usual),
    row("POST", "/v1/sessions", May(SessionsMint), Usual),
    row("GET", "/v1/events", Anybody, Stream),
    row("GET", "/v1/audit", May(AuditRead), Usual),
    row("GET", "/v1/audit/verify", May(AuditRead), Usual),
    row("GET", "/v1/users", May(UsersManage), Usual),
    row("POST", "/v1/users", May(UsersManage), Usual),
    row("GET", "/v1/users/{id}", May(UsersManage), Usual),
    row("PATCH", "/v1/users/{id}", May(UsersManage), Usual),
    row("DELETE", "/v1/users/{id}", May(UsersManage), Usual),
    row("POST", "/v1/me/password", Anybody, Usual),
    row("GET", "/v1/tokens", Anybody, Usual),
    row("POST", "/v1/tokens", Anybody, Usual),
    row("DELETE", "/v1/tokens/{id}", Anybody, Usual),
    row("GET", "/v1/leases", Anybody, Usual),
    row("POST", "/v1/leases/claim", SomeLease, Waiting),
    row("POST", "/v1/leases/heartbeat", SomeLease, Kept),
    row("POST", "/v1/leases/release", SomeLease, Kept),
    row("GET", "/v1/leases/claim", Anybody, Usual),
    row("GET", "/v1/leases/heartbeat", Anybody, Usual),
    row("GET", "/v1/leases/release", Anybody, Usual),
    row("GET", "/v1/leases/{resource}", Anybody, Usual),
    row("GET", "/v1/leases/{resource}/history", Anybody, Usual),
    row("POST", "/v1/leases/{resource}/claim", Lease, Waiting),
    row("POST", "/v1/leases/{resource}/heartbeat", Lease, Kept),
    row("POST", "/v1/leases/{resource}/release", Lease, Kept),
    row("POST", "/v1/leases/{resource}/force-claim", May(LocksOverride), Usual),
    row("POST", "/v1/leases/{resource}/force-release", May(LocksOverride), Usual),
    row("POST", "/v1/leases/{resource}/request-release", Lease, Usual),
    row("POST", "/v1/leases/{resource}/decline-release", Lease, Kept),
    row("POST", "/v1/leases/{resource}/turn", Lease, Kept),
    row("DELETE", "/v1/leases/{resource}/turn", Lease, Kept),
    row("POST", "/v1/tasks", May(InventoryManage), Usual),
    row("GET", "/v1/tasks", Anybody, Usual),
    row("GET", "/v1/tasks/{id}", Anybody, Usual),
    row("PUT", "/v1/tasks/{id}", May(InventoryManage), Usual),
    row("GET", "/v1/tasks/{id}/history", Anybody, Usual),
    row("POST", "/v1/tasks/{id}/ready", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/cancel", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/claim", May(InventoryManage), Waiting),
    row("POST", "/v1/tasks/{id}/heartbeat", May(InventoryManage), Kept),
    row("POST", "/v1/tasks/{id}/release", May(InventoryManage), Kept),
    row("POST", "/v1/tasks/{id}/force-claim", May(LocksOverride), Usual),
    row("POST", "/v1/tasks/{id}/force-release", May(LocksOverride), Usual),
    row("POST", "/v1/tasks/{id}/request-release", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/decline-release", May(InventoryManage), Kept),
    row("POST", "/v1/tasks/{id}/turn", May(InventoryManage), Kept),
    row("DELETE", "/v1/tasks/{id}/turn", May(InventoryManage), Kept),
    row("PATCH", "/v1/tasks/{id}/lines/{number}", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/lines/{number}/validate", May(InventoryManage), Usual),
    row("POST", "/v1/tasks/{id}/finalize", May(InventoryManage), Kept),
    row("GET", "/v1/stock/{sku}", Anybody, Usual),
    row("GET", "/v1/queues", Anybody, Usual),
    row("PUT", "/v1/queues/{queue}", May(QueuesManage), Usual),
    row("GET", "/v1/queues/{queue}", Anybody, Usual),
    row("POST", "/v1/queues/{queue}/items", May(QueuesProduce), Usual),
    row("GET", "/v1/queues/{queue}/items", Anybody, Usual),
    row("GET", "/v1/queues/{queue}/items/{id}", Anybody, Usual),
    row("GET", "/v1/queues/{queue}/items/{id}/why", Anybody, Usual),
    row("GET", "/v1/queues/{queue}/keys/{key}/why", Anybody, Usual),
    row("POST", "/v1/queues/{queue}/typing", May(QueuesProduce), Usual),
    row("POST", "/v1/queues/{queue}/claim", May(QueuesConsume), Waiting),
    row("POST", "/v1/queues/{queue}/items/{id}/claim", May(QueuesConsume), Usual),
    row("POST", "/v1/queues/{queue}/heartbeat", May(QueuesConsume), Kept),
    row("POST", "/v1/queues/{queue}/ack", May(QueuesConsume), Kept),
    row("POST", "/v1/queues/{queue}/fail", May(QueuesConsume), Kept),
    row("POST", "/v1/queues/{queue}/return", May(QueuesConsume), Kept),
    row("POST", "/v1/queues/{queue}/items/{id}/retry", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/items/{id}/cancel", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/pause", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/resume", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/retry-exhausted", May(QueuesManage), Usual),
    row("POST", "/v1/queues/{queue}/purge", May(QueuesManage), Usual),
    row("GET", "/v1/sync/sources", Anybody, Usual),
    row("GET", "/v1/sync/sources/{name}", Anybody, Usual),
    row("POST", "/v1/sync/sources/{name}/resync", May(SyncManage), Usual),
];

/// The page to which the address of a form belongs: the same without `/console`, or the nearest one above it.
pub(super) fn page_of(path: &str) -> Option<&str> {
    let mut page = path.strip_prefix("/console").filter(|rest| rest.starts_with('/'))?;
    while find("GET", page).is_none() {
        page = page.rsplit_once('/').map(|(above, _)| above).filter(|above| !above.is_empty()).unwrap_or("/");
    }
    Some(page)
}

/// The row of the route that serves a path as it was sent; HEAD is answered as GET is.
pub(super) fn find(method: &str, path: &str) -> Option<&'static Row> {
    // The matcher that the router itself is made of, so that both always agree.
    static BY_PATH: LazyLock<matchit::Router<Vec<&Row>>> = LazyLock::new(|| {
        let mut by_path: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        TABLE.iter().for_each(|row| by_path.entry(row.path).or_default().push(row));
        let mut router = matchit::Router::new();
        for (path, rows) in by_path {
            router.insert(path, rows).expect("no two paths of the table are in each other's way: a test serves them");
        }
        router
    });
    let method = if method == "HEAD" { "GET" } else { method };
    BY_PATH.at(path).ok()?.value.iter().find(|row| row.method == method).copied()
}
