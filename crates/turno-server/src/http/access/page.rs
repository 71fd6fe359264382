//! The page of the table, `docs/reference/access.md`: written from it, and compared with it, so that it cannot lie.

use turno::core::access::{Permission, Permissions, Role};

use super::{Needs, TABLE};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/access.md");

const INTRODUCTION: &str = "\
# Who may call what

Every route with the permission that it asks for, and what follows for the three roles. A token may carry less than its
owner's role; then it is refused what it does not carry. Whoever does not say who they are is answered 401 where the
column *anonymous* says no, and whoever lacks the permission 403, both before the body is parsed.

This page is written from `crates/turno-server/src/http/access.rs`, the table that the server itself asks. After a change
there, `TURNO_UPDATE_DOCS=1 cargo test -p turno-server the_page_says_what_the_table_says` writes it anew.

| call | needs | anonymous | viewer | editor | admin |
|---|---|---|---|---|---|
";

fn page() -> String {
    let rows = TABLE.iter().map(|row| {
        let needs = match row.needs {
            Needs::Nobody => "nothing".to_owned(),
            Needs::Anybody => "a token".to_owned(),
            Needs::May(permission) => format!("`{permission}`"),
            Needs::Lease => "`leases.use`; for `task:…` `inventory.manage`".to_owned(),
            Needs::SomeLease => "`leases.use` or `inventory.manage`".to_owned(),
        };
        let [anonymous, viewer, editor, admin] =
            [None, Some(Role::Viewer), Some(Role::Editor), Some(Role::Admin)].map(|role| may(row.needs, role));
        format!("| `{} {}` | {needs} | {anonymous} | {viewer} | {editor} | {admin} |\n", row.method, row.path)
    });
    rows.fold(INTRODUCTION.to_owned(), |page, row| page + &row)
}

fn may(needs: Needs, role: Option<Role>) -> &'static str {
    let holds = |permission: Permission| role.map_or_else(Permissions::default, Role::permissions).has(permission);
    let may = match needs {
        Needs::Nobody => true,
        Needs::Anybody => role.is_some(),
        Needs::May(permission) => holds(permission),
        Needs::Lease => holds(Permission::LeasesUse) && holds(Permission::InventoryManage),
        Needs::SomeLease => holds(Permission::LeasesUse) || holds(Permission::InventoryManage),
    };
    if may { "yes" } else { "no" }
}

#[test]
fn the_page_says_what_the_table_says() {
    let page = page();
    if std::env::var_os("TURNO_UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(std::path::Path::new(PAGE).parent().expect("it has a folder")).expect("writable");
        std::fs::write(PAGE, &page).expect("writable");
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(written == page, "docs/reference/access.md is behind; run this test with TURNO_UPDATE_DOCS=1");
}

#[test]
fn no_route_has_two_rows() {
    for (n, row) in TABLE.iter().enumerate() {
        let same = |other: &&super::Row| other.method == row.method && other.path == row.path;
        assert!(!TABLE[n + 1..].iter().any(|other| same(&other)), "{} {}", row.method, row.path);
    }
}
