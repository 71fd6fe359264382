//! Generates `docs/reference/access.md` from the table of routes. A test compares the file with the table.

use turno::core::access::{Permission, Permissions, Role};

use super::{Needs, TABLE};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/access.md");

const INTRODUCTION: &str = "\
# Who may call what

Every route, the permission that it requires, and which of the three roles have it. A token can carry fewer permissions
than its owner's role. A call without a valid token gets 401 where the column *anonymous* says no. A call without the
permission gets 403. Both are decided before the body is parsed.

This page is generated from `crates/turno-server/src/http/access.rs`, the table that the server checks. After a change
there, run `TURNO_UPDATE_DOCS=1 cargo test -p turno-server access_page_matches_the_table`.

| call | needs | anonymous | viewer | editor | admin |
|---|---|---|---|---|---|
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
        format!("| `{} {}` | {needs} | {anonymous} | {viewer} | {editor} | {admin} |\n", row.method, row.path)
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
        Needs::SomeLease => holds(Permission::LeasesUse) || holds(Permission::InventoryManage),
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
fn no_route_has_two_rows() {
    for (n, row) in TABLE.iter().enumerate() {
        let same = |other: &&super::Row| other.method == row.method && other.path == row.path;
        assert!(!TABLE[n + 1..].iter().any(|other| same(&other)), "{} {}", row.method, row.path);
    }
}
