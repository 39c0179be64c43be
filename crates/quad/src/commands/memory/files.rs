//! `quad memory import|export`: files of memories.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use quad_amem::files::FileFormat;
use quad_core::{Error, Kind, Result};
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::MemoryFormat;
use crate::commands::progress::Progress;
use crate::output;

/// Imports a file, and says what was new.
pub async fn import(app: &App, file: &Path, as_json: bool) -> Result<()> {
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
    // Write the search index now, so that the next search does not wait for it.
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
            "{} nodes, {} edges and {} sessions added; {} nodes and edges already present",
            imported.nodes, imported.edges, imported.sessions, imported.existing
        ));
        let left_out = [
            (imported.edges_left_out, "edges skipped: an end was forgotten, or the edge would close a cycle"),
            (imported.vectors_left_out, "vectors skipped: their dimension differs from the graph's"),
        ];
        for (count, reason) in left_out.into_iter().filter(|(count, _)| *count > 0) {
            output::print_line(format_args!("{count} {reason}"));
        }
    }
    if bad_lines.count == 0 {
        return Ok(());
    }
    Err(Error::new(Kind::BadInput, "LINES_LEFT_OUT", format!("{} lines could not be read", bad_lines.count))
        .hint("Fix these lines and import the file again. The other lines are imported; they are not added twice")
        .with_detail("lines", bad_lines.count))
}

/// Exports the graph to a new file or, for `-`, to standard output.
pub async fn export(app: &App, file: &Path, format: MemoryFormat, as_json: bool) -> Result<()> {
    let format = match format {
        MemoryFormat::Jsonl => FileFormat::Jsonl,
        MemoryFormat::Amem => FileFormat::Amem,
        MemoryFormat::ServerMemory => FileFormat::ServerMemory,
    };
    if file == Path::new("-") {
        return export_to_stdout(app, format).await;
    }
    // A new file, readable by its owner only: it holds private memories.
    let created = std::fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(file);
    let created = created.map_err(|error| {
        let hint = format!("Choose a new file in an existing folder: {error}");
        Error::bad_input(format!("{} cannot be created", file.display())).hint(hint)
    })?;
    let exported = write_export(app, created, format).await;
    if exported.is_err() {
        // An incomplete export must not be mistaken for a complete one.
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

/// Exports to an unlinked temporary file first: a lost snapshot makes the export start again, and printed output cannot
/// be taken back.
async fn export_to_stdout(app: &App, format: FileFormat) -> Result<()> {
    let name = app.config.data_dir.join(format!("export-{}.tmp", std::process::id()));
    let created = std::fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&name);
    let mut created = created.map_err(Error::internal)?;
    std::fs::remove_file(&name).map_err(Error::internal)?;
    write_export(app, created.try_clone().map_err(Error::internal)?, format).await?;
    std::io::Seek::rewind(&mut created).map_err(Error::internal)?;
    // A closed pipe is not an error: the reader stopped reading.
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
