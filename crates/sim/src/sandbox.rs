//! The environment of a run: a folder, a database, and `quad` commands in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::database::Database;
use crate::failure::Failure;
use crate::plan::Backend;

/// The `QUAD_KEY` of the nodes on PostgreSQL.
const SHARED_KEY: &str = "the nodes of a simulation share this key";

/// A folder, a database and the program under test.
#[derive(Debug)]
pub struct Sandbox {
    /// The kind of database.
    pub backend: Backend,
    /// The database.
    pub database: Database,
    quad_path: PathBuf,
    folder: TempDir,
}

impl Sandbox {
    /// Creates a sandbox. `server_url` is the URL of the PostgreSQL server, if one is needed.
    pub fn create(
        quad_path: &Path,
        backend: Backend,
        server_url: Option<&str>,
        seed: u64,
    ) -> Result<Sandbox, Failure> {
        let folder = tempfile::Builder::new().prefix("quad-sim-").tempdir();
        let folder = folder.map_err(|error| Failure::environment_error("making a folder", error))?;
        let database = match (backend, server_url) {
            (Backend::Sqlite, _) => Database::Sqlite(folder.path().join("data").join("quad.db")),
            (Backend::Postgres, Some(server_url)) => Database::create(server_url, seed)?,
            (Backend::Postgres, None) => {
                return Err(Failure::new(
                    "a PostgreSQL server to run on",
                    "neither --database-url nor QUAD_TEST_POSTGRES_URL",
                ));
            }
        };
        let sandbox = Sandbox { backend, database, quad_path: quad_path.to_owned(), folder };
        // The first start creates the tables; two concurrent first starts are tested elsewhere.
        sandbox.run_quad(0, &["tenant", "list"])?;
        Ok(sandbox)
    }

    /// The folder of the run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data directory of a node. With SQLite the nodes share one; with PostgreSQL each has its own.
    pub fn data_dir(&self, node: usize) -> PathBuf {
        match self.backend {
            Backend::Sqlite => self.folder().join("data"),
            Backend::Postgres => self.folder().join(format!("node{node}")),
        }
    }

    /// A `quad` command of a node, without the environment of this process.
    pub fn quad_command(&self, node: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.quad_path);
        command.args(arguments).env_clear().stdin(Stdio::null()).current_dir(self.folder());
        command.env("HOME", self.folder()).env("QUAD_LOG", "warn").env("QUAD_DATA_DIR", self.data_dir(node));
        if let Database::Postgres { url, .. } = &self.database {
            command.env("QUAD_DATABASE_URL", url).env("QUAD_KEY", SHARED_KEY);
        }
        command
    }

    /// Runs a command, which must succeed, and returns its output.
    pub fn run_quad(&self, node: usize, arguments: &[&str]) -> Result<String, Failure> {
        let command_line = format!("quad {}", arguments.join(" "));
        let output = self
            .quad_command(node, arguments)
            .output()
            .map_err(|error| Failure::environment_error(&command_line, error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Failure::environment_error(command_line, format!("{}: {stderr}", output.status)))
    }

    /// Runs a command that prints JSON.
    pub fn run_quad_json(&self, node: usize, arguments: &[&str]) -> Result<Value, Failure> {
        let stdout = self.run_quad(node, &[arguments, &["--json"]].concat())?;
        serde_json::from_str(&stdout).map_err(|error| {
            Failure::environment_error(format!("what quad {} printed", arguments.join(" ")), error)
        })
    }

    /// Removes the folder and the database.
    pub fn clean_up(self) -> Result<(), Failure> {
        self.database.drop_database()
    }

    /// Keeps the files of a failed run and returns where they are.
    pub fn keep_files(self) -> String {
        let folder = self.folder.keep();
        match self.database {
            Database::Sqlite(_) => folder.display().to_string(),
            Database::Postgres { url, .. } => format!("{} and {url}", folder.display()),
        }
    }
}
