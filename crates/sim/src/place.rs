//! Where a run happens: a folder of its own, a database of its own, and `quad` commands in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::database::Database;
use crate::failure::Failure;
use crate::plan::Backend;

/// What opens the keys that the nodes on PostgreSQL share.
const KEY: &str = "the nodes of a simulation share this key";

/// A folder, a database and the program under test.
#[derive(Debug)]
pub struct Place {
    /// Which database.
    pub backend: Backend,
    /// The database itself.
    pub database: Database,
    quad: PathBuf,
    folder: TempDir,
}

impl Place {
    /// A new place. `server` is the URL of the PostgreSQL server, where one is needed.
    pub fn open(quad: &Path, backend: Backend, server: Option<&str>, seed: u64) -> Result<Place, Failure> {
        let folder = tempfile::Builder::new().prefix("quad-sim-").tempdir();
        let folder = folder.map_err(|error| Failure::broken("making a folder", error))?;
        let database = match (backend, server) {
            (Backend::Sqlite, _) => Database::Sqlite(folder.path().join("data").join("quad.db")),
            (Backend::Postgres, Some(server)) => Database::create(server, seed)?,
            (Backend::Postgres, None) => {
                return Err(Failure::new(
                    "a PostgreSQL server to run on",
                    "neither --database-url nor QUAD_TEST_POSTGRES_URL",
                ));
            }
        };
        let place = Place { backend, database, quad: quad.to_owned(), folder };
        // The first start makes the tables; two first starts at once are tested elsewhere.
        place.run(0, &["tenant", "list"])?;
        Ok(place)
    }

    /// The folder of a run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data folder of a node. On one SQLite file there is one; of several nodes each has its own.
    pub fn data_dir(&self, node: usize) -> PathBuf {
        match self.backend {
            Backend::Sqlite => self.folder().join("data"),
            Backend::Postgres => self.folder().join(format!("node{node}")),
        }
    }

    /// `quad` as that node would start it, with nothing of the surroundings.
    pub fn quad(&self, node: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.quad);
        command.args(arguments).env_clear().stdin(Stdio::null()).current_dir(self.folder());
        command.env("HOME", self.folder()).env("QUAD_LOG", "warn").env("QUAD_DATA_DIR", self.data_dir(node));
        if let Database::Postgres { url, .. } = &self.database {
            command.env("QUAD_DATABASE_URL", url).env("QUAD_KEY", KEY);
        }
        command
    }

    /// Runs a command to its end, which must be a good one, and returns what it printed.
    pub fn run(&self, node: usize, arguments: &[&str]) -> Result<String, Failure> {
        let spelt = format!("quad {}", arguments.join(" "));
        let output = self.quad(node, arguments).output().map_err(|error| Failure::broken(&spelt, error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Failure::broken(spelt, format!("{}: {complaint}", output.status)))
    }

    /// The same, for a command that prints JSON.
    pub fn run_json(&self, node: usize, arguments: &[&str]) -> Result<Value, Failure> {
        let printed = self.run(node, &[arguments, &["--json"]].concat())?;
        serde_json::from_str(&printed)
            .map_err(|error| Failure::broken(format!("what quad {} printed", arguments.join(" ")), error))
    }

    /// Leaves no trace.
    pub fn clean_up(self) -> Result<(), Failure> {
        self.database.drop()
    }

    /// Leaves everything for whoever looks into a failure, and says where.
    pub fn keep(self) -> String {
        let folder = self.folder.keep();
        match self.database {
            Database::Sqlite(_) => folder.display().to_string(),
            Database::Postgres { url, .. } => format!("{} and {url}", folder.display()),
        }
    }
}
