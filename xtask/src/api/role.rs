//! The callers of made-up requests, and what each of them leaves out.

use super::server::Site;

/// A kind of caller.
pub(super) struct Role {
    pub(super) name: &'static str,
    /// Headers besides the token.
    headers: &'static [&'static str],
    /// The status of `GET /v1/me`.
    pub(super) me: u16,
}

const fn with_token(name: &'static str) -> Role {
    Role { name, headers: &[], me: 200 }
}

/// The roles, the strongest last, because an administrator changes the accounts and queues that the others meet.
pub(super) const ROLES: &[Role] = &[
    Role { name: "anonymous", headers: &[], me: 401 },
    // A session for resources that begin with `invoice:`. It lives for 15 minutes, so it is among the first.
    with_token("session"),
    with_token("viewer"),
    with_token("editor"),
    // A machine token with four permissions.
    Role { name: "machine", headers: &["Turno-Instance: fuzz-1"], me: 200 },
    with_token("admin"),
];

/// Paths that no run checks against their description, with the reasons.
pub(super) const LEFT_OUT: &[(&str, &str)] = &[
    ("/v1/events", "its answer has no end"),
    ("/sign-in", "a page for people, which answers mistakes with a page; `cargo xtask fuzz` calls it"),
    ("/sign-in/link", "a page for people, which answers mistakes with a page; `cargo xtask fuzz` calls it"),
    ("/sign-out", "a page for people; `cargo xtask fuzz` calls it"),
    ("/setup", "a page for people, which answers mistakes with a page; `cargo xtask fuzz` calls it"),
];

/// Which paths a run calls.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Paths {
    /// Every path that is compared with its description.
    Described,
    /// The paths of [`LEFT_OUT`] whose answers end. Only server errors are looked for.
    LeftOut,
}

impl Paths {
    /// Returns the tool's arguments. All paths are one expression, because the tool uses only the last of several.
    pub(super) fn arguments(self) -> [String; 2] {
        let paths = LEFT_OUT.iter().map(|(path, _)| *path);
        match self {
            Paths::Described => ["--exclude-path-regex".to_owned(), expression(paths)],
            Paths::LeftOut => {
                ["--include-path-regex".to_owned(), expression(paths.filter(|path| *path != "/v1/events"))]
            }
        }
    }
}

fn expression<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let paths: Vec<String> = paths.map(|path| path.replace('{', "\\{").replace('}', "\\}")).collect();
    format!("^({})$", paths.join("|"))
}

impl Role {
    /// Returns the headers of this caller.
    pub(super) fn headers(&self, site: &Site) -> Vec<String> {
        let token = site.token(self.name).map(|token| format!("Authorization: Bearer {token}"));
        token.into_iter().chain(self.headers.iter().map(|header| (*header).to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_expression_with_literal_braces() {
        assert_eq!(expression(["/a", "/b/{id}"].into_iter()), "^(/a|/b/\\{id\\})$");
    }

    #[test]
    fn every_path_but_the_endless_one_is_called_by_one_of_both_runs() {
        let [_, excluded] = Paths::Described.arguments();
        let [_, included] = Paths::LeftOut.arguments();
        assert_eq!(excluded, included.replacen("^(", "^(/v1/events|", 1));
    }

    #[test]
    fn the_administrator_comes_last() {
        assert_eq!(ROLES.last().map(|role| role.name), Some("admin"));
    }
}
