//! Black-box tests of `quad`: transcripts of the protocol, kills, and the command line.
//!
//! Everything here starts the built program and speaks to it from outside. The transcripts themselves are text files in
//! the folder `transcripts` at the top; [`transcript`] describes how they are written.

// The helpers of tests fail by panicking, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod audited;
mod authorization;
mod client;
mod combination;
mod command_line;
mod conversation;
mod database;
mod docs;
mod era;
mod freshness;
mod gate;
mod kill;
mod links;
mod markdoc;
mod memory_files;
mod memory_kill;
mod money_files;
mod money_kill;
mod oracle;
mod paging;
mod pattern;
mod pattern_parser;
mod pipes;
mod place;
mod project;
mod refrakt;
mod simulation;
mod statuses;
mod tenants;
mod trail;
mod transcript;
mod transcripts;
mod watching;
mod ways_in;

use quad_sim::http;
