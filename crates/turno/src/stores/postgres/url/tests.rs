//! Which texts are URLs of PostgreSQL, and what they mean.

use super::*;

fn parse(text: &str) -> PostgresUrl {
    PostgresUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refusal(text: &str) -> Misuse {
    PostgresUrl::parse(text).expect_err(text)
}

#[test]
fn both_forms_mean_the_same() {
    let url = parse(
        "postgres://ana:p%20w@db1:5433,db2:5434/shop?sslmode=verify-full&sslrootcert=/a%20b/root.crt\
         &target_session_attrs=primary&application_name=x",
    );
    let text = parse(
        "host=db1,db2 port=5433,5434 user=ana password='p w' dbname = shop sslmode=verify-full \
         sslrootcert='/a b/root.crt' target_session_attrs=primary application_name=x",
    );
    assert_eq!(url.config, text.config);
    assert_eq!(url.tls, text.tls);
    assert_eq!(url.config.get_password(), Some(&b"p w"[..]));
    assert_eq!(url.tls.roots, Some(Roots::File("/a b/root.crt".into())));
    assert_eq!(url.location(), "db1:5433,db2:5434/shop");
}

#[test]
fn a_quoted_value_keeps_quotes_backslashes_and_spaces() {
    let pairs = keyword_pairs(r"password='it\'s \\ here' user=a\ b host=''").unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(pairs, [pair("password", r"it's \ here"), pair("user", "a b"), pair("host", "")]);
    for broken in ["", "host", "host='a", "Host=a", "=a", r"host=a\"] {
        assert_eq!(keyword_pairs(broken), None, "{broken}");
    }
}

#[test]
fn modes_have_the_meanings_of_libpq() {
    let mode = |query: &str| {
        let url = parse(&format!("postgres://db/shop?{query}"));
        (url.tls.mode, url.tls.roots, url.config.get_ssl_mode())
    };
    let file = Some(Roots::File("r".into()));
    assert_eq!(mode(""), (Mode::Prefer, None, SslMode::Prefer));
    assert_eq!(mode("sslmode=disable"), (Mode::Disable, None, SslMode::Disable));
    assert_eq!(mode("sslmode=require"), (Mode::Require, None, SslMode::Require));
    assert_eq!(mode("sslmode=require&sslrootcert=r"), (Mode::VerifyCa, file.clone(), SslMode::Require));
    assert_eq!(mode("sslmode=verify-ca&sslrootcert=r"), (Mode::VerifyCa, file.clone(), SslMode::Require));
    assert_eq!(mode("sslmode=verify-full&sslrootcert=r"), (Mode::VerifyFull, file, SslMode::Require));
    assert_eq!(mode("sslmode=verify-full"), (Mode::VerifyFull, Some(Roots::System), SslMode::Require));
    assert_eq!(mode("sslrootcert=system"), (Mode::VerifyFull, Some(Roots::System), SslMode::Require));
    let socket = parse("postgres://ana@%2Frun%2Fpostgresql/shop?sslmode=require");
    assert_eq!(socket.config.get_ssl_mode(), SslMode::Disable, "Unix sockets have no TLS");
}

#[test]
fn refusals_name_the_parameter_and_no_value() {
    let named = |text: &str| match refusal(text) {
        Misuse::DatabaseParameter(fault) => fault,
        other => panic!("{text}: {other}"),
    };
    let value = |name: &str| UrlFault::Value(name.into());
    assert_eq!(named("postgres://db/shop?sslmode=allow"), value("sslmode"));
    assert_eq!(named("postgres://db/shop?connect_timeout=s3cret"), value("connect_timeout"));
    assert_eq!(named("host=db port=s3cret"), value("port"));
    assert_eq!(named("postgres://db/shop?target_session_attrs=best"), value("target_session_attrs"));
    assert_eq!(named("postgres://db/shop?target_session_attrs=standby"), UrlFault::ReadOnly);
    assert_eq!(named("postgres://db/shop?pasword=s3cret"), UrlFault::Unknown("pasword".into()));
    assert_eq!(named("postgres://db/shop?sslrootcert=system&sslmode=require"), UrlFault::SystemRoots);
    assert_eq!(named("postgres://db/shop?sslmode=verify-ca"), UrlFault::NoRoots);
    assert_eq!(named("postgres://db/shop?sslcert=a"), UrlFault::HalfClient);
    for text in ["mysql://db/shop?a=b", "turno.db", "postgres:db", "sqlite:a=b", "postgres://db:port/shop"] {
        assert_eq!(refusal(text), Misuse::DatabaseUrl, "{text}");
        assert!(text.starts_with("postgres://") || !PostgresUrl::recognizes(text), "{text}");
    }
}

#[test]
fn far_hosts_without_tls_are_listed() {
    let hosts = |text: &str| parse(text).plaintext_hosts();
    assert_eq!(hosts("postgres://localhost,127.0.0.9,[::1],db,10.0.0.7/shop"), ["db", "10.0.0.7"]);
    assert_eq!(hosts("host=localhost hostaddr=10.0.0.7"), ["localhost"], "the address decides");
    assert_eq!(hosts("postgres://db/shop?sslmode=require"), Vec::<String>::new());
    assert_eq!(hosts("postgres://%2Frun/shop?sslmode=disable"), Vec::<String>::new());
}

#[test]
fn passwords_are_masked_in_both_forms() {
    let url = "postgres://ana:s3cr@t@db:5433/shop?sslmode=require&password=s3cret&sslPassword=s3cret";
    let masked = "postgres://ana:***@db:5433/shop?sslmode=require&password=***&sslPassword=***";
    assert_eq!(PostgresUrl::mask(url), masked);
    assert_eq!(PostgresUrl::mask("postgres://ana@db/shop"), "postgres://ana@db/shop");
    assert_eq!(PostgresUrl::mask("host=db password='s3 cret' user='a b'"), "host=db password=*** user='a b'");
    assert_eq!(PostgresUrl::mask("s3cret"), "***");
    assert!(!format!("{:?}", parse("postgres://ana:s3cret@db/shop")).contains("s3cret"));
}
