//! A server process, with its CPU time and memory.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::client::{self, Load};

/// A running server. It is killed when this value is dropped.
pub struct Server {
    process: Child,
    pub address: String,
    pub token: Option<String>,
}

impl Server {
    /// Starts a server. Its first line is its address, or the first line of `quad serve --json`.
    pub fn start(command: &mut Command) -> Server {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = match serde_json::from_str::<serde_json::Value>(&line) {
            Ok(startup_line) => {
                let endpoint = startup_line["endpoint"].as_str().unwrap();
                let address = endpoint["http://".len()..].trim_end_matches("/mcp").to_owned();
                let token_file = startup_line["tokenFile"].as_str();
                (address, token_file.map(|file| std::fs::read_to_string(file).unwrap().trim().to_owned()))
            }
            Err(_) => (line.trim().to_owned(), None),
        };
        Server { process, address, token }
    }

    /// The CPU time per request in microseconds, and the requests per second.
    pub async fn measure(&self, load: &Load) -> (f64, f64) {
        let (ticks, started) = (self.cpu_ticks(), Instant::now());
        client::run_load(self, load).await;
        let seconds = started.elapsed().as_secs_f64();
        // The kernel counts in units of 10 ms.
        let cpu_us = (self.cpu_ticks() - ticks) as f64 * 10_000.0;
        (cpu_us / load.requests as f64, load.requests as f64 / seconds)
    }

    fn cpu_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        // Fields 14 and 15, counted after the name in parentheses, which may contain spaces.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// Its resident memory.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
