//! `[oidc]`: the OpenID provider that signs people in.

use super::field::{Field, Shape};
use super::origin::{Origin, Shown};
use super::table::{Given, Table};
use super::text;
use super::tree::{Content, Nodes, by_line};
use crate::failure::Failure;
use crate::texts::causes;
use crate::texts::message::Message;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use turno::access::Role;

/// The keys of `[oidc]`, without `roles`, whose keys are the provider's groups.
pub(super) const FIELDS: &[Field] = &[
    Field { name: "issuer", shape: Shape::Text(text::service_url) },
    Field { name: "client_id", shape: Shape::Text(text::name) },
    Field { name: "client_secret_env", shape: Shape::Text(text::variable) },
    Field { name: "scopes", shape: Shape::Texts(text::name) },
    Field { name: "user_claim", shape: Shape::Text(text::name) },
    Field { name: "role_claim", shape: Shape::Text(text::name) },
    Field { name: "only", shape: Shape::Switch },
];

/// The table that maps groups to roles.
const ROLES: &str = "roles";
/// The scopes that are requested unless configured.
const SCOPES: [&str; 3] = ["openid", "profile", "email"];
const USER_CLAIM: &str = "preferred_username";
const ROLE_CLAIM: &str = "groups";

/// The settings of the OpenID provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OidcSettings {
    /// The issuer, exactly as the provider names itself.
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    /// The variable with the client's secret.
    pub(crate) client_secret_env: String,
    pub(crate) scopes: Vec<String>,
    /// The claim that names a new person.
    pub(crate) user_claim: String,
    /// The claim with the groups of a person.
    pub(crate) role_claim: String,
    /// The role of each group.
    pub(crate) roles: BTreeMap<String, Role>,
    /// Passwords are refused.
    pub(crate) only: bool,
}

/// Returns the settings of `[oidc]` and their rows for `turno config`. `None` if the file does not have the table.
pub(super) fn read(path: &Arc<Path>, nodes: &Nodes) -> Result<(Option<OidcSettings>, Vec<Shown>), Failure> {
    let Some(node) = nodes.get("oidc") else {
        return Ok((None, Vec::new()));
    };
    let whole = Table::from_node(path, "oidc".to_owned(), node)?;
    let single: Nodes =
        whole.nodes.iter().filter(|(key, _)| *key != ROLES).map(|(key, node)| (key.clone(), node.clone())).collect();
    let given = Table { nodes: &single, ..whole.clone() }.read(FIELDS)?;
    let required = |field: &str| match given.text(field) {
        Some(text) => Ok(text.to_owned()),
        None => Err(given.wrong(field, Message::new("setting-oidc-missing"))),
    };
    let defaults = || SCOPES.map(str::to_owned).to_vec();
    let settings = OidcSettings {
        issuer: required("issuer")?,
        client_id: required("client_id")?,
        client_secret_env: required("client_secret_env")?,
        scopes: given.texts("scopes").map_or_else(defaults, <[String]>::to_vec),
        user_claim: given.text("user_claim").unwrap_or(USER_CLAIM).to_owned(),
        role_claim: given.text("role_claim").unwrap_or(ROLE_CLAIM).to_owned(),
        roles: roles(path, &whole, &given)?,
        only: given.switch("only").unwrap_or(false),
    };
    if !settings.scopes.iter().any(|scope| scope == "openid") {
        return Err(given.wrong("scopes", Message::new("setting-oidc-scopes")));
    }
    let rows = rows(&settings, &given);
    Ok((Some(settings), rows))
}

/// Reads the roles by group. Refuses an empty table, because then no person could sign in.
fn roles(path: &Arc<Path>, oidc: &Table<'_>, given: &Given) -> Result<BTreeMap<String, Role>, Failure> {
    let mut roles = BTreeMap::new();
    if let Some(node) = oidc.nodes.get(ROLES) {
        let table = Table::from_node(path, format!("oidc.{ROLES}"), node)?;
        for (group, node) in by_line(table.nodes) {
            let wrong = |wrong: Message| {
                let origin = Origin::File { path: path.clone(), line: node.line };
                super::table::refusal(&origin, &format!("oidc.{ROLES}.{group}"), wrong)
            };
            let Content::Text(text) = &node.content else {
                return Err(wrong(Message::new("setting-oidc-role")));
            };
            roles.insert(group.clone(), text.parse::<Role>().map_err(|bad| wrong(causes::message(&bad)))?);
        }
    }
    if roles.is_empty() { Err(given.wrong(ROLES, Message::new("setting-oidc-roles"))) } else { Ok(roles) }
}

fn rows(settings: &OidcSettings, given: &Given) -> Vec<Shown> {
    let roles: Vec<String> =
        settings.roles.iter().map(|(group, role)| format!("{group} = {}", role.as_str())).collect();
    let values = [
        ("issuer", settings.issuer.clone()),
        ("client_id", settings.client_id.clone()),
        ("client_secret_env", settings.client_secret_env.clone()),
        ("scopes", settings.scopes.join(", ")),
        ("user_claim", settings.user_claim.clone()),
        ("role_claim", settings.role_claim.clone()),
        ("only", settings.only.to_string()),
    ];
    let row = |(field, value): (&str, String)| Shown::new(format!("oidc.{field}"), value, given.origin(field));
    let roles = Shown::new("oidc.roles", roles.join(", "), given.origin.clone());
    values.into_iter().map(row).chain([roles]).collect()
}

impl OidcSettings {
    /// Returns the client's secret. Refuses a variable that is not set, because no sign-in would succeed.
    pub(crate) fn secret(&self, env: impl Fn(&str) -> Option<String>) -> Result<String, Failure> {
        let variable = &self.client_secret_env;
        let secret = env(variable).filter(|secret| !secret.is_empty());
        secret.ok_or_else(|| Failure::usage(Message::new("secret-unset").text("variable", variable)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{refused, settings};

    const FILE: &str = "[oidc]\nissuer = \"https://id.example\"\nclient_id = \"turno\"\n\
                        client_secret_env = \"OIDC_SECRET\"\n";

    #[test]
    fn omitted_keys_have_their_defaults() {
        let oidc = settings(&format!("{FILE}roles = {{ \"ops team\" = \"admin\", staff = \"editor\" }}")).oidc.unwrap();
        assert_eq!((oidc.user_claim.as_str(), oidc.role_claim.as_str()), ("preferred_username", "groups"));
        assert_eq!((oidc.roles["ops team"], oidc.roles["staff"], oidc.only), (Role::Admin, Role::Editor, false));
        assert_eq!(oidc.scopes, ["openid", "profile", "email"]);
        assert!(settings("").oidc.is_none());
    }

    #[test]
    fn each_wrong_key_is_named() {
        let wrong = [
            ("[oidc]\nissuer = \"https://id.example\"", "oidc.client_id"),
            (FILE, "oidc.roles"),
            (&format!("{FILE}roles = {{ a = \"boss\" }}"), "oidc.roles.a"),
            (&format!("{FILE}roles = {{ a = 1 }}"), "oidc.roles.a"),
            (&format!("{FILE}roles = {{ a = \"admin\" }}\nscopes = [\"email\"]"), "oidc.scopes"),
            (&format!("{FILE}rolls = {{ a = \"admin\" }}"), "rolls"),
        ];
        for (file, key) in wrong {
            assert!(refused(file).cause().contains(key), "{key}: {}", refused(file).cause());
        }
    }

    #[test]
    fn missing_secret_is_refused() {
        let oidc = settings(&format!("{FILE}roles = {{ a = \"admin\" }}")).oidc.unwrap();
        assert!(oidc.secret(|_| None).unwrap_err().cause().contains("OIDC_SECRET"));
        assert_eq!(oidc.secret(|_| Some("s3cret".to_owned())).unwrap(), "s3cret");
    }
}
