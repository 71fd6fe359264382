//! Opens the database of a command or a server, and describes it to people without its user and password.

mod folder;

pub(crate) use folder::TemporaryFolder;

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::texts::causes;
use crate::texts::message::Message;
use turno::{Error, Options, Turno};

/// An open engine and the database it works on.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    pub(crate) turno: Turno,
    pub(crate) place: Location,
}

/// A database, described for people.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Location {
    /// `SQLite` or `PostgreSQL`.
    pub(crate) kind: &'static str,
    /// The file, or host and database name.
    pub(crate) name: String,
}

/// Opens the database, creating or upgrading its schema. Errors do not repeat the URL, since it may hold a password.
pub(crate) async fn open(url: &str) -> Result<Database, Failure> {
    open_with(url, Options::default()).await
}

/// Opens the database with these options.
pub(crate) async fn open_with(url: &str, options: Options) -> Result<Database, Failure> {
    let place = describe(url)?;
    let turno = Turno::open_with(url, options).await.map_err(|error| cannot_open(&place, &error))?;
    Ok(Database { turno, place })
}

/// The SQLSTATE for insufficient privileges.
pub(crate) const FORBIDDEN: &str = "42501";
/// The SQLSTATE for a database that does not exist.
const NO_DATABASE: &str = "3D000";

/// Returns the failure of a database that could not be opened, with advice that fits its cause.
pub(crate) fn cannot_open(place: &Location, error: &Error) -> Failure {
    use turno::store::{FileFault, SchemaFault, StoreError};
    let name = place.name.rsplit_once('/').map_or("", |(_, name)| name);
    let id = match error {
        Error::Store(StoreError::Schema(SchemaFault::Missing { .. } | SchemaFault::Old { .. })) => {
            "database-schema-old"
        }
        Error::Store(StoreError::Schema(SchemaFault::New { .. })) => "database-schema-new",
        Error::Store(StoreError::File(FileFault::Damaged)) => "database-damaged",
        Error::Store(StoreError::File(FileFault::NotADatabase)) => "database-other-file",
        Error::Store(StoreError::Rejected(cause)) if cause.code.as_deref() == Some(FORBIDDEN) => "database-no-create",
        Error::Store(StoreError::Unavailable(cause)) if cause.code.as_deref() == Some(NO_DATABASE) => {
            "database-unknown"
        }
        _ if place.kind != "SQLite" => "database-server",
        _ if Path::new(&place.name).parent().is_some_and(|folder| !folder.exists()) => "database-no-folder",
        _ => "database-file",
    };
    let message = Message::new(id).text("place", &place.name).message("cause", causes::message(error));
    Failure::failed(message.text("name", name))
}

/// Returns the kind and the visible part of a database URL.
pub(crate) fn describe(url: &str) -> Result<Location, Failure> {
    let (scheme, rest) = url.split_once(':').ok_or_else(|| Failure::usage(Message::new("database-url-scheme")))?;
    match scheme {
        "sqlite" if rest.is_empty() => Err(Failure::usage(Message::new("database-url-file"))),
        "sqlite" => {
            let path = std::path::absolute(rest).unwrap_or_else(|_| PathBuf::from(rest));
            Ok(Location { kind: "SQLite", name: path.display().to_string() })
        }
        "postgres" | "postgresql" => Ok(Location { kind: "PostgreSQL", name: host_and_name(rest)? }),
        _ => Err(Failure::usage(Message::new("database-url-kind"))),
    }
}

/// Returns host and database from the text after `postgres:`, without user, password and parameters.
fn host_and_name(rest: &str) -> Result<String, Failure> {
    let address = rest.strip_prefix("//").ok_or_else(|| Failure::usage(Message::new("database-url-slashes")))?;
    let without_parameters = address.split('?').next().unwrap_or_default();
    // The last @ ends the credentials, because a password may contain one, too.
    let visible = without_parameters.rsplit('@').next().unwrap_or_default();
    let (host, name) = visible.split_once('/').unwrap_or((visible, ""));
    let host = if host.is_empty() { "localhost" } else { host };
    Ok(if name.is_empty() { host.to_string() } else { format!("{host}/{name}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn credentials_are_never_shown() {
        let shown = |url| describe(url).map(|place| place.name).map_err(|failure| failure.cause());
        let place = Ok("db.example:5433/shop".to_string());
        assert_eq!(shown("postgres://ana:s3cr@t@db.example:5433/shop?password=other"), place);
        assert_eq!(shown("postgresql:///shop"), Ok("localhost/shop".to_string()));
        for wrong in ["postgre://ana:s3cret@db/shop", "s3cret", "postgres:s3cret"] {
            let cause = shown(wrong).expect_err("the URL is invalid");
            assert!(!cause.contains("s3cret"), "{cause}");
        }
    }

    #[test]
    fn a_file_is_shown_with_its_whole_path() {
        let place = describe("sqlite:turno.db").expect("the URL is valid");
        assert_eq!(place.kind, "SQLite");
        assert!(Path::new(&place.name).is_absolute() && place.name.ends_with("turno.db"));
        assert!(describe("sqlite:").is_err());
    }
}
