//! `quad doctor`

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use quad_core::resolver::View;
use quad_core::{Error, Kind, Result};
use quad_store::Sql as _;
use quad_store::audit::block;
use serde_json::{Value, json};

use crate::app::App;
use crate::config::Config;
use crate::output;

/// The result of one check.
struct Finding {
    check: String,
    /// A summary, or the problem and what to do.
    result: Result<String, String>,
}

/// Runs all checks and prints their results. Fails if one of them fails.
pub async fn run(config: Config, deep: bool, as_json: bool) -> Result<()> {
    let mut findings = vec![check_data_dir(&config)];
    match App::open(config).await {
        Err(error) => {
            let hint = error.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
            findings.push(Finding {
                check: "database".to_owned(),
                result: Err(format!("{}{hint}", error.message())),
            });
        }
        Ok(app) => {
            let kind = format!("{:?}, tables up to date", app.store.backend());
            findings.push(Finding { check: "database".to_owned(), result: Ok(kind) });
            findings.push(check_chain(&app).await);
            findings.push(check_read(&app).await);
            findings.push(check_tokens(&app).await);
            if deep {
                findings.extend(check_memories(&app).await);
            }
            app.finish().await;
        }
    }
    print_report(&findings, as_json)
}

fn check_data_dir(config: &Config) -> Finding {
    let folder = &config.data_dir;
    let result = match std::fs::metadata(folder) {
        Err(_) => Ok(format!("{} will be created", folder.display())),
        Ok(metadata) if !metadata.is_dir() => Err(format!("{} is not a folder", folder.display())),
        Ok(_) => match world_readable_path(config) {
            Some(file) => Err(format!("{0} is readable by other users; run chmod 600 {0}", file.display())),
            None => Ok(folder.display().to_string()),
        },
    };
    Finding { check: "data folder".to_owned(), result }
}

/// The first data or key file that other users can read.
fn world_readable_path(config: &Config) -> Option<PathBuf> {
    let files = ["quad.db", "quad.db-wal", "signing.key", "quad.key"].map(|name| config.data_dir.join(name));
    files
        .into_iter()
        .find(|file| std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0))
}

/// Checks that the newest audit block ends with the sequence and hash of the head.
async fn check_chain(app: &App) -> Finding {
    let chain_state = app.store.read(&app.tenant.id, |snapshot| {
        let tenant = snapshot.tenant().as_str().to_owned();
        let head = snapshot
            .query_opt(
                "SELECT sequence, hash FROM head WHERE tenant_id = $1",
                quad_store::params![tenant.as_str()],
            )?
            .ok_or_else(|| Error::internal("the tenant has no head"))?;
        let Some(last) = block::blocks_up_to(snapshot, i64::MAX, 1)?.pop() else {
            return Ok((head.int(0)?, head.int(0)? == 0));
        };
        let hash = last.records().next_back().map(|(_, record)| quad_store::hash_record(record));
        Ok((head.int(0)?, last.last_sequence() == head.int(0)? && hash.as_deref() == head.opt_text(1)?))
    });
    let result = match chain_state.await {
        Ok((events, true)) => Ok(format!("{events} events, the newest matches the head")),
        Ok((_, false)) => Err("the newest audit event does not match the head; restore a backup".to_owned()),
        Err(error) => Err(error.cause_chain()),
    };
    Finding { check: "audit chain".to_owned(), result }
}

async fn check_read(app: &App) -> Finding {
    let page = app.resolver.list(&app.local_agent(), View::All, None).await;
    let result = match page {
        Ok(page) => Ok(format!("{} resources on the first page", page.entries.len())),
        Err(error) => Err(format!("{}: {}", error.message(), error.cause_chain())),
    };
    Finding { check: "reading".to_owned(), result }
}

async fn check_tokens(app: &App) -> Finding {
    let result = match app.auth.tokens(&app.tenant.id).await {
        Ok(tokens) => {
            let active = tokens.iter().filter(|token| token.revoked_at.is_none()).count();
            Ok(format!("{active} of {} not revoked", tokens.len()))
        }
        Err(error) => Err(error.cause_chain()),
    };
    Finding { check: "tokens".to_owned(), result }
}

/// Checks every tenant's whole memory graph and its search index.
async fn check_memories(app: &App) -> Vec<Finding> {
    let tenants = match quad_store::tenant::list(&app.store).await {
        Ok(tenants) => tenants,
        Err(error) => {
            return vec![Finding { check: "memory".to_owned(), result: Err(error.cause_chain()) }];
        }
    };
    let mut findings = Vec::new();
    for tenant in tenants {
        let (graph_check, index_check) =
            (format!("memory of {}", tenant.name), format!("search index of {}", tenant.name));
        match app.memory.check_integrity(&tenant.id).await {
            Err(error) => findings.push(Finding {
                check: graph_check,
                result: Err(format!("{}; restore a backup", error.cause_chain())),
            }),
            Ok(report) => {
                let summary =
                    format!("{} nodes and {} edges match the counters and lists", report.nodes, report.edges);
                findings.push(Finding {
                    check: graph_check,
                    result: check_result(summary, &report.violations, REPAIR_HINT),
                });
                let remedy =
                    format!("delete {}; it is built again", app.memory.index_folder(&tenant.id).display());
                let summary = "matches the nodes".to_owned();
                findings.push(Finding {
                    check: index_check,
                    result: check_result(summary, &report.index_violations, &remedy),
                });
            }
        }
    }
    findings
}

/// What to do about an inconsistent graph.
const REPAIR_HINT: &str = "restore a backup, or run `quad memory export` and `quad memory import` into a new data folder: \
    the import counts again and skips edges without an end";

fn check_result(summary: String, faults: &[String], remedy: &str) -> Result<String, String> {
    if faults.is_empty() { Ok(summary) } else { Err(format!("{}; {remedy}", faults.join("; "))) }
}

fn print_report(findings: &[Finding], as_json: bool) -> Result<()> {
    let bad = findings.iter().filter(|finding| finding.result.is_err()).count();
    if as_json {
        let entry = |finding: &Finding| match &finding.result {
            Ok(summary) => json!({"check": finding.check, "ok": true, "seen": summary}),
            Err(problem) => json!({"check": finding.check, "ok": false, "wrong": problem}),
        };
        let entries: Vec<Value> = findings.iter().map(entry).collect();
        output::print_json(&json!({"ok": bad == 0, "checks": entries}));
    } else {
        for Finding { check, result } in findings {
            match result {
                Ok(summary) => output::print_line(format_args!("ok    {check}: {summary}")),
                Err(problem) => output::print_line(format_args!("WRONG {check}: {problem}")),
            }
        }
    }
    if bad == 0 {
        return Ok(());
    }
    Err(Error::new(Kind::Internal, "UNHEALTHY", format!("{bad} of {} checks failed", findings.len()))
        .hint("Do what the lines marked WRONG say, then run `quad doctor` again"))
}
