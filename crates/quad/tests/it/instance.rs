//! A test instance: its own data folder and database, and the `quad` processes that use them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::matrix::Backend;

/// The program under test.
pub const QUAD: &str = env!("CARGO_BIN_EXE_quad");

/// A data folder, and on PostgreSQL a database, of one test.
pub struct TestInstance {
    pub backend: Backend,
    folder: TempDir,
    /// The URL of the database.
    pub database_url: Option<String>,
    /// Further environment variables of every process.
    variables: Vec<(String, String)>,
}

impl TestInstance {
    /// A new instance on each available backend. Prints a note if PostgreSQL is skipped.
    pub fn on_each_backend() -> Vec<TestInstance> {
        let mut instances = vec![TestInstance::new(Backend::Sqlite, None)];
        match runtime().block_on(quad_store::testing::postgres_database()).unwrap() {
            Some(url) => instances.push(TestInstance::new(Backend::Postgres, Some(url))),
            None => eprintln!("skipped on PostgreSQL: QUAD_TEST_POSTGRES_URL is not set"),
        }
        instances
    }

    /// A new instance on SQLite.
    pub fn on_sqlite() -> TestInstance {
        TestInstance::new(Backend::Sqlite, None)
    }

    fn new(backend: Backend, database_url: Option<String>) -> TestInstance {
        let instance = TestInstance::without_data(backend, database_url);
        // The first start creates the tables and the local tenant. Another test starts several processes at once.
        instance.run(&["tenant", "list"]);
        instance
    }

    /// An empty folder, in which `quad` was never started.
    pub fn without_data(backend: Backend, database_url: Option<String>) -> TestInstance {
        let folder = tempfile::tempdir().unwrap();
        TestInstance { backend, folder, database_url, variables: Vec::new() }
    }

    /// Sets an environment variable for every process that starts from now on.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The SQLite file.
    pub fn database_file(&self) -> PathBuf {
        self.folder().join("quad.db")
    }

    /// `quad` with this instance's environment only.
    pub fn quad_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(QUAD);
        command.args(arguments);
        command.env_clear().env("HOME", self.folder()).env("QUAD_LOG", "error");
        command.env("QUAD_DATA_DIR", self.folder()).current_dir(self.folder());
        if let Some(url) = &self.database_url {
            command.env("QUAD_DATABASE_URL", url);
        }
        command.envs(self.variables.iter().cloned());
        command
    }

    /// Runs a command, which must succeed, and returns its output.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.quad_command(arguments).output().unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "quad {}: {}\n{stderr}", arguments.join(" "), output.status);
        stdout.into_owned()
    }

    /// Creates a tenant.
    pub fn add_tenant(&self, name: &str) {
        self.run(&["tenant", "add", name]);
    }

    /// Loads a file of JSON lines into a tenant's backend.
    pub fn load(&self, tenant: &str, file: &Path) {
        self.load_into("bkend", tenant, file);
    }

    /// Loads a file of JSON lines into one scheme of a tenant.
    pub fn load_into(&self, scheme: &str, tenant: &str, file: &Path) {
        self.run(&[scheme, "load", file.to_str().unwrap(), "--tenant", tenant]);
    }

    /// A token of an agent with these scopes.
    pub fn mint_token(&self, tenant: &str, agent: &str, scopes: &str) -> String {
        let arguments =
            ["token", "mint", "--tenant", tenant, "--subject", agent, "--kind", "agent", "--scope", scopes];
        self.run(&arguments).trim().to_owned()
    }

    /// Starts `quad serve` on a free port.
    pub fn serve(&self, arguments: &[&str]) -> Server {
        let mut command = self.quad_command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process(command.spawn().unwrap());
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let first = lines.next().expect("quad serve ended before it printed its endpoint").unwrap();
        let startup_line: Value = serde_json::from_str(&first).unwrap();
        let endpoint = startup_line["endpoint"].as_str().expect("quad serve printed no endpoint").to_owned();
        let rest = endpoint.strip_prefix("http://").expect("an http endpoint");
        let (authority, path) = rest.split_once('/').unwrap();
        Server { process, authority: authority.to_owned(), path: format!("/{path}") }
    }
}

impl Drop for TestInstance {
    fn drop(&mut self) {
        let (Some(url), false) = (&self.database_url, std::thread::panicking()) else { return };
        let (server, name) = url.rsplit_once('/').unwrap();
        let drop_statement = format!("DROP DATABASE {name} WITH (FORCE)");
        // A failure to drop the database must not fail the test.
        let _ = runtime().block_on(async {
            let admin = std::env::var("QUAD_TEST_POSTGRES_URL").unwrap_or_else(|_| server.to_owned());
            let (client, connection) = tokio_postgres::connect(&admin, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            client.batch_execute(&drop_statement).await
        });
    }
}

/// A runtime for asynchronous calls in blocking tests.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A process that is killed when the test ends.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process.
pub fn send_signal(process: &Process, signal: &str) {
    let id = process.0.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
}

/// A running `quad serve`.
pub struct Server {
    process: Process,
    /// `127.0.0.1:PORT`.
    pub authority: String,
    /// The path of the endpoint for every scheme.
    pub path: String,
}

impl Server {
    /// Sends SIGTERM and waits for the end, when all audit events are written.
    pub fn stop(self) {
        self.stop_with("TERM");
    }

    /// Sends a signal that ends the server, and waits for the end.
    pub fn stop_with(mut self, signal: &str) {
        send_signal(&self.process, signal);
        assert!(self.process.0.wait().unwrap().success());
    }
}
