//! `quad stdio`

use quad_core::{Error, Result};
use quad_server::stdio::{self, StdioOptions};
use quad_server::stdio_fds;

use super::serve::shutdown_signal;
use super::{SERVER_NAME, SERVER_VERSION};
use crate::app::App;
use crate::cli::Stdio;

/// Serves one client on standard input and output, until it closes the input or sends SIGINT or SIGTERM.
pub async fn run(app: App, flags: &Stdio) -> Result<()> {
    app.store.set_audit_mode(app.config.audit_mode(flags.audit));
    tokio::spawn(app.checkpoint_signer.clone().run());
    tokio::spawn(app.project.clone().watch());
    let checkpoint_signer = app.checkpoint_signer.clone();
    let options = StdioOptions {
        principal: app.local_agent(),
        view: app.view(flags.only.as_deref())?,
        all_tools: app.config.all_tools(flags.tools),
        tool_names: app.config.tool_names(flags.tool_names),
        resolver: app.resolver,
        name: SERVER_NAME,
        version: SERVER_VERSION,
    };
    // In a spawned task: tasks that it starts run on the same worker thread, so that a line wakes no other thread.
    let mut task = tokio::spawn(stdio::serve(options, stdio_fds::input(), stdio_fds::output()));
    let result = tokio::select! {
        result = &mut task => result.map_err(Error::internal)?.map_err(Error::internal),
        () = shutdown_signal() => {
            task.abort();
            Ok(())
        }
    };
    // The last checkpoints: events after them could be cut off unnoticed.
    checkpoint_signer.finish().await?;
    result
}
