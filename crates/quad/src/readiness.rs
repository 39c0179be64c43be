//! The readiness check of `quad serve`: can it write what a call writes?

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quad_core::{Error, Result};
use quad_server::http::ReadinessCheck;
use quad_store::{Store, check_folder_writable};

use crate::app::App;

/// Checks the database with a commit, and the data folder with a file.
pub fn check(app: &App) -> ReadinessCheck {
    let (store, folder) = (app.store.clone(), app.config.data_dir.clone());
    let is_folder_checked = Arc::new(AtomicBool::new(false));
    Arc::new(move || {
        let (store, folder) = (store.clone(), folder.clone());
        let is_folder_checked = is_folder_checked.clone();
        Box::pin(async move { run(&store, folder, is_folder_checked).await })
    })
}

async fn run(store: &Store, folder: PathBuf, is_folder_checked: Arc<AtomicBool>) -> Result<()> {
    // A folder that hangs, as on a lost network disk, keeps its thread. One such thread is enough.
    if is_folder_checked.swap(true, Ordering::AcqRel) {
        return Err(Error::busy("The data folder does not answer in time"));
    }
    let folder_check = tokio::task::spawn_blocking(move || {
        let outcome = check_folder_writable(&folder);
        is_folder_checked.store(false, Ordering::Release);
        outcome
    });
    // The database first: it knows best what is wrong.
    let database = store.check_writable().await;
    let folder = folder_check.await.map_err(Error::internal)?;
    database.and(folder)
}
