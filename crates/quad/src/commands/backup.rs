//! `quad backup FILE`

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use quad_core::Result;
use serde_json::json;

use crate::app::App;
use crate::output;

/// Copies the database, with a progress bar.
pub async fn run(app: &App, file: &Path, as_json: bool) -> Result<()> {
    let bar = new_bar("pages");
    let progress = {
        let bar = bar.clone();
        move |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        }
    };
    app.store.backup(file, progress).await?;
    bar.finish_and_clear();
    if as_json {
        output::print_line(json!({"backup": file.display().to_string()}));
    } else {
        output::print_line(format_args!("{} is a copy of the database as of now", file.display()));
    }
    Ok(())
}

/// A progress bar on standard error. Nothing is drawn if that is not a terminal.
pub fn new_bar(unit: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.with_message(unit)
}
