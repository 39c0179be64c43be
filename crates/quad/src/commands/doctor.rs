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
use crate::outcome;

/// One thing that was looked at.
struct Finding {
    what: String,
    /// What was seen, or what is wrong and what to do.
    verdict: Result<String, String>,
}

/// Looks at everything and says what it found; fails if anything is not in order.
pub async fn run(config: Config, deep: bool, as_json: bool) -> Result<()> {
    let mut findings = vec![data_dir(&config)];
    match App::open(config).await {
        Err(error) => {
            let hint = error.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
            findings.push(Finding {
                what: "database".to_owned(),
                verdict: Err(format!("{}{hint}", error.message())),
            });
        }
        Ok(app) => {
            let kind = format!("{:?}, tables up to date", app.store.backend());
            findings.push(Finding { what: "database".to_owned(), verdict: Ok(kind) });
            findings.push(chain(&app).await);
            findings.push(read(&app).await);
            findings.push(tokens(&app).await);
            if deep {
                findings.extend(memories(&app).await);
            }
        }
    }
    report(&findings, as_json)
}

fn data_dir(config: &Config) -> Finding {
    let folder = &config.data_dir;
    let verdict = match std::fs::metadata(folder) {
        Err(_) => Ok(format!("{} will be made", folder.display())),
        Ok(found) if !found.is_dir() => Err(format!("{} is not a folder", folder.display())),
        Ok(_) => match exposed(config) {
            Some(file) => Err(format!("{0} can be read by others; run chmod 600 {0}", file.display())),
            None => Ok(folder.display().to_string()),
        },
    };
    Finding { what: "data folder".to_owned(), verdict }
}

/// The first file of the data folder that others can read, of those that hold data or keys.
fn exposed(config: &Config) -> Option<PathBuf> {
    let files = ["quad.db", "quad.db-wal", "signing.key", "quad.key"].map(|name| config.data_dir.join(name));
    files
        .into_iter()
        .find(|file| std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o077 != 0))
}

/// The newest block of the audit chain must end where the head says.
async fn chain(app: &App) -> Finding {
    let checked = app.store.read(&app.tenant.id, |snapshot| {
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
    let verdict = match checked.await {
        Ok((events, true)) => Ok(format!("{events} events, the newest as the head says")),
        Ok((_, false)) => Err("the newest audit events do not match the head: restore a backup".to_owned()),
        Err(error) => Err(error.cause_chain()),
    };
    Finding { what: "audit chain".to_owned(), verdict }
}

async fn read(app: &App) -> Finding {
    let listed = app.resolver.list(&app.local_agent(), View::All, None).await;
    let verdict = match listed {
        Ok(page) => Ok(format!("{} addresses on the first page", page.entries.len())),
        Err(error) => Err(format!("{}: {}", error.message(), error.cause_chain())),
    };
    Finding { what: "reading".to_owned(), verdict }
}

async fn tokens(app: &App) -> Finding {
    let verdict = match app.gate.tokens(&app.tenant.id).await {
        Ok(tokens) => {
            let live = tokens.iter().filter(|token| token.revoked_at.is_none()).count();
            Ok(format!("{live} of {} not revoked", tokens.len()))
        }
        Err(error) => Err(error.cause_chain()),
    };
    Finding { what: "tokens".to_owned(), verdict }
}

/// Every tenant's memory, all of it.
async fn memories(app: &App) -> Vec<Finding> {
    let tenants = match quad_store::tenant::list(&app.store).await {
        Ok(tenants) => tenants,
        Err(error) => {
            return vec![Finding { what: "memory".to_owned(), verdict: Err(error.cause_chain()) }];
        }
    };
    let mut findings = Vec::new();
    for tenant in tenants {
        let (what, index) =
            (format!("memory of {}", tenant.name), format!("search index of {}", tenant.name));
        match app.memory.check(&tenant.id).await {
            Err(error) => {
                findings.push(Finding { what, verdict: Err(format!("{}; restore a backup", error.cause_chain())) })
            }
            Ok(checked) => {
                let seen = format!(
                    "{} nodes and {} edges agree with all that is said of them",
                    checked.nodes, checked.edges
                );
                findings.push(Finding { what, verdict: sound(seen, &checked.faults, MENDED) });
                let remedy =
                    format!("delete {}: it is made anew", app.memory.index_folder(&tenant.id).display());
                let seen = "agrees with the nodes".to_owned();
                findings.push(Finding { what: index, verdict: sound(seen, &checked.index_faults, &remedy) });
            }
        }
    }
    findings
}

/// What to do about a graph that does not agree with itself.
const MENDED: &str = "restore a backup, or `quad memory export` what is there and `quad memory import` it into a new data folder: \
    it is then counted anew, and what leads nowhere is left out";

fn sound(seen: String, faults: &[String], remedy: &str) -> Result<String, String> {
    if faults.is_empty() { Ok(seen) } else { Err(format!("{}; {remedy}", faults.join("; "))) }
}

fn report(findings: &[Finding], as_json: bool) -> Result<()> {
    let bad = findings.iter().filter(|finding| finding.verdict.is_err()).count();
    if as_json {
        let entry = |finding: &Finding| match &finding.verdict {
            Ok(seen) => json!({"check": finding.what, "ok": true, "seen": seen}),
            Err(wrong) => json!({"check": finding.what, "ok": false, "wrong": wrong}),
        };
        let entries: Vec<Value> = findings.iter().map(entry).collect();
        outcome::json(&json!({"ok": bad == 0, "checks": entries}));
    } else {
        for Finding { what, verdict } in findings {
            match verdict {
                Ok(seen) => outcome::line(format_args!("ok    {what}: {seen}")),
                Err(wrong) => outcome::line(format_args!("WRONG {what}: {wrong}")),
            }
        }
    }
    if bad == 0 {
        return Ok(());
    }
    Err(Error::new(Kind::Internal, "UNHEALTHY", format!("{bad} of {} checks failed", findings.len())))
}
