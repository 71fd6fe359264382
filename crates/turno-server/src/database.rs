//! Opens the database of a command or a server, and describes it to people without its user and password.

mod folder;

pub(crate) use folder::TemporaryFolder;

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::texts::causes;
use crate::texts::message::Message;
use turno::store::PostgresUrl;
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
    /// The file, or hosts and database name.
    pub(crate) name: String,
    /// Whether connections may use TLS.
    pub(crate) uses_tls: bool,
    /// Whether the URL names a client certificate.
    pub(crate) has_client_certificate: bool,
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

/// The SQLSTATE for a user whom the server's rules do not admit, for example without TLS or without a certificate.
const NOT_ADMITTED: &str = "28000";

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
        Error::Store(StoreError::Unavailable(cause)) if cause.code.as_deref() == Some(NOT_ADMITTED) => {
            "database-not-admitted"
        }
        Error::Store(StoreError::Tls(_)) => "database-tls",
        _ if place.kind != "SQLite" => "database-server",
        _ if Path::new(&place.name).parent().is_some_and(|folder| !folder.exists()) => "database-no-folder",
        _ => "database-file",
    };
    let message = Message::new(id).text("place", &place.name).message("cause", causes::message(error));
    let fault = match error {
        Error::Store(StoreError::Tls(fault)) => fault.code(),
        _ => "",
    };
    let (tls, client) = (place.uses_tls.to_string(), place.has_client_certificate.to_string());
    Failure::failed(message.text("name", name).text("fault", fault).text("tls", tls).text("client", client))
}

/// Returns the kind and the visible part of a database URL.
pub(crate) fn describe(url: &str) -> Result<Location, Failure> {
    let local = |name| Location { kind: "SQLite", name, uses_tls: false, has_client_certificate: false };
    match url.strip_prefix("sqlite:") {
        Some("") => Err(Failure::usage(Message::new("database-url-file"))),
        Some(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
            Ok(local(path.display().to_string()))
        }
        None => {
            let url = PostgresUrl::parse(url).map_err(|misuse| {
                Failure::usage(Message::new("database-url").message("cause", causes::message(&misuse)))
            })?;
            let (uses_tls, has_client_certificate) = (url.uses_tls(), url.has_client_certificate());
            Ok(Location { kind: "PostgreSQL", name: url.location(), uses_tls, has_client_certificate })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn credentials_are_never_shown() {
        let shown = |url| describe(url).map(|place| place.name).map_err(|failure| failure.cause());
        let place = Ok("db.example:5433/shop".to_string());
        assert_eq!(shown("postgres://ana:s3cr%40t@db.example:5433/shop?password=other"), place);
        assert_eq!(shown("host=db.example port=5433 dbname=shop password=s3cret"), place);
        assert_eq!(shown("postgresql:///shop"), Ok("localhost/shop".to_string()));
        for wrong in ["postgre://ana:s3cret@db/shop", "s3cret", "postgres:s3cret", "host=db sslmode=s3cret"] {
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
