//! Sends traces to an OpenTelemetry collector, over OTLP and HTTP: a span per request and a span per commit.
//!
//! This module exists with the feature `otlp` only, and does nothing without an endpoint. A thread of its own sends the
//! spans; while the collector does not answer, spans are dropped and requests go on.

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{Filtered, LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use crate::failure::Failure;
use crate::texts::message::Message;

/// The standard variable for the endpoint. The configuration has precedence.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Sends the remaining spans when dropped.
#[derive(Debug)]
pub(crate) struct Traces(SdkTracerProvider);

impl Drop for Traces {
    fn drop(&mut self) {
        // If the collector does not answer, the last spans are lost.
        let _ = self.0.shutdown();
    }
}

type Spans<S> = Filtered<OpenTelemetryLayer<S, Tracer>, Targets, S>;

/// Returns the layer that makes spans, if an endpoint is configured.
pub(crate) fn start<S>(configured: Option<&str>) -> Result<(Option<Spans<S>>, Option<Traces>), Failure>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let named = std::env::var(ENDPOINT).ok().filter(|endpoint| !endpoint.is_empty());
    let Some(base) = configured.map(str::to_owned).or(named) else {
        return Ok((None, None));
    };
    let endpoint = format!("{}/v1/traces", base.trim_end_matches('/'));
    // The exporter's blocking client must be created outside the async runtime.
    let made = std::thread::spawn(move || SpanExporter::builder().with_http().with_endpoint(endpoint).build()).join();
    let exporter = match made {
        Ok(Ok(exporter)) => exporter,
        Ok(Err(error)) => return Err(cannot(Message::verbatim(error))),
        Err(_) => return Err(cannot(Message::new("traces-client"))),
    };
    let resource = Resource::builder().with_service_name("turno").build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let tracer = provider.tracer("turno");
    let wanted =
        Targets::new().with_target("turno::http", LevelFilter::DEBUG).with_target("turno::commit", LevelFilter::DEBUG);
    let layer = tracing_opentelemetry::layer().with_tracer(tracer).with_filter(wanted);
    Ok((Some(layer), Some(Traces(provider))))
}

fn cannot(cause: Message) -> Failure {
    Failure::usage(Message::new("traces-failed").message("cause", cause).text("variable", ENDPOINT))
}
