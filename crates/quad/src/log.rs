//! The log, on standard error.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Starts the log on standard error. Standard output is for results and, in `quad stdio`, for the protocol.
pub fn start(serving: bool) {
    let default_level = if serving { "info" } else { "warn" };
    let filter = EnvFilter::try_from_env("QUAD_LOG").unwrap_or_else(|_| EnvFilter::new(default_level));
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    // Fails only if a log is already started, as in tests that share a process.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(ansi)
        .event_format(WithRequestId(Format::default()))
        .try_init();
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
