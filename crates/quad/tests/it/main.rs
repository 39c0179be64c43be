//! Black-box tests of `quad`: transcripts, attacks, kills, the command line and the documentation.
//!
//! Every test starts the built program and speaks to it over stdio or HTTP. Transcripts are text files in the folder
//! `transcripts` at the top; [`transcript`] describes their language. README.md of the crate lists the files.

// Test helpers report failures by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attacks;
mod audit;
mod audit_chain;
mod audit_events;
mod authentication;
mod authorization;
mod backup;
mod brain_files;
mod brain_kill;
mod client;
mod command_line;
mod data_of_0_1;
mod database;
mod docs;
mod era;
mod export_script;
mod faults;
mod freshness;
mod helpers;
mod http_transport;
mod instance;
mod kill;
mod links;
mod markdoc;
mod matrix;
mod memory_commands;
mod memory_files;
mod memory_kill;
mod official_client;
mod older_database;
mod paging;
mod pattern;
mod pattern_parser;

mod project;
mod published_tools;
mod refrakt;
mod simulation;
mod stdio_transport;
mod stop;
mod subscriptions;
mod tenants;
mod transcript;
mod transcript_runner;
mod transcripts;

use quad_sim::http;
