//! Layers, origins and refusals.

mod page;

use super::origin::columns;

use super::*;

/// Returns the settings with this text as the file and no other layer.
pub(super) fn settings(file: &str) -> Settings {
    layered(file, &[], Overrides::default()).expect("these settings are accepted")
}

/// Returns why this text is refused as a file.
pub(super) fn refused(file: &str) -> Failure {
    layered(file, &[], Overrides::default()).expect_err("this file is not accepted")
}

fn layered(file: &str, env: &[(&str, &str)], cli: Overrides) -> Result<Settings, Failure> {
    let path: Arc<Path> = Path::new("turno.toml").into();
    let nodes = tree::parse(&path, file)?;
    let env = |name: &str| env.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned());
    resolve(&cli, Some((path, nodes)), env)
}

fn overriding(key: &'static str, value: &str) -> Overrides {
    Overrides::default().with(key, Some(value.to_owned()))
}

fn origin(settings: &Settings, key: &str) -> String {
    settings.explain().iter().find(|row| row.key == key).expect("every key is shown").origin.to_string()
}

#[test]
fn without_anything_the_defaults_are_in_force() {
    let settings = parse(Overrides::default(), None, |_| None).unwrap();
    assert_eq!(settings.database, "sqlite:turno.db");
    assert_eq!(settings.listen, "127.0.0.1:7171");
    assert_eq!((settings.environment, settings.migrate), (Environment::Development, true));
    assert_eq!(settings.log, Log { format: LogFormat::Auto, level: "info".to_owned() });
    assert_eq!((settings.cors_origins.len(), settings.metrics_listen.as_ref()), (0, None));
    assert_eq!(settings.limits, Limits::default(), "the keys have the defaults of an unconfigured server");
    assert_eq!(settings.keep_history, Span::from_secs(90 * 86_400));
    assert!(settings.explain().iter().all(|row| row.origin == Origin::Default));
}

#[test]
fn the_later_layer_wins_and_is_named() {
    let file = "\nlisten = \"127.0.0.1:1\"\nmigrate = false";
    let env = [("TURNO_LISTEN", "127.0.0.1:2")];
    let by_file = layered(file, &[], Overrides::default()).unwrap();
    assert_eq!((by_file.listen.as_str(), by_file.migrate), ("127.0.0.1:1", false));
    assert_eq!(origin(&by_file, "listen"), "turno.toml line 2");
    let by_variable = layered(file, &env, Overrides::default()).unwrap();
    assert_eq!(by_variable.listen, "127.0.0.1:2");
    assert_eq!(origin(&by_variable, "listen"), "TURNO_LISTEN");
    let by_flag = layered(file, &env, overriding("listen", "127.0.0.1:3")).unwrap();
    assert_eq!(by_flag.listen, "127.0.0.1:3");
    assert_eq!(origin(&by_flag, "listen"), "--listen");
    assert_eq!(origin(&by_flag, "migrate"), "turno.toml line 3");
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let settings = layered("", &[("TURNO_LISTEN", ""), ("TURNO_CONFIG", "")], Overrides::default()).unwrap();
    assert_eq!(settings.listen, "127.0.0.1:7171");
    assert!(parse(Overrides::default(), None, |_| Some(String::new())).is_ok());
}

#[test]
fn every_key_can_be_set_in_every_layer() {
    let values = [
        ("database", "sqlite:other.db"),
        ("listen", "127.0.0.1:9"),
        ("env", "production"),
        ("migrate", "false"),
        ("public_url", "https://turno.example.com"),
        ("database_direct", "postgres://db/shop"),
        ("database_plaintext", "true"),
        ("behind_proxy", "true"),
        ("trusted_proxies", "10.0.0.0/8"),
        ("cors_origins", "https://a.example"),
        ("metrics_listen", "127.0.0.1:8"),
        ("otlp_endpoint", "http://127.0.0.1:4318"),
        ("keep_history_days", "7"),
        ("language", "en"),
        ("stop_drain_ms", "16"),
        ("log.format", "json"),
        ("log.level", "debug"),
        ("limits.requests", "11"),
        ("limits.connections", "12"),
        ("limits.listeners", "13"),
        ("limits.request_timeout_ms", "40000"),
        ("limits.stop_grace_ms", "15"),
        ("limits.answer_bytes", "5000"),
        ("limits.payload_bytes", "6000"),
        ("limits.streams_per_caller", "17"),
        ("limits.waiting_per_caller", "18"),
        ("limits.requests_per_caller", "19"),
        ("limits.leases_per_caller", "20"),
        ("limits.connections_per_source", "21"),
        ("push.allow", "10.0.0.0/8"),
        ("push.allow_private", "true"),
    ];
    let shown = |settings: &Settings, key: &str| {
        settings.explain().iter().find(|row| row.key == key).and_then(|row| row.value.clone())
    };
    for key in KEYS {
        let (_, value) = values.iter().find(|(name, _)| *name == key.name).expect(key.name);
        let written = match key.shape {
            field::Shape::Text(_) | field::Shape::Choice(_) => format!("{} = \"{value}\"", key.name),
            field::Shape::Texts(_) => format!("{} = [\"{value}\"]", key.name),
            _ => format!("{} = {value}", key.name),
        };
        let by_file = settings(&written);
        let by_variable = layered("", &[(key.variable, value)], Overrides::default()).unwrap();
        let by_flag = layered("", &[], overriding(key.name, value)).unwrap();
        for settings in [by_file, by_variable, by_flag] {
            assert_eq!(shown(&settings, key.name).as_deref(), Some(*value), "{}", key.name);
            assert_ne!(origin(&settings, key.name), "default", "{}", key.name);
        }
    }
}

#[test]
fn each_value_reaches_its_setting() {
    let file = "keep_history_days = 7\nlanguage = \"en\"\nstop_drain_ms = 16\n[limits]\nrequests = 11\nconnections = 12\nlisteners = 13\n\
        request_timeout_ms = 40000\nstop_grace_ms = 15\nanswer_bytes = 5000\npayload_bytes = 6000\n\
        streams_per_caller = 17\nwaiting_per_caller = 0\nrequests_per_caller = 19\nleases_per_caller = 20\n[push]\nallow = [\"10.0.0.0/8\"]\nallow_private = true\n\
        [log]\nformat = \"json\"\nlevel = \"debug\"";
    let settings = settings(file);
    let Limits { requests, connections, listeners, request_timeout, stop_drain, stop_grace, .. } = settings.limits;
    assert_eq!((settings.limits.answer_bytes, settings.limits.payload_bytes), (5_000, 6_000));
    let expected = CallerLimits { streams: 17, waiting: 0, requests: 19, leases: 20, connections: 3 };
    assert_eq!(settings.limits.per_caller, expected, "a source may have a quarter of the connections");
    assert_eq!((requests, connections, listeners), (11, 12, 13));
    assert_eq!(request_timeout, Duration::from_secs(40));
    assert_eq!((stop_drain, stop_grace), (Duration::from_millis(16), Duration::from_millis(15)));
    assert_eq!(settings.language, Language::English);
    assert!(settings.push.allow_private && settings.push.allow[0].contains("10.9.9.9".parse().unwrap()));
    assert_eq!(settings.log, Log { format: LogFormat::Json, level: "debug".to_owned() });
    assert_eq!(settings.keep_history, Span::from_secs(7 * 86_400));
    let addresses = "otlp_endpoint = \"http://127.0.0.1:4318\"\nmetrics_listen = \"127.0.0.1:8\"";
    let settings = self::settings(addresses);
    assert_eq!(settings.otlp_endpoint.as_deref(), Some("http://127.0.0.1:4318"));
    assert_eq!(settings.metrics_listen.as_deref(), Some("127.0.0.1:8"));
}

#[test]
fn the_drain_before_a_stop_is_longer_in_production() {
    for (file, seconds) in [("", 0), ("env = \"production\"", 5), ("env = \"production\"\nstop_drain_ms = 0", 0)] {
        assert_eq!(settings(file).limits.stop_drain, Duration::from_secs(seconds), "{file}");
    }
    let shown = settings("env = \"production\"");
    let row = shown.explain().iter().find(|row| row.key == "stop_drain_ms").unwrap();
    assert_eq!((row.value.as_deref(), &row.origin), (Some("5000"), &Origin::Default));
}

#[test]
fn an_unknown_key_is_refused_with_a_suggestion() {
    let cases = [
        ("\n[leases.task]\nttl = 5", "turno.toml line 3: unknown key `ttl` in [leases.task]; did you mean `ttl_ms`?"),
        ("lisen = \"x\"", "turno.toml line 1: unknown key `lisen`; did you mean `listen`?"),
        ("environment = \"production\"", "turno.toml line 1: unknown key `environment`; did you mean `env`?"),
        ("[limit]\nrequests = 1", "turno.toml line 1: unknown key `limit`; did you mean `limits`?"),
        ("[limits]\nrequest = 1", "turno.toml line 2: unknown key `request` in [limits]; did you mean `requests`?"),
        ("[log]\ncolour = 1", "turno.toml line 2: unknown key `colour` in [log]"),
        ("[\"\"]\nlisten = \"127.0.0.1:1\"", "turno.toml line 1: unknown key ``"),
        ("\"a\\nb\" = 1", "turno.toml line 1: unknown key `a\\nb`"),
    ];
    for (file, cause) in cases {
        let failure = refused(file);
        assert_eq!(failure.cause(), cause);
        assert!(!failure.next().is_empty());
    }
}

#[test]
fn a_wrong_value_is_refused_with_its_key_and_line() {
    let cases = [
        ("listen = 7171", "turno.toml line 1: listen is a whole number, but must be a text in quotes"),
        ("\nlisten = \"7171\"", "turno.toml line 2: listen is not an address"),
        ("[listen]\nx = 1", "turno.toml line 1: listen is a table, but must be a text in quotes"),
        ("migrate = \"no\"", "turno.toml line 1: migrate is a text, but must be true or false"),
        ("cors_origins = \"*\"", "turno.toml line 1: cors_origins is a text, but must be a list"),
        ("log = \"json\"", "turno.toml line 1: log is a text"),
        ("limits.requests = 0", "turno.toml line 1: limits.requests is 0, but must be between 1 and 100000"),
        ("limits.requests = 1.5", "is a number with a fraction"),
        ("limits.requests = 99999999999999999999", "is a number beyond 64 bits"),
        ("limits.requests = 1979-05-27", "is a date"),
        ("env = \"prod\"", "env must be one of \"development\", \"production\""),
        ("leases = 1", "turno.toml line 1: leases is a whole number"),
        ("queues = []", "turno.toml line 1: queues is a list"),
        ("metrics_listen = \"127.0.0.1:7171\"", "metrics_listen is the same address as listen"),
    ];
    for (file, cause) in cases {
        let failure = refused(file);
        assert!(failure.cause().contains(cause), "{file}: {}", failure.cause());
        assert!(!failure.next().is_empty());
    }
}

#[test]
fn a_wrong_variable_or_flag_is_named() {
    let failure = layered("", &[("TURNO_LIMITS_REQUESTS", "many")], Overrides::default()).unwrap_err();
    assert!(failure.cause().starts_with("TURNO_LIMITS_REQUESTS: limits.requests is something else"), "{failure:?}");
    let failure = layered("", &[], overriding("listen", "here")).unwrap_err();
    assert_eq!(failure.cause(), "--listen: listen is not an address");
}

#[test]
fn the_common_variable_comes_after_flag_variable_and_file() {
    let common = ("DATABASE_URL", "postgres://common/turno");
    let by_common = layered("", &[common], Overrides::default()).unwrap();
    assert_eq!((by_common.database.as_str(), &*origin(&by_common, "database")), (common.1, "DATABASE_URL"));
    let by_file = layered("database = \"sqlite:a.db\"", &[common], Overrides::default()).unwrap();
    assert_eq!(by_file.database, "sqlite:a.db");
    let own = ("TURNO_DATABASE", "sqlite:b.db");
    assert_eq!(layered("", &[common, own], Overrides::default()).unwrap().database, "sqlite:b.db");
    let by_flag = layered("", &[common], overriding("database", "sqlite:c.db")).unwrap();
    assert_eq!((by_flag.database.as_str(), &*origin(&by_flag, "database")), ("sqlite:c.db", "--database"));
    let empty = layered("", &[("DATABASE_URL", "")], Overrides::default()).unwrap();
    assert_eq!(origin(&empty, "database"), "default");
    let failure = layered("", &[("DATABASE_URL", "mysql://ana:s3cret@db")], Overrides::default()).unwrap_err();
    assert!(failure.cause().starts_with("DATABASE_URL: database ") && failure.next().contains("postgres://"));
}

#[test]
fn a_password_is_never_shown() {
    let url = "postgres://ana:s3cret@db/turno?password=s3cret";
    let settings = layered("", &[("TURNO_DATABASE", url)], Overrides::default()).unwrap();
    assert_eq!(settings.database, url);
    let everything = format!("{settings:?}{}{:?}", columns(settings.explain()), settings.explain());
    assert!(everything.contains("postgres://ana:***@db/turno") && !everything.contains("s3cret"), "{everything}");
    for wrong in ["mysql://ana:s3cret@db", "postgres:s3cret"] {
        let failure = layered("", &[("TURNO_DATABASE", wrong)], Overrides::default()).unwrap_err();
        assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
    }
}

#[test]
fn malformed_files_never_panic() {
    let pieces =
        ["[", "]", "leases", ".", "task", "=", "\n", "\"", "{", "}", "-1", "[[sync.source]]", "ñ", ",", "true"];
    let mut refusals = 0;
    // Tries every sequence of four pieces, which is complete and deterministic.
    for number in 0..pieces.len().pow(4) {
        let piece = |place: u32| pieces[number / pieces.len().pow(place) % pieces.len()];
        let file = [piece(0), piece(1), piece(2), piece(3)].concat();
        refusals += usize::from(layered(&file, &[], Overrides::default()).is_err());
    }
    assert!(refusals > pieces.len().pow(4) / 2, "most of the sequences are invalid: {refusals}");
    // Cut anywhere, a valid file is either still valid or refused with advice.
    let example = page::example();
    for file in (0..=example.len()).filter_map(|cut| example.get(..cut)) {
        let refused = layered(file, &[], Overrides::default()).err();
        assert!(refused.is_none_or(|failure| !failure.next().is_empty()), "{file}");
    }
}

#[test]
fn the_file_is_named_by_the_flag_or_else_by_the_variable() {
    let missing = |path: &str| parse(Overrides::default(), Some(Path::new(path)), |_| Some("b.toml".to_owned()));
    assert!(missing("a.toml").unwrap_err().cause().contains("a.toml"));
    let env = |name: &str| (name == FILE_VARIABLE).then(|| "b.toml".to_owned());
    assert!(parse(Overrides::default(), None, env).unwrap_err().cause().contains("b.toml"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/sync/siper.toml");
    let failure = parse(Overrides::default(), Some(&example), |_| None).unwrap_err();
    assert!(failure.cause().contains("siper.toml line 2: unknown key"), "{}", failure.cause());
}
