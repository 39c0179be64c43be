//! `plan_init`: makes a plan in the project. What is there already stays as it is.
//!
//! Unlike the npm package it writes only what belongs to the plan: its folder and the configuration. Files that start
//! programs (`package.json`, hooks of editors, a shell script) are left to people; the result says that they were not
//! written.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{Error, Kind, ReadSet, Result, Tool, ToolEntry};
use serde_json::{Value, json};

use super::schema::{boolean, object, string};
use super::{ToolArguments, output, results, today};
use crate::blocking::run_blocking;
use crate::plan::init::{DIRS, initial_files};
use crate::project::atomic_write::{CommitError, stage};
use crate::project::plan_config::{ConfigAction, with_plan_dir};
use crate::project::project_dir::ProjectDir;
use crate::project::{CONFIG_FILE, PLAN_DIR};
use crate::project_cache::{PlanSnapshot, ProjectCache};
use crate::scheme::journaled_write::{FileWrite, PlannedWrite, write};
use crate::scheme::query::hash_text;
use crate::scheme::routes::WRITE;
use crate::scheme::{Refrakt, errors};

/// Arguments of the npm package about files that are never written here.
const UNPUBLISHED: &[&str] = &["agent", "noPackageJson", "noHooks", "noWrapper"];

pub(super) fn tool() -> ToolEntry<Refrakt> {
    let tool = Tool::new(
        "plan_init",
        "Make a plan",
        "Makes a plan in the project: its folders, an example of each type, a page about how to use it, and its entry in \
         refrakt.config.json. What exists stays.",
        object(
            &[
                ("dir", string("Folder below the project; default plan")),
                ("noConfig", boolean("Leave refrakt.config.json as it is")),
            ],
            &[],
        ),
        WRITE,
        ToolEffect::Updates,
    )
    .dotted("plan.init")
    .output(results::init())
    .example(json!({"dir": "docs/plan"}))
    .unpublished(UNPUBLISHED);
    ToolEntry::new(tool, |refrakt, call| Box::pin(run(refrakt, call)))
}

async fn run(refrakt: &Refrakt, call: ToolCall<'_>) -> Result<ToolResult> {
    let project = refrakt.project_for(call.caller).ok_or_else(|| errors::plan_missing(None))?;
    let arguments = ToolArguments(call.arguments.clone());
    let (dir, writes_config) = (arguments.text("dir"), !arguments.flag("noConfig"));
    let prepared = run_blocking(move || Prepared::make(&project, dir.as_deref(), writes_config)).await?;
    let plan_write = |plan: &PlanSnapshot| {
        let files: Vec<FileWrite> = initial_files(&plan.index, &today())
            .into_iter()
            .map(|file| FileWrite { file: file.path, before_hash: None, text: file.text, id: file.id })
            .collect();
        let paths: Vec<String> =
            files.iter().map(|file| plan.dir.root().join(&file.file).display().to_string()).collect();
        Ok(PlannedWrite { files, value: paths })
    };
    let (paths, receipt) = write(refrakt, &call, plan_write).await?;
    let response = output(prepared.response(paths));
    match receipt {
        Some(receipt) => Ok(ToolResult::committed(response, receipt)),
        None => {
            let version = refrakt.version(call.caller).await?;
            Ok(ToolResult::read_only(response, ReadSet::at_version(version)))
        }
    }
}

/// The folders and the configuration, before the files of the plan are written.
struct Prepared {
    dir: PathBuf,
    created_dirs: Vec<String>,
    config_path: PathBuf,
    config: Option<ConfigAction>,
}

impl Prepared {
    fn make(project: &ProjectCache, dir: Option<&str>, writes_config: bool) -> Result<Prepared> {
        let root = ProjectDir::new(project.root());
        let snapshot = project.project_snapshot();
        let configured = snapshot.project.config.as_ref().and_then(|config| config.plan_dir.as_deref());
        let dir = relative_dir(&root, dir.or(configured).unwrap_or(PLAN_DIR))?;
        let current = relative_dir(&root, configured.unwrap_or(PLAN_DIR))?;
        // Without a setting, a plan in the default folder counts too: another folder would hide it.
        let has_plan = configured.is_some() || root.root().join(&current).is_dir();
        if dir != current && (has_plan || !writes_config) {
            return Err(Error::new(
                Kind::Conflict,
                "PLAN_DIR_CONFLICT",
                format!("The plan of this project is in {current}"),
            )
            .hint("Leave dir out, or set plan.dir in refrakt.config.json to the other folder"));
        }
        let config = if writes_config { Some(write_config(&root, &dir)?) } else { None };
        let plan_path = root.root().join(&dir);
        let mut created_dirs = Vec::new();
        for name in DIRS {
            let path = plan_path.join(name);
            if !path.is_dir() {
                fs::create_dir_all(&path).map_err(write_error)?;
                created_dirs.push(format!("{}/", path.display()));
            }
        }
        Ok(Prepared { dir: plan_path, created_dirs, config_path: root.root().join(CONFIG_FILE), config })
    }

    fn response(self, files: Vec<String>) -> Value {
        let config = self.config.map(|action| {
            json!({
                "action": action.as_str(), "path": self.config_path.display().to_string(),
                "message": action.message(),
            })
        });
        let created: Vec<String> = self.created_dirs.into_iter().chain(files).collect();
        json!({
            "dir": self.dir.display().to_string(),
            "created": created,
            "agentFilesUpdated": [],
            "packageJsonUpdated": false,
            "hookWritten": false,
            "mcpWritten": false,
            "wrapperWritten": false,
            "refraktConfig": config,
        })
    }
}

/// A folder below the project, as the configuration spells it.
fn relative_dir(root: &ProjectDir, dir: &str) -> Result<String> {
    let outside = || {
        Error::bad_input(format!("dir cannot be {:?}", errors::excerpt(dir)))
            .hint("Send the path of a folder below the project, such as plan or docs/plan")
    };
    let path = root.join_checked(dir).ok_or_else(outside)?;
    let parts = Path::new(dir).components().filter(|part| matches!(part, Component::Normal(_)));
    let parts: Vec<&str> = parts.filter_map(|part| part.as_os_str().to_str()).collect();
    // The nearest folder that exists tells whether a symbolic link leads out of the project.
    let existing = path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    if parts.is_empty()
        || dir.contains(char::is_control)
        || !existing.is_some_and(|path| root.contains(&path))
    {
        return Err(outside());
    }
    Ok(parts.join("/"))
}

fn write_config(root: &ProjectDir, dir: &str) -> Result<ConfigAction> {
    let before = root.read_small_file(CONFIG_FILE).map_err(errors::io_error)?;
    let (action, text) = with_plan_dir(before.as_deref(), dir).ok_or_else(|| {
        Error::new(Kind::Conflict, "CONFIG_INVALID", format!("{CONFIG_FILE} is not a JSON object"))
            .hint("Correct the file, or send noConfig")
    })?;
    if action == ConfigAction::Preserved {
        return Ok(action);
    }
    let before_hash = before.as_deref().map(hash_text);
    let staged = stage(root, CONFIG_FILE, before_hash.as_deref(), &text).map_err(write_error)?;
    staged.commit().map_err(|error| {
        staged.discard();
        match error {
            CommitError::Changed => {
                errors::entity_changed(CONFIG_FILE, CONFIG_FILE, None).hint("Retry the call")
            }
            CommitError::Failed(error) => write_error(error),
        }
    })?;
    Ok(action)
}

fn write_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Error::new(Kind::Conflict, "PLAN_READ_ONLY", "The project's folder cannot be written")
                .hint("Give the server's user write permission for the project's folder")
                .with_cause(error)
        }
        _ => errors::io_error(error),
    }
}
