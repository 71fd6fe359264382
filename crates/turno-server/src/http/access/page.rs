//! Generates `docs/reference/access.md` from the table of routes. A test compares the file with the table.

use turno::core::access::{Permission, Permissions, Role};

use super::{Needs, TABLE};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/access.md");

const INTRODUCTION: &str = "\
# Who may call what

Every route, the permission that it requires, the scope that the caller's token must reach, and which of the three roles
have the permission. A token can carry fewer permissions than its owner's role. A call without a valid token gets 401
where the column *anonymous* says no. A call without the permission gets 403 `forbidden`, and a call outside of the
token's scope 403 `other_resource`. All are decided before the body is parsed.

## Scopes

`resources` limits a token or session to leases whose names begin with one of its entries and, through `task:`, to tasks.
`queues` limits it to the queues with these names, or with these prefixes if they end in `*`. A token or session that has
one of the two reaches nothing of the other kind. A token with neither reaches everything. A session with neither reaches
the leases outside `task:`.

| scope | a route with this scope is for |
|---|---|
| any | every caller; what the token does not reach is omitted |
| account | every token, not for sessions |
| leases | tokens that reach the lease in the path, or any lease |
| tasks | tokens that reach the lease `task:ID` of the task in the path, or any task; to create one, all tasks |
| queues | tokens that reach the queue in the path or of the source, or any queue |
| whole | tokens without `resources` and `queues`, not for sessions |

## Permissions

Reading leases needs no permission. `queues.read`, `tasks.read` and `metrics.read` are part of every role. A list of
permissions on a token is exact: a token with `queues.consume` alone claims and settles, and does not list items. A token
that does not have all rights of its owner can revoke only itself. A user for whom a backend acts (`Turno-Actor`) and whom
Turno does not know has `inventory.manage`, `leases.use` and the permissions in the token's own list, never
`users.manage` or `sessions.mint`.

Messages to a holder, the answers to them and the reasons of overrides are shown to the users concerned and to callers
with `audit.read`.

## Routes

This page is generated from `crates/turno-server/src/http/access.rs`, the table that the server checks. After a change
there, run `TURNO_UPDATE_DOCS=1 cargo test -p turno-server access_page_matches_the_table`.

| call | needs | scope | anonymous | viewer | editor | admin |
|---|---|---|---|---|---|---|
";

fn page() -> String {
    let rows = TABLE.iter().map(|row| {
        let needs = match row.needs {
            Needs::Nothing => "nothing".to_owned(),
            Needs::Token => "a token".to_owned(),
            needs => needs.permission().unwrap_or_default(),
        };
        let [anonymous, viewer, editor, admin] =
            [None, Some(Role::Viewer), Some(Role::Editor), Some(Role::Admin)].map(|role| may(row.needs, role));
        let (method, path, scope) = (row.method, row.path, row.scope.as_str());
        format!("| `{method} {path}` | {needs} | {scope} | {anonymous} | {viewer} | {editor} | {admin} |\n")
    });
    rows.fold(INTRODUCTION.to_owned(), |page, row| page + &row)
}

fn may(needs: Needs, role: Option<Role>) -> &'static str {
    let holds = |permission: Permission| role.map_or_else(Permissions::default, Role::permissions).has(permission);
    let may = match needs {
        Needs::Nothing => true,
        Needs::Token => role.is_some(),
        Needs::May(permission) => holds(permission),
        Needs::Lease => holds(Permission::LeasesUse) && holds(Permission::InventoryManage),
        Needs::Either(one, other) => holds(one) || holds(other),
    };
    if may { "yes" } else { "no" }
}

#[test]
fn access_page_matches_the_table() {
    let page = page();
    if std::env::var_os("TURNO_UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(std::path::Path::new(PAGE).parent().expect("the path has a parent"))
            .expect("the folder is created");
        std::fs::write(PAGE, &page).expect("the page is written");
    }
    let committed = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(committed == page, "docs/reference/access.md is behind; run this test with TURNO_UPDATE_DOCS=1");
}

#[test]
fn introduction_describes_every_scope() {
    for scope in super::Scope::ALL {
        assert!(INTRODUCTION.contains(&format!("| {} | ", scope.as_str())), "{scope:?}");
    }
}

#[test]
fn no_route_has_two_rows() {
    for (n, row) in TABLE.iter().enumerate() {
        let same = |other: &&super::Row| other.method == row.method && other.path == row.path;
        assert!(!TABLE[n + 1..].iter().any(|other| same(&other)), "{} {}", row.method, row.path);
    }
}
