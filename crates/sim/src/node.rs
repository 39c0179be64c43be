//! A node: one `quad serve` process, which can be killed, paused and restarted.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::failure::Failure;
use crate::sandbox::Sandbox;

/// A running `quad serve` on its own port.
#[derive(Debug)]
pub struct Node {
    /// The index among the nodes.
    pub index: usize,
    /// `127.0.0.1:PORT`.
    pub authority: String,
    /// The path of the MCP endpoint.
    pub path: String,
    child: Mutex<Child>,
}

impl Node {
    /// Starts a node. Its log is appended to a file in the folder of the run.
    pub fn start(sandbox: &Sandbox, index: usize) -> Result<Node, Failure> {
        let start_error = |error: &dyn std::fmt::Display| {
            Failure::environment_error(format!("starting node {index}"), error)
        };
        let log_path = sandbox.folder().join(format!("node{index}.log"));
        let log_file =
            File::options().create(true).append(true).open(log_path).map_err(|error| start_error(&error))?;
        let mut command = sandbox.quad_command(index, &["serve", "--listen", "127.0.0.1:0", "--json"]);
        let child = command.stdout(Stdio::piped()).stderr(log_file).spawn();
        let mut child = child.map_err(|error| start_error(&error))?;
        let first_line = child.stdout.take().map(|output| BufReader::new(output).lines().next());
        let Some(Some(Ok(first_line))) = first_line else {
            let _ = child.kill();
            let exit_status =
                child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(start_error(&format!("it exited without output: {exit_status}")));
        };
        let endpoint = serde_json::from_str::<Value>(&first_line).ok();
        let endpoint = endpoint
            .as_ref()
            .and_then(|ready_message| ready_message["endpoint"].as_str()?.strip_prefix("http://"));
        let Some((authority, path)) = endpoint.and_then(|endpoint| endpoint.split_once('/')) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(start_error(&format!("it printed {first_line}")));
        };
        Ok(Node {
            index,
            authority: authority.to_owned(),
            path: format!("/{path}"),
            child: Mutex::new(child),
        })
    }

    /// Kills the process and waits until it has exited.
    pub fn kill(&self) {
        let mut child = self.child();
        // The process may have exited already; the missing replies then report it.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Sends SIGTERM and waits until the process has exited.
    pub fn terminate(&self) -> Result<(), Failure> {
        self.signal(Signal::TERM)?;
        let exit_status =
            self.child().wait().map_err(|error| Failure::environment_error("ending a node", error))?;
        if exit_status.success() {
            return Ok(());
        }
        Err(Failure::new(
            format!("node {} exits with success on SIGTERM", self.index),
            exit_status.to_string(),
        ))
    }

    /// Stops the process for `duration`.
    pub fn pause(&self, duration: Duration) -> Result<(), Failure> {
        self.signal(Signal::STOP)?;
        std::thread::sleep(duration);
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let signal_error =
            |error: &dyn std::fmt::Display| Failure::environment_error("sending a signal", error);
        let mut child = self.child();
        if let Ok(Some(status)) = child.try_wait() {
            return Err(Failure::new(format!("node {} is running", self.index), status.to_string()));
        }
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| signal_error(&"no process has that id"))?;
        kill_process(pid, signal).map_err(|error| signal_error(&error))
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}
