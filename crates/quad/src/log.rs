//! The log, on standard error.

use std::fmt;

use quad_core::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::cli::LogFormat;

/// Starts the log on standard error. Standard output is for results and, in `quad stdio`, for the protocol.
pub fn start(serving: bool, format: LogFormat) {
    let default_level = if serving { "info" } else { "warn" };
    let filter = EnvFilter::try_from_env("QUAD_LOG").unwrap_or_else(|_| EnvFilter::new(default_level));
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    // A line that cannot be written, as on a full disk, is lost. By default the library would say so on standard error
    // and panic, since that cannot be written either.
    let log = tracing_subscriber::fmt().log_internal_errors(false).with_env_filter(filter);
    let log = log.with_writer(std::io::stderr);
    // Fails only if a log is already started, as in tests that share a process.
    let _ = match format {
        LogFormat::Text => log.with_ansi(ansi).event_format(WithRequestId(Format::default())).try_init(),
        LogFormat::Json => log.with_ansi(false).event_format(JsonLines).try_init(),
    };
}

/// Appends the request id to each line that is written during an HTTP request. A span around every request would do the
/// same, but costs every request, while log lines are rare.
struct WithRequestId<F>(F);

impl<S, N, F> FormatEvent<S, N> for WithRequestId<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(request) = quad_server::request_id() else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writeln!(writer, "{} request={request}", line.trim_end())
    }
}

/// One JSON object a line: `time`, `level`, `target`, `message`, the fields of the event, and `request`. The formatter
/// of `tracing-subscriber` knows only fields of events and spans, and the request id is neither.
struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Map::new();
        line.insert("time".to_owned(), Timestamp::now().to_string().into());
        line.insert("level".to_owned(), event.metadata().level().as_str().to_ascii_lowercase().into());
        line.insert("target".to_owned(), event.metadata().target().into());
        event.record(&mut JsonFields(&mut line));
        if let Some(request) = quad_server::request_id() {
            line.insert("request".to_owned(), request.to_string().into());
        }
        writeln!(writer, "{}", Value::Object(line))
    }
}

/// Collects the fields of an event.
struct JsonFields<'a>(&'a mut Map<String, Value>);

impl JsonFields<'_> {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for JsonFields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }
}
