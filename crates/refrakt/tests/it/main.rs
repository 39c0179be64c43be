//! Integration tests: recorded answers of the npm package, and the scheme through a resolver.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adversarial;
mod fixture;
mod pages;
mod plan;
mod plan_tools;
mod recorded;
mod scheme;
mod tool_results;
mod wrong_calls;
