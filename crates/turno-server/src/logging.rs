//! The program's log on stderr: text on a terminal, JSON elsewhere.
//!
//! No log line contains secrets, passwords or payloads of items, at any level. A test runs the program at `trace` and
//! searches its log for them.

use std::io::IsTerminal;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;
use crate::failure::Failure;
use crate::texts::message::Message;

/// Returns whether log lines are JSON.
fn is_json(format: LogFormat, terminal: bool) -> bool {
    format == LogFormat::Json || (format == LogFormat::Auto && !terminal)
}

/// Keeps the log and the traces running. Dropping it sends the last traces, so it lives until the program ends.
#[derive(Debug)]
pub(crate) struct Logging {
    #[cfg(feature = "otlp")]
    _traces: Option<crate::traces::Traces>,
}

/// Starts the log with this filter, and the traces if there is an endpoint for them.
pub(crate) fn start(format: LogFormat, filter: &str, otlp_endpoint: Option<&str>) -> Result<Logging, Failure> {
    let read = filter
        .parse::<Targets>()
        .map_err(|error| Failure::usage(Message::new("log-filter").text("filter", filter).text("cause", error)))?;
    let terminal = std::io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines: Box<dyn tracing_subscriber::Layer<_> + Send + Sync> = if is_json(format, terminal) {
        Box::new(lines.json().flatten_event(true).with_current_span(false).with_span_list(false))
    } else {
        Box::new(lines.with_ansi(terminal && !no_color()))
    };
    let lines = tracing_subscriber::Layer::with_filter(lines, read);
    let log = tracing_subscriber::registry().with(lines);
    // `try_init` fails if the process already logs, as in tests. The first log stays in use.
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

/// Returns whether the environment asks for no colours: <https://no-color.org>.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_format_is_text_on_a_terminal_and_json_elsewhere() {
        assert!(!is_json(LogFormat::Auto, true) && is_json(LogFormat::Auto, false));
        assert!(is_json(LogFormat::Json, true) && !is_json(LogFormat::Text, false));
    }

    #[test]
    fn an_invalid_log_filter_is_wrong_usage() {
        let failure = start(LogFormat::Text, "turno=loud", None).expect_err("the level `loud` does not exist");
        assert!(failure.cause().contains("turno=loud") && failure.next().contains("debug"), "{failure:?}");
    }
}
