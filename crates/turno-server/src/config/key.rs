//! The list of all keys with a single value. The file, the variables, the flags, `turno config` and the page
//! `docs/reference/configuration.md` follow it.

use super::field::Shape;
use super::text;

/// A key with a single value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// The name in the file. The part before the dot is its table.
    pub(crate) name: &'static str,
    /// Which values are valid.
    pub(crate) shape: Shape,
    /// The default, written as in a variable. `None` means off.
    pub(crate) default: Option<&'static str>,
    /// The environment variable.
    pub(crate) variable: &'static str,
    /// The flag, without its dashes. A flag `no-…` switches the key off.
    pub(crate) flag: &'static str,
    /// The name of the flag's value in the help. Empty for a switch.
    pub(crate) placeholder: &'static str,
    pub(crate) help: &'static str,
}

/// The minimum: a claim may wait for 30 s, and the answer must still arrive within the timeout.
const REQUEST_TIMEOUT_MIN: i64 = 35_000;

/// All keys, in the order of the reference page.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "database",
        shape: Shape::Text(text::database),
        default: Some("sqlite:turno.db"),
        variable: "TURNO_DATABASE",
        flag: "database",
        placeholder: "URL",
        help: "Where to remember: sqlite:PATH, or postgres://USER@HOST/DATABASE",
    },
    Key {
        name: "database_direct",
        shape: Shape::Text(text::server_database),
        default: None,
        variable: "TURNO_DATABASE_DIRECT",
        flag: "database-direct",
        placeholder: "URL",
        help: "The same PostgreSQL database past a pooler, for LISTEN",
    },
    Key {
        name: "database_plaintext",
        shape: Shape::Switch,
        default: Some("false"),
        variable: "TURNO_DATABASE_PLAINTEXT",
        flag: "database-plaintext",
        placeholder: "",
        help: "Let production reach PostgreSQL on other machines without TLS",
    },
    Key {
        name: "listen",
        shape: Shape::Text(text::address),
        default: Some("127.0.0.1:7171"),
        variable: "TURNO_LISTEN",
        flag: "listen",
        placeholder: "ADDR",
        help: "Address and port; port 0 takes a free one",
    },
    Key {
        name: "env",
        shape: Shape::Choice(&["development", "production"]),
        default: Some("development"),
        variable: "TURNO_ENV",
        flag: "env",
        placeholder: "ENV",
        help: "development or production; production refuses to start with unsafe settings",
    },
    Key {
        name: "migrate",
        shape: Shape::Switch,
        default: Some("true"),
        variable: "TURNO_MIGRATE",
        flag: "no-migrate",
        placeholder: "",
        help: "Do not create or upgrade the schema; end if it does not fit",
    },
    Key {
        name: "public_url",
        shape: Shape::Text(text::public_url),
        default: None,
        variable: "TURNO_PUBLIC_URL",
        flag: "public-url",
        placeholder: "URL",
        help: "The address under which people reach the server, for links and cookies",
    },
    Key {
        name: "behind_proxy",
        shape: Shape::Switch,
        default: Some("false"),
        variable: "TURNO_BEHIND_PROXY",
        flag: "behind-proxy",
        placeholder: "",
        help: "A proxy in front of the server terminates HTTPS",
    },
    Key {
        name: "trusted_proxies",
        shape: Shape::Texts(text::network),
        default: Some(""),
        variable: "TURNO_TRUSTED_PROXIES",
        flag: "trusted-proxy",
        placeholder: "NETWORK",
        help: "A proxy's network, whose X-Forwarded-For or Forwarded names the client; may be repeated",
    },
    Key {
        name: "cors_origins",
        shape: Shape::Texts(text::origin),
        default: Some(""),
        variable: "TURNO_CORS_ORIGINS",
        flag: "cors-origin",
        placeholder: "ORIGIN",
        help: "A page's origin that may call the server from a browser; may be repeated",
    },
    Key {
        name: "metrics_listen",
        shape: Shape::Text(text::address),
        default: None,
        variable: "TURNO_METRICS_LISTEN",
        flag: "metrics-listen",
        placeholder: "ADDR",
        help: "Serve metrics, without a token, on an address of their own",
    },
    Key {
        name: "otlp_endpoint",
        shape: Shape::Text(text::service_url),
        default: None,
        variable: "TURNO_OTLP_ENDPOINT",
        flag: "otlp-endpoint",
        placeholder: "URL",
        help: "Send traces to this OpenTelemetry collector",
    },
    Key {
        name: "keep_history_days",
        shape: Shape::Whole(1, 3_660),
        default: Some("90"),
        variable: "TURNO_KEEP_HISTORY_DAYS",
        flag: "keep-history-days",
        placeholder: "DAYS",
        help: "How long the history of leases is kept",
    },
    Key {
        name: "language",
        shape: Shape::Choice(&["es", "en"]),
        default: Some("es"),
        variable: "TURNO_LANGUAGE",
        flag: "language",
        placeholder: "LANGUAGE",
        help: "es or en: the language of answers to requests without Accept-Language",
    },
    Key {
        name: "stop_drain_ms",
        shape: Shape::Whole(0, 600_000),
        default: Some("0"),
        variable: "TURNO_STOP_DRAIN_MS",
        flag: "stop-drain-ms",
        placeholder: "MS",
        help: "How long /readyz answers 503 before a stop, while all else is served; 5000 in production",
    },
    Key {
        name: "log.format",
        shape: Shape::Choice(&["auto", "text", "json"]),
        default: Some("auto"),
        variable: "TURNO_LOG_FORMAT",
        flag: "log-format",
        placeholder: "FORMAT",
        help: "text, json, or auto: text on a terminal, json elsewhere",
    },
    Key {
        name: "log.level",
        shape: Shape::Text(text::filter),
        default: Some("info"),
        variable: "TURNO_LOG_LEVEL",
        flag: "log-level",
        placeholder: "FILTER",
        help: "error, warn, info, debug or trace, also by module as in info,turno=debug",
    },
    Key {
        name: "limits.requests",
        shape: Shape::Whole(1, 100_000),
        default: Some("1024"),
        variable: "TURNO_LIMITS_REQUESTS",
        flag: "limits-requests",
        placeholder: "N",
        help: "Requests under way at once; a waiting claim is one",
    },
    Key {
        name: "limits.connections",
        shape: Shape::Whole(1, 1_000_000),
        default: Some("20000"),
        variable: "TURNO_LIMITS_CONNECTIONS",
        flag: "limits-connections",
        placeholder: "N",
        help: "Open connections",
    },
    Key {
        name: "limits.listeners",
        shape: Shape::Whole(1, 100_000),
        default: Some("10000"),
        variable: "TURNO_LIMITS_LISTENERS",
        flag: "limits-listeners",
        placeholder: "N",
        help: "Open streams of live events",
    },
    Key {
        name: "limits.request_timeout_ms",
        shape: Shape::Whole(REQUEST_TIMEOUT_MIN, 600_000),
        default: Some("60000"),
        variable: "TURNO_LIMITS_REQUEST_TIMEOUT_MS",
        flag: "limits-request-timeout-ms",
        placeholder: "MS",
        help: "How long a request may take; streams of events are exempt",
    },
    Key {
        name: "limits.stop_grace_ms",
        shape: Shape::Whole(0, 600_000),
        default: Some("10000"),
        variable: "TURNO_LIMITS_STOP_GRACE_MS",
        flag: "limits-stop-grace-ms",
        placeholder: "MS",
        help: "How long requests under way may go on once the server was told to stop",
    },
    Key {
        name: "limits.answer_bytes",
        shape: Shape::Whole(4_096, 1_073_741_824),
        default: Some("8388608"),
        variable: "TURNO_LIMITS_ANSWER_BYTES",
        flag: "limits-answer-bytes",
        placeholder: "BYTES",
        help: "Payload bytes at which a list or claim ends early, with at least one item",
    },
    Key {
        name: "limits.payload_bytes",
        shape: Shape::Whole(1_024, 8_388_608),
        default: Some("8388608"),
        variable: "TURNO_LIMITS_PAYLOAD_BYTES",
        flag: "limits-payload-bytes",
        placeholder: "BYTES",
        help: "The largest payload of an item",
    },
    Key {
        name: "limits.streams_per_caller",
        shape: Shape::Whole(0, 100_000),
        default: Some("64"),
        variable: "TURNO_LIMITS_STREAMS_PER_CALLER",
        flag: "limits-streams-per-caller",
        placeholder: "N",
        help: "Open event streams of one caller; 0 for no limit",
    },
    Key {
        name: "limits.waiting_per_caller",
        shape: Shape::Whole(0, 1_000_000),
        default: Some("256"),
        variable: "TURNO_LIMITS_WAITING_PER_CALLER",
        flag: "limits-waiting-per-caller",
        placeholder: "N",
        help: "Claims under way of one caller; 0 for no limit",
    },
    Key {
        name: "limits.requests_per_caller",
        shape: Shape::Whole(0, 100_000),
        default: None,
        variable: "TURNO_LIMITS_REQUESTS_PER_CALLER",
        flag: "limits-requests-per-caller",
        placeholder: "N",
        help: "Other requests under way of one caller; a quarter of limits.requests; 0 for no limit",
    },
    Key {
        name: "limits.leases_per_caller",
        shape: Shape::Whole(0, 10_000_000),
        default: Some("10000"),
        variable: "TURNO_LIMITS_LEASES_PER_CALLER",
        flag: "limits-leases-per-caller",
        placeholder: "N",
        help: "Live leases of one person or session; 0 for no limit",
    },
    Key {
        name: "limits.connections_per_source",
        shape: Shape::Whole(0, 1_000_000),
        default: None,
        variable: "TURNO_LIMITS_CONNECTIONS_PER_SOURCE",
        flag: "limits-connections-per-source",
        placeholder: "N",
        help: "Open connections of one address; a quarter of limits.connections; 0 for no limit",
    },
    Key {
        name: "push.allow",
        shape: Shape::Texts(text::network),
        default: Some(""),
        variable: "TURNO_PUSH_ALLOW",
        flag: "push-allow",
        placeholder: "NETWORK",
        help: "A private network that endpoints set over the API may name; may be repeated",
    },
    Key {
        name: "push.allow_private",
        shape: Shape::Switch,
        default: Some("false"),
        variable: "TURNO_PUSH_ALLOW_PRIVATE",
        flag: "push-allow-private",
        placeholder: "",
        help: "Let endpoints set over the API name any private address (development only)",
    },
];

impl Key {
    /// Returns the table of the key, and the name within the table.
    pub(crate) fn table_and_name(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or(("", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_default_is_a_value_that_could_be_given() {
        for key in KEYS {
            let value = key.default.map(|default| key.shape.parse_text(default));
            assert!(value.is_none_or(|value| value.is_ok()), "{}", key.name);
        }
    }

    #[test]
    fn variables_and_flags_are_named_like_their_keys_and_only_once() {
        let names: BTreeSet<&str> = KEYS.iter().flat_map(|key| [key.variable, key.flag]).collect();
        assert_eq!(names.len(), KEYS.len() * 2);
        for key in KEYS {
            assert_eq!(key.variable, format!("TURNO_{}", key.name.to_uppercase().replace('.', "_")));
            assert!(key.placeholder.is_empty() == matches!(key.shape, Shape::Switch), "{}", key.name);
            let switches_off = key.default == Some("true");
            assert_eq!(key.flag.starts_with("no-"), switches_off, "a flag must change something: {}", key.name);
        }
    }
}
