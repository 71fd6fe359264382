//! Translates the claims of a provider to a person: identity, id, name and role.

use serde_json::Value;
use turno::access::{Identity, IdentityClaims, Role};
use turno::core::id::UserId;

use super::OidcFault;
use super::token::Claims;
use crate::config::oidc::OidcSettings;
use crate::http::person_called;

/// Returns the value of a claim. A dot in the name leads into nested objects, as in `realm_access.roles`, unless a claim
/// has the whole name.
fn find<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    let nested = || {
        let (first, rest) = name.split_once('.')?;
        let mut found = claims.get(first)?;
        for part in rest.split('.') {
            found = found.get(part)?;
        }
        Some(found)
    };
    claims.get(name).or_else(nested)
}

/// Returns whether the claims have everything that the settings name.
pub(super) fn are_complete(settings: &OidcSettings, claims: &Claims) -> bool {
    [&settings.user_claim, &settings.role_claim].into_iter().all(|name| find(claims, name).is_some())
}

/// Returns the person of the claims. Refuses claims without a valid user id.
pub(crate) fn person(settings: &OidcSettings, claims: &Claims) -> Result<IdentityClaims, OidcFault> {
    let text = |name: &str| find(claims, name).and_then(Value::as_str);
    let missing = |name: &str| OidcFault::Claim(name.to_owned());
    let subject = text("sub").ok_or_else(|| missing("sub"))?.to_owned();
    let id = text(&settings.user_claim).and_then(|id| UserId::new(id).ok());
    let id = id.ok_or_else(|| missing(&settings.user_claim))?;
    let name = text("name").and_then(|name| person_called(name).ok()).unwrap_or_else(|| id.to_string());
    let identity = Identity { issuer: settings.issuer.clone(), subject };
    Ok(IdentityClaims { identity, id, name, role: role(settings, claims) })
}

/// Returns the highest role of the person's groups. The claim is one group or a list of them.
fn role(settings: &OidcSettings, claims: &Claims) -> Option<Role> {
    let groups: Vec<&str> = match find(claims, &settings.role_claim)? {
        Value::String(group) => vec![group],
        Value::Array(groups) => groups.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    groups.into_iter().filter_map(|group| settings.roles.get(group).copied()).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(role_claim: &str) -> OidcSettings {
        OidcSettings {
            issuer: "https://id.example".to_owned(),
            client_id: "turno".to_owned(),
            client_secret_env: "SECRET".to_owned(),
            scopes: vec!["openid".to_owned()],
            user_claim: "preferred_username".to_owned(),
            role_claim: role_claim.to_owned(),
            roles: [("staff", Role::Editor), ("ops", Role::Admin), ("all", Role::Viewer)]
                .map(|(group, role)| (group.to_owned(), role))
                .into(),
            only: false,
        }
    }

    fn claims(value: Value) -> Claims {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn highest_role_of_the_groups_counts() {
        let role = |groups: Value| role(&settings("groups"), &claims(json!({ "groups": groups })));
        assert_eq!(role(json!(["staff", "ops", "all"])), Some(Role::Admin));
        assert_eq!(role(json!(["all", "unknown", 7])), Some(Role::Viewer));
        assert_eq!(role(json!("staff")), Some(Role::Editor));
        for none in [json!([]), json!(["STAFF"]), json!({ "staff": true }), json!(null)] {
            assert_eq!(role(none.clone()), None, "{none}");
        }
        assert_eq!(super::role(&settings("groups"), &claims(json!({}))), None);
    }

    #[test]
    fn nested_and_dotted_claims_are_found() {
        let nested = claims(json!({ "realm_access": { "roles": ["ops"] } }));
        assert_eq!(role(&settings("realm_access.roles"), &nested), Some(Role::Admin));
        let dotted = claims(json!({ "https://id.example/roles": ["staff"] }));
        assert_eq!(role(&settings("https://id.example/roles"), &dotted), Some(Role::Editor));
    }

    #[test]
    fn person_has_the_id_of_the_user_claim_and_the_subject() {
        let all = json!({ "sub": "s-1", "preferred_username": "ana", "name": "Ana Pérez", "groups": ["staff"] });
        let ana = person(&settings("groups"), &claims(all.clone())).expect("the claims are complete");
        assert_eq!((ana.id.as_str(), ana.name.as_str(), ana.role), ("ana", "Ana Pérez", Some(Role::Editor)));
        assert_eq!((ana.identity.issuer.as_str(), ana.identity.subject.as_str()), ("https://id.example", "s-1"));
        assert!(are_complete(&settings("groups"), &claims(all)));
        let nameless = claims(json!({ "sub": "s-1", "preferred_username": "ana", "name": "a\nb" }));
        assert_eq!(person(&settings("groups"), &nameless).expect("a name is optional").name, "ana");
        assert!(!are_complete(&settings("groups"), &nameless));
        for wrong in [json!({ "sub": "s-1" }), json!({ "sub": "s-1", "preferred_username": "a\nb" })] {
            assert!(matches!(person(&settings("groups"), &claims(wrong)), Err(OidcFault::Claim(_))));
        }
    }
}
