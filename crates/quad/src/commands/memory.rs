//! `quad memory import|export`

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use quad_amem::files::FileFormat;
use quad_core::{Error, Kind, Result};
use serde_json::{Value, json};

use super::progress::Progress;
use crate::app::App;
use crate::cli::{MemoryCommand, MemoryFormat};
use crate::output;

/// Memories in and out, as files.
pub async fn run(app: &App, command: MemoryCommand, as_json: bool) -> Result<()> {
    match command {
        MemoryCommand::Import { file } => import(app, &file, as_json).await,
        MemoryCommand::Export { file, format } => {
            let format = match format {
                MemoryFormat::Jsonl => FileFormat::Jsonl,
                MemoryFormat::Amem => FileFormat::Amem,
                MemoryFormat::ServerMemory => FileFormat::ServerMemory,
            };
            if file == Path::new("-") {
                export_to_stdout(app, format).await
            } else {
                export(app, &file, format, as_json).await
            }
        }
    }
}

async fn import(app: &App, file: &Path, as_json: bool) -> Result<()> {
    let mut progress = Progress::new("importing");
    let mut bar = progress.clone();
    let imported = app
        .memory
        .import(&app.tenant.id, file, |now| {
            bar.update(now.done, now.total, &format!("({} nodes, {} edges added)", now.nodes, now.edges));
        })
        .await;
    progress.finish();
    let (format, imported) = imported?;
    // What searches derive is written now rather than while somebody waits for an answer.
    progress = Progress::new("indexing");
    app.memory.wait_for_index().await?;
    app.store.truncate_wal().await?;
    let bad_lines = &imported.bad_lines;
    for line in &bad_lines.reported {
        progress.print_line(&format!("line {}: {}", line.line, line.reason));
    }
    if as_json {
        let lines: Vec<Value> =
            bad_lines.reported.iter().map(|line| json!({"line": line.line, "reason": line.reason})).collect();
        output::print_json(&json!({
            "format": format.as_str(),
            "nodes": imported.nodes,
            "edges": imported.edges,
            "sessions": imported.sessions,
            "known": imported.existing,
            "edgesLeftOut": imported.edges_left_out,
            "vectorsLeftOut": imported.vectors_left_out,
            "badLines": bad_lines.count,
            "badLinesTold": lines,
        }));
    } else {
        output::print_line(format_args!(
            "{} nodes, {} edges and {} sessions added; {} nodes and edges were there already",
            imported.nodes, imported.edges, imported.sessions, imported.existing
        ));
        let left_out = [
            (imported.edges_left_out, "edges left out: an end was forgotten, or they go in a circle"),
            (imported.vectors_left_out, "vectors left out: they are not of the graph's dimension"),
        ];
        for (count, reason) in left_out.into_iter().filter(|(count, _)| *count > 0) {
            output::print_line(format_args!("{count} {reason}"));
        }
    }
    if bad_lines.count == 0 {
        return Ok(());
    }
    Err(Error::new(Kind::BadInput, "LINES_LEFT_OUT", format!("{} lines could not be used", bad_lines.count))
        .hint("The rest is in. Mend these lines and import the file again: what is in is not taken twice")
        .with_detail("lines", bad_lines.count))
}

async fn export(app: &App, file: &Path, format: FileFormat, as_json: bool) -> Result<()> {
    // Made, never overwritten, and for the owner alone: it is what somebody remembers.
    let created = std::fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(file);
    let created = created.map_err(|error| {
        let hint = format!("Choose a file that does not exist in a folder that does: {error}");
        Error::bad_input(format!("{} cannot be made", file.display())).hint(hint)
    })?;
    let exported = write_export(app, created, format).await;
    if exported.is_err() {
        // Half a graph is worse than none.
        let _ = std::fs::remove_file(file);
    }
    let exported = exported?;
    if as_json {
        output::print_json(&json!({
            "export": file.display().to_string(),
            "format": format.as_str(),
            "nodes": exported.nodes,
            "edges": exported.edges,
        }));
    } else {
        output::print_line(format_args!(
            "{} holds {} nodes and {} edges",
            file.display(),
            exported.nodes,
            exported.edges
        ));
    }
    Ok(())
}

/// Through a file without a name: a snapshot that is lost half-way is read again, and what was printed cannot be taken back.
async fn export_to_stdout(app: &App, format: FileFormat) -> Result<()> {
    let name = app.config.data_dir.join(format!("export-{}.tmp", std::process::id()));
    let created = std::fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&name);
    let mut created = created.map_err(Error::internal)?;
    std::fs::remove_file(&name).map_err(Error::internal)?;
    write_export(app, created.try_clone().map_err(Error::internal)?, format).await?;
    std::io::Seek::rewind(&mut created).map_err(Error::internal)?;
    // A reader that has seen enough closes the pipe.
    let _ = std::io::copy(&mut created, &mut std::io::stdout());
    Ok(())
}

async fn write_export(app: &App, file: File, format: FileFormat) -> Result<quad_amem::ExportSummary> {
    let progress = Progress::new("exporting");
    let mut bar = progress.clone();
    let exported =
        app.memory.export(&app.tenant.id, format, file, move |done, total| bar.update(done, total, "")).await;
    progress.finish();
    exported
}
