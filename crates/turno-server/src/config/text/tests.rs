//! Which texts are accepted, and how they are kept and shown.

use super::*;

fn all(check: fn(&str) -> Result<String, Wrong>, good: &[&str], bad: &[&str]) {
    for text in good {
        assert!(check(text).is_ok(), "{text} is refused");
    }
    for text in bad {
        let wrong = check(text).expect_err(text);
        assert!(!wrong.cause.is_empty() && !wrong.next.is_empty());
        let secret = text.contains("s3cret") && wrong.cause.contains("s3cret");
        assert!(!secret, "{}", wrong.cause);
    }
}

#[test]
fn an_address_is_a_host_and_a_port() {
    let good = ["127.0.0.1:7171", "[::1]:0", "localhost:80", "0.0.0.0:65535", "turno_1.internal:80"];
    all(address, &good, &["", "7171", ":7171", "localhost", "localhost:70000", "::1:x", "a:b:1", "a b:1"]);
}

#[test]
fn a_database_is_a_file_or_a_server() {
    all(
        database,
        &["sqlite:turno.db", "postgres://ana:pw@db/turno", "postgresql:///turno"],
        &["", "sqlite:", "turno.db", "mysql://s3cret@db/turno", "postgres:s3cret", "sqlite:a\nb"],
    );
}

#[test]
fn origins_are_kept_as_browsers_send_them() {
    assert_eq!(origin("HTTPS://App.Example.com:443/").unwrap(), "https://app.example.com");
    assert_eq!(origin("http://localhost:3000").unwrap(), "http://localhost:3000");
    all(origin, &["*"], &["", "null", "app.example.com", "https://a/b", "https://a?b", "ftp://a", "https://u@a"]);
}

#[test]
fn an_endpoint_has_its_key_in_the_path_or_behind_it() {
    all(
        endpoint_url,
        &["http://127.0.0.1:9000/usuarios/{key}", "https://m.example/x?k={key}", "http://[::1]/"],
        &["", "/usuarios", "http://{key}.example/", "http://a:{key}/", "http://a/{id}", "http://a/{", "mailto:a@b"],
    );
    all(endpoint_url, &[], &["https://ana:s3cret@m.example/", "https://s3cret@m.example/", "http://a/#{key}"]);
}

#[test]
fn public_urls_end_where_paths_begin() {
    assert_eq!(public_url("https://turno.example.com/").unwrap(), "https://turno.example.com");
    assert_eq!(public_url("https://example.com/turno/").unwrap(), "https://example.com/turno");
    all(public_url, &[], &["", "turno.example.com", "https://a/?b", "https://a/#b"]);
}

#[test]
fn what_is_plain_and_leaves_the_machine_is_exposed() {
    for url in ["http://app.example.com", "http://10.0.0.7:80/x", "http://localhost.example.com", "http://[::2]/"] {
        assert!(is_exposed(url), "{url}");
    }
    for url in ["https://app.example.com", "http://localhost:3000", "http://127.8.0.1/x", "http://[::1]:1/"] {
        assert!(!is_exposed(url), "{url}");
    }
}

#[test]
fn loopback_is_told_from_the_rest_of_the_world() {
    for near in ["127.0.0.1:1", "[::1]:1", "localhost:1", "127.9.9.9:1", "[::ffff:127.0.0.1]:1"] {
        assert!(is_loopback(near), "{near}");
    }
    for far in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "turno.example.com:1"] {
        assert!(!is_loopback(far), "{far}");
    }
}

#[test]
fn names_of_the_database_are_bounded_and_have_at_most_a_schema() {
    let long = "a".repeat(64);
    all(identifier, &["idper", "Año"], &["", "a.b", &long, "a\0b"]);
    all(relation, &["usuarios", "siper.usuarios"], &["", ".", "a.", ".b", "a.b.c", &format!("s.{long}")]);
    all(condition, &["principal", "a = ';'"], &["", "  ", "a\0b", &"a".repeat(4_001)]);
    all(variable, &["MODULE_SECRET", "_x1"], &["", "1A", "A-B", "s3cret value"]);
}

#[test]
fn filters_are_those_of_the_log() {
    all(filter, &["info", "warn,turno=debug"], &["", "turno=loud", "info,,=x="]);
}

#[test]
fn a_network_contains_its_addresses_only() {
    let network = Network::of("10.1.0.0/16").unwrap();
    assert!(network.contains("10.1.255.9".parse().unwrap()));
    assert!(network.contains("::ffff:10.1.0.1".parse().unwrap()));
    assert!(!network.contains("10.2.0.1".parse().unwrap()) && !network.contains("::1".parse().unwrap()));
    let one = Network::of("fd00::7").unwrap();
    assert!(one.contains("fd00::7".parse().unwrap()) && !one.contains("fd00::8".parse().unwrap()));
    assert!(Network::of("0.0.0.0/0").unwrap().contains("203.0.113.1".parse().unwrap()));
    all(super::network, &["::/0"], &["", "10.0.0.0/33", "10.0.0.0/", "hooks.internal", "::1/129", "10.0.0.0/-1"]);
}

#[test]
fn passwords_are_masked_wherever_they_stand() {
    let shown = masked("postgres://ana:s3cr@t@db:5433/turno?sslmode=require&password=s3cret&sslPassword=s3cret");
    assert_eq!(shown, "postgres://ana:***@db:5433/turno?sslmode=require&password=***&sslPassword=***");
    assert_eq!(masked("postgres://ana@db/turno"), "postgres://ana@db/turno");
    assert_eq!(masked("sqlite:turno.db"), "sqlite:turno.db");
    assert_eq!(without_query("https://m.example/x?token=s3cret"), "https://m.example/x?***");
}
