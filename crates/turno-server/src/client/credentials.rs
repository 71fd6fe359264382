//! The tokens that `turno login` keeps: one per server, in the user's configuration folder, readable by the user only.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;

/// A kept token.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Credential {
    /// The user that the token acts for.
    pub(crate) user: String,
    /// The token's id.
    pub(crate) id: String,
    pub(crate) token: String,
    /// When the token expires.
    pub(crate) expires_at: Option<String>,
}

/// Omits the token.
impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credential({}, {})", self.user, self.id)
    }
}

/// The file with the kept tokens, by the address of their server.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    path: PathBuf,
}

impl Credentials {
    /// Returns the file in the user's configuration folder. `None` if the user has no such folder.
    pub(crate) fn of_user(env: impl Fn(&str) -> Option<String>) -> Option<Credentials> {
        let folder = |name: &str| env(name).filter(|path| Path::new(path).is_absolute()).map(PathBuf::from);
        let home = || folder("HOME").map(|home| home.join(".config"));
        let folder = folder("XDG_CONFIG_HOME").or_else(|| folder("APPDATA")).or_else(home)?;
        Some(Credentials { path: folder.join("turno").join("credentials.toml") })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the token for a server.
    pub(crate) fn find(&self, server: &str) -> Result<Option<Credential>, Failure> {
        Ok(self.read()?.remove(server))
    }

    /// Keeps a token for a server, in place of an older one.
    pub(crate) fn put(&self, server: &str, credential: Credential) -> Result<(), Failure> {
        let mut kept = self.read()?;
        kept.insert(server.to_owned(), credential);
        self.write(&kept).map_err(|error| self.failed("credentials-write", &error))
    }

    /// Removes the token for a server.
    pub(crate) fn remove(&self, server: &str) -> Result<(), Failure> {
        let mut kept = self.read()?;
        if kept.remove(server).is_none() {
            return Ok(());
        }
        self.write(&kept).map_err(|error| self.failed("credentials-write", &error))
    }

    fn failed(&self, id: &'static str, error: &std::io::Error) -> Failure {
        Failure::failed(Message::new(id).text("path", self.path.display()).message("cause", io_cause(error)))
    }

    fn read(&self) -> Result<BTreeMap<String, Credential>, Failure> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(self.failed("credentials-read", &error)),
        };
        // The parser's message may contain a token, so it is not shown.
        let broken = |_| Failure::failed(Message::new("credentials-broken").text("path", self.path.display()));
        toml::from_str(&text).map_err(broken)
    }

    /// Writes a new file and renames it, so that the old one stays if the disk is full.
    fn write(&self, kept: &BTreeMap<String, Credential>) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut builder = std::fs::DirBuilder::new();
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
            builder.mode(0o700);
            options.mode(0o600);
        }
        builder.recursive(true).create(folder)?;
        let fresh = self.path.with_extension(format!("{}.new", std::process::id()));
        // A file that is left from a stopped command could have another mode.
        let _ = std::fs::remove_file(&fresh);
        let mut file = options.open(&fresh)?;
        file.write_all(render(kept).as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&fresh, &self.path)
    }
}

/// Renders the file. A JSON string is a TOML string, too.
fn render(kept: &BTreeMap<String, Credential>) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = "# Written by turno login. Each token acts for a user: keep this file private.\n".to_owned();
    for (server, Credential { user, id, token, expires_at }) in kept {
        text += &format!("\n[{}]\nuser = {}\nid = {}\n", quoted(server), quoted(user), quoted(id));
        text += &format!("token = {}\n", quoted(token));
        if let Some(expires_at) = expires_at {
            text += &format!("expires_at = {}\n", quoted(expires_at));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(user: &str) -> Credential {
        let expires_at = Some("2030-01-01T00:00:00Z".to_owned());
        Credential { user: user.to_owned(), id: "t-1".to_owned(), token: "turno_s3cret".to_owned(), expires_at }
    }

    #[test]
    fn token_is_kept_per_server_in_a_private_file() {
        let folder = std::env::temp_dir().join(format!("turno-credentials-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let home = folder.display().to_string();
        let kept = Credentials::of_user(|name| (name == "HOME").then(|| home.clone())).unwrap();
        assert_eq!(kept.path(), folder.join(".config/turno/credentials.toml"));
        assert_eq!(kept.find("http://a").unwrap(), None);
        kept.put("http://a", credential("ana \"ñ\"\\")).unwrap();
        kept.put("http://b", credential("leo")).unwrap();
        assert_eq!(kept.find("http://a").unwrap(), Some(credential("ana \"ñ\"\\")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(kept.path()).unwrap().permissions().mode() & 0o777, 0o600);
        }
        kept.remove("http://a").unwrap();
        assert_eq!(kept.find("http://a").unwrap(), None);
        assert_eq!(kept.find("http://b").unwrap(), Some(credential("leo")));
        std::fs::write(kept.path(), "token = turno_s3cret").unwrap();
        assert!(!kept.find("http://b").unwrap_err().cause().contains("s3cret"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn relative_folders_are_ignored() {
        let env = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("config".to_owned()),
            "HOME" => Some("/people/ana".to_owned()),
            _ => None,
        };
        assert_eq!(Credentials::of_user(env).unwrap().path(), Path::new("/people/ana/.config/turno/credentials.toml"));
        assert!(Credentials::of_user(|_| None).is_none());
    }
}
