//! A node: one `quad serve`, which can be killed, made to stand still, and started again.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::failure::Failure;
use crate::place::Place;

/// A running `quad serve` on a port of its own.
#[derive(Debug)]
pub struct Node {
    /// Its place among the nodes.
    pub number: usize,
    /// `127.0.0.1:PORT`.
    pub authority: String,
    /// The path of its endpoint.
    pub path: String,
    child: Mutex<Child>,
}

impl Node {
    /// Starts one. What it logs is added to a file in the place's folder.
    pub fn start(place: &Place, number: usize) -> Result<Node, Failure> {
        let broken =
            |error: &dyn std::fmt::Display| Failure::broken(format!("starting node {number}"), error);
        let log = place.folder().join(format!("node{number}.log"));
        let log = File::options().create(true).append(true).open(log).map_err(|error| broken(&error))?;
        let mut command = place.quad(number, &["serve", "--listen", "127.0.0.1:0", "--json"]);
        let child = command.stdout(Stdio::piped()).stderr(log).spawn();
        let mut child = child.map_err(|error| broken(&error))?;
        let first = child.stdout.take().map(|output| BufReader::new(output).lines().next());
        let Some(Some(Ok(first))) = first else {
            let _ = child.kill();
            let ended = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(broken(&format!("it ended without a word: {ended}")));
        };
        let endpoint = serde_json::from_str::<Value>(&first).ok();
        let endpoint = endpoint.as_ref().and_then(|said| said["endpoint"].as_str()?.strip_prefix("http://"));
        let Some((authority, path)) = endpoint.and_then(|endpoint| endpoint.split_once('/')) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(broken(&format!("it printed {first}")));
        };
        Ok(Node {
            number,
            authority: authority.to_owned(),
            path: format!("/{path}"),
            child: Mutex::new(child),
        })
    }

    /// Ends it without warning, and waits until it is gone.
    pub fn kill(&self) {
        let mut child = self.child();
        // It may have ended by itself, which is noticed where its answers are awaited.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Asks it to end, and waits until it has.
    pub fn end(&self) -> Result<(), Failure> {
        self.signal(Signal::TERM)?;
        let ended = self.child().wait().map_err(|error| Failure::broken("ending a node", error))?;
        if ended.success() {
            return Ok(());
        }
        Err(Failure::new(format!("node {} ends well when it is told to", self.number), ended.to_string()))
    }

    /// Makes it stand still for a while.
    pub fn stop(&self, time: Duration) -> Result<(), Failure> {
        self.signal(Signal::STOP)?;
        std::thread::sleep(time);
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let broken = |error: &dyn std::fmt::Display| Failure::broken("sending a signal", error);
        let mut child = self.child();
        if let Ok(Some(status)) = child.try_wait() {
            return Err(Failure::new(format!("node {} is running", self.number), status.to_string()));
        }
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| broken(&"no process has that id"))?;
        kill_process(id, signal).map_err(|error| broken(&error))
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
