//! Which texts are valid, and how they are stored and shown.

use super::*;

fn check_all(check: fn(&str) -> Result<String, Message>, good: &[&str], bad: &[&str]) {
    for text in good {
        assert!(check(text).is_ok(), "{text} is refused");
    }
    for text in bad {
        assert!(check(text).is_err(), "{text} is accepted");
    }
}

#[test]
fn an_address_is_a_host_and_a_port() {
    let good = ["127.0.0.1:7171", "[::1]:0", "localhost:80", "0.0.0.0:65535", "turno_1.internal:80"];
    check_all(address, &good, &["", "7171", ":7171", "localhost", "localhost:70000", "::1:x", "a:b:1", "a b:1"]);
}

#[test]
fn a_database_is_a_file_or_a_server() {
    check_all(
        database,
        &["sqlite:turno.db", "postgres://ana:pw@db/turno", "postgresql:///turno", "host=db dbname=turno"],
        &["", "sqlite:", "turno.db", "mysql://s3cret@db/turno", "postgres:s3cret", "sqlite:a\nb", "host=db\nuser=a"],
    );
    check_all(server_database, &["postgres://db/turno?sslmode=verify-full"], &["sqlite:turno.db", ""]);
}

#[test]
fn other_databases_and_wrong_parameters_are_named_without_their_values() {
    let cause = |text: &str| crate::texts::terminal::render(&database(text).unwrap_err());
    assert!(cause("mysql://ana:s3cret@db/turno").contains("mysql://"), "{}", cause("mysql://ana:s3cret@db/turno"));
    assert!(cause("postgres://db/turno?sslmode=s3cret").contains("sslmode"));
    for text in ["mysql://ana:s3cret@db/turno", "postgres://db/turno?sslmode=s3cret", "s3cret://a", "s3 cret://a"] {
        let hidden = !cause(text).contains("s3cret") || text.starts_with("s3cret");
        assert!(hidden && !cause(text).contains("s3 cret"), "{}", cause(text));
    }
}

#[test]
fn origins_are_kept_as_browsers_send_them() {
    assert_eq!(origin("HTTPS://App.Example.com:443/").unwrap(), "https://app.example.com");
    assert_eq!(origin("http://localhost:3000").unwrap(), "http://localhost:3000");
    check_all(origin, &["*"], &["", "null", "app.example.com", "https://a/b", "https://a?b", "ftp://a", "https://u@a"]);
}

#[test]
fn an_endpoint_has_its_key_in_the_path_or_the_query() {
    check_all(
        endpoint_url,
        &["http://127.0.0.1:9000/usuarios/{key}", "https://m.example/x?k={key}", "http://[::1]/"],
        &["", "/usuarios", "http://{key}.example/", "http://a:{key}/", "http://a/{id}", "http://a/{", "mailto:a@b"],
    );
    check_all(endpoint_url, &[], &["https://ana:s3cret@m.example/", "https://s3cret@m.example/", "http://a/#{key}"]);
}

#[test]
fn a_public_url_has_no_trailing_slash_query_or_fragment() {
    assert_eq!(public_url("https://turno.example.com/").unwrap(), "https://turno.example.com");
    assert_eq!(public_url("https://example.com/turno/").unwrap(), "https://example.com/turno");
    check_all(public_url, &[], &["", "turno.example.com", "https://a/?b", "https://a/#b"]);
}

#[test]
fn plain_http_that_leaves_the_machine_is_exposed() {
    for url in ["http://app.example.com", "http://10.0.0.7:80/x", "http://localhost.example.com", "http://[::2]/"] {
        assert!(is_exposed(url), "{url}");
    }
    for url in ["https://app.example.com", "http://localhost:3000", "http://127.8.0.1/x", "http://[::1]:1/"] {
        assert!(!is_exposed(url), "{url}");
    }
}

#[test]
fn loopback_addresses_are_recognised() {
    for near in ["127.0.0.1:1", "[::1]:1", "localhost:1", "127.9.9.9:1", "[::ffff:127.0.0.1]:1"] {
        assert!(is_loopback(near), "{near}");
    }
    for far in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "turno.example.com:1"] {
        assert!(!is_loopback(far), "{far}");
    }
}

#[test]
fn database_names_are_bounded_and_have_at_most_one_schema() {
    let long = "a".repeat(64);
    check_all(identifier, &["idper", "Año"], &["", "a.b", &long, "a\0b"]);
    check_all(relation, &["usuarios", "siper.usuarios"], &["", ".", "a.", ".b", "a.b.c", &format!("s.{long}")]);
    check_all(condition, &["principal", "a = ';'"], &["", "  ", "a\0b", &"a".repeat(4_001)]);
    check_all(variable, &["MODULE_SECRET", "_x1"], &["", "1A", "A-B", "s3cret value"]);
}

#[test]
fn log_filters_name_known_levels() {
    check_all(filter, &["info", "warn,turno=debug"], &["", "turno=loud", "info,,=x=", "info,turno[request]=trace"]);
}

#[test]
fn a_network_contains_its_addresses_only() {
    let network = Network::parse("10.1.0.0/16").unwrap();
    assert!(network.contains("10.1.255.9".parse().unwrap()));
    assert!(network.contains("::ffff:10.1.0.1".parse().unwrap()));
    assert!(!network.contains("10.2.0.1".parse().unwrap()) && !network.contains("::1".parse().unwrap()));
    let one = Network::parse("fd00::7").unwrap();
    assert!(one.contains("fd00::7".parse().unwrap()) && !one.contains("fd00::8".parse().unwrap()));
    assert!(Network::parse("0.0.0.0/0").unwrap().contains("203.0.113.1".parse().unwrap()));
    check_all(super::network, &["::/0"], &["", "10.0.0.0/33", "10.0.0.0/", "hooks.internal", "::1/129", "10.0.0.0/-1"]);
}

#[test]
fn passwords_are_masked_in_user_and_query() {
    let shown =
        mask_passwords("postgres://ana:s3cr@t@db:5433/turno?sslmode=require&password=s3cret&sslPassword=s3cret");
    assert_eq!(shown, "postgres://ana:***@db:5433/turno?sslmode=require&password=***&sslPassword=***");
    assert_eq!(mask_passwords("postgres://ana@db/turno"), "postgres://ana@db/turno");
    assert_eq!(mask_passwords("sqlite:turno.db"), "sqlite:turno.db");
    assert_eq!(hide_query("https://m.example/x?token=s3cret"), "https://m.example/x?***");
}
