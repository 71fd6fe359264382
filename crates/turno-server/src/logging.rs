//! What the program says about itself, on stderr: lines for people on a terminal, JSON for whatever collects them.
//!
//! Secrets, passwords and what items carry are never handed to a log line, at any level; a test runs the program at
//! `trace` and looks for them.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;
use crate::failure::Failure;

/// Whether it is JSON that is written to this stderr.
fn is_json(format: LogFormat, terminal: bool) -> bool {
    format == LogFormat::Json || (format == LogFormat::Auto && !terminal)
}

/// Ends what was begun with the log: kept until the program ends.
#[derive(Debug)]
pub(crate) struct Logging {
    #[cfg(feature = "otlp")]
    _traces: Option<crate::traces::Traces>,
}

/// Starts to log what passes the filter, and to send traces if there is somewhere to send them to.
pub(crate) fn start(format: LogFormat, filter: &str, otlp_endpoint: Option<&str>) -> Result<Logging, Failure> {
    let read = EnvFilter::builder().parse(filter).map_err(|error| {
        Failure::usage(
            format!("the log filter {filter:?} cannot be read: {error}"),
            "use error, warn, info, debug or trace, also by module as in info,turno=debug",
        )
    })?;
    let terminal = std::io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines: Box<dyn tracing_subscriber::Layer<_> + Send + Sync> = if is_json(format, terminal) {
        Box::new(lines.json().flatten_event(true).with_current_span(false).with_span_list(false))
    } else {
        Box::new(lines.with_ansi(terminal && !no_color()))
    };
    let lines = tracing_subscriber::Layer::with_filter(lines, read);
    let log = tracing_subscriber::registry().with(lines);
    // A second start, as in tests, keeps the first one's.
    #[cfg(feature = "otlp")]
    {
        let (layer, traces) = crate::traces::start(otlp_endpoint)?;
        let _ = log.with(layer).try_init();
        Ok(Logging { _traces: traces })
    }
    #[cfg(not(feature = "otlp"))]
    {
        let _ = log.try_init();
        if otlp_endpoint.is_some() {
            tracing::warn!("traces are not sent: this program was built without the feature otlp");
        }
        Ok(Logging {})
    }
}

/// The wish of <https://no-color.org>.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_text_and_machines_get_json_unless_told_otherwise() {
        assert!(!is_json(LogFormat::Auto, true) && is_json(LogFormat::Auto, false));
        assert!(is_json(LogFormat::Json, true) && !is_json(LogFormat::Text, false));
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_wrong_usage() {
        let failure = start(LogFormat::Text, "turno=loud", None).expect_err("there is no such level");
        assert!(failure.cause.contains("turno=loud") && failure.next.contains("debug"), "{failure:?}");
    }
}
