//! Completion of the variables of this scheme's templates.

use quad_core::scheme::Completion;
use quad_core::{Result, limits};
use quad_store::{Sql, Value as Cell};

use crate::wiki::not_found::FOLDERS;
use crate::{contribution, tags, total};

/// Values that begin with `prefix`.
pub(crate) fn complete_variable(
    sql: &mut dyn Sql,
    variable: &str,
    prefix: &str,
    subject: &str,
) -> Result<Completion> {
    let (kind, table) = match variable {
        "account_id" => ("account", "brain_account"),
        "transaction_id" => ("transaction", "brain_transaction"),
        "payment_intent_id" => ("payment_intent", "brain_payment_intent"),
        "obligation_id" => ("obligation", "brain_obligation"),
        "counterparty_id" => ("counterparty", "brain_counterparty"),
        "invoice_id" => ("invoice", "brain_invoice"),
        "slug" => return complete_slug(sql, prefix),
        "raw_artifact_id" => {
            let artifacts = contribution::by_agent(sql, subject, "", limits::COMPLETION_VALUES)?;
            let values: Vec<String> =
                artifacts.iter().map(|artifact| artifact.id.as_str().to_owned()).collect();
            return Ok(filter_by_prefix(sql, values, prefix, tags::listing()));
        }
        _ => return Ok(Completion::default()),
    };
    let values = ids_with_prefix(sql, table, prefix)?;
    Ok(filter_by_prefix(sql, values, prefix, tags::rows_of_kind(kind)))
}

fn filter_by_prefix(sql: &dyn Sql, values: Vec<String>, prefix: &str, tag: quad_core::Tag) -> Completion {
    let values: Vec<String> = values.into_iter().filter(|value| value.starts_with(prefix)).collect();
    Completion { total: values.len(), values, read_set: tags::read_set(sql.version()).with_tag(tag) }
}

fn ids_with_prefix(sql: &mut dyn Sql, table: &str, prefix: &str) -> Result<Vec<String>> {
    // Every id with the prefix sorts between the prefix and the prefix followed by the greatest character.
    let query =
        format!("SELECT id FROM {table} WHERE tenant_id = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4");
    let cells: [Cell; 4] = [
        sql.tenant().as_str().into(),
        prefix.into(),
        format!("{prefix}\u{10FFFF}").into(),
        (limits::COMPLETION_VALUES as i64 + 1).into(),
    ];
    sql.query(&query, &cells)?.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

fn complete_slug(sql: &mut dyn Sql, prefix: &str) -> Result<Completion> {
    let bare = prefix.trim_start_matches('/');
    let mut values: Vec<String> = Vec::new();
    match bare.split_once('/') {
        None => values.extend(FOLDERS.iter().map(|(folder, _)| format!("{folder}/"))),
        Some((folder, name)) => {
            let table = match folder {
                "accounts" => Some("brain_account"),
                "counterparties" => Some("brain_counterparty"),
                "obligations" => Some("brain_obligation"),
                "invoices" => Some("brain_invoice"),
                "policies" => Some("brain_policy"),
                _ => None,
            };
            match (folder, table) {
                (_, Some(table)) => {
                    values
                        .extend(ids_with_prefix(sql, table, name)?.iter().map(|id| format!("{folder}/{id}")));
                }
                ("monthly-summaries" | "cash-flow", _) => {
                    let months = total::months(sql, None, limits::COMPLETION_VALUES)?;
                    values.extend(months.iter().map(|month| format!("{folder}/{month}")));
                }
                _ => {}
            }
        }
    }
    Ok(filter_by_prefix(sql, values, bare, tags::listing()))
}
