//! Tests of evidence: who sees an artifact, contributions of agents, the hold, extraction.

use quad_core::Kind;
use quad_store::audit::block;
use quad_store::testing::agent;
use quad_store::{Sql as _, Tx, params};
use serde_json::{Value, json};

use crate::testing::{STATEMENT, TestEnv, test_envs, test_envs_with_data};
use crate::{contribution, raw};

#[tokio::test(flavor = "multi_thread")]
async fn evidence_visible_to_contributor_and_once_cited() {
    for env in test_envs_with_data().await {
        let tenant = &env.test_store.tenant;
        let contributor = agent(tenant, "agent_1", "ledger:read raw:write");
        let other_agent = agent(tenant, "agent_2", "ledger:read raw:write");
        let other_tenant = env.agent_of_tenant("other").await;
        let uploaded =
            env.call_as(&contributor, "raw_contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_eq!(uploaded["sha256"], "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
        assert_eq!((uploaded["bytes"].as_i64(), uploaded["deduplicated"].as_bool()), (Some(7), Some(false)));
        let again =
            env.call_as(&contributor, "raw_contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_eq!(
            (again["rawId"].as_str(), again["deduplicated"].as_bool()),
            (uploaded["rawId"].as_str(), Some(true))
        );
        let other_tenant_upload =
            env.call_as(&other_tenant, "raw_contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_ne!(other_tenant_upload["rawId"], uploaded["rawId"]);
        let id = uploaded["rawId"].as_str().unwrap();
        let uri = format!("brain://raw/{id}");
        let contributor_view: Value =
            serde_json::from_str(&env.read_text_as(&contributor, &uri).await.unwrap()).unwrap();
        assert_eq!(
            (contributor_view["sha256"].is_string(), contributor_view["source_type"].as_str()),
            (true, Some("agent_contributed"))
        );
        let hidden = env.read_text_as(&other_agent, &uri).await.unwrap_err();
        let missing =
            env.read_text_as(&other_agent, "brain://raw/raw_01ARZ3NDEKTSV4RRFFQ69G5FAV").await.unwrap_err();
        assert_eq!((hidden.code(), hidden.message()), (missing.code(), missing.message()));
        assert_eq!(hidden.code(), "raw_artifact_not_found");
        // The same bytes from another agent: one artifact, two contributions.
        env.call_as(&other_agent, "raw_contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert!(env.read_text_as(&other_agent, &uri).await.is_ok());
        let reader = agent(tenant, "agent_3", "ledger:read");
        assert!(env.read_text_as(&reader, &uri).await.is_err());
        let citing =
            format!(r#"{{"kind":"counterparty","id":"cp_cited","name":"Cited","source_ids":["{id}"]}}"#);
        env.load(&citing).await.unwrap();
        let reader_view: Value =
            serde_json::from_str(&env.read_text_as(&reader, &uri).await.unwrap()).unwrap();
        assert_eq!(reader_view["sha256"], uploaded["sha256"]);
        assert!(reader_view.get("source_ref").is_none() && reader_view["parsed"].is_array());
        assert_eq!(env.read_text_as(&other_tenant, &uri).await.unwrap_err().message(), missing.message());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contribution_sets_agent_id_and_decodes_base64() {
    for env in test_envs().await {
        let arguments = json!({"payload": "AAEC/w==", "encoding": "base64", "mime_type": "application/octet-stream",
            "source_ref": {"agent_id": "agent_2", "agent_role": "admin", "mailbox": "in"}});
        let uploaded = env.call("raw_contribute", arguments).await.unwrap();
        assert_eq!(uploaded["bytes"], 4);
        let artifact = env.call("raw_artifact_get", json!({"raw_id": uploaded["rawId"]})).await.unwrap();
        assert_eq!(artifact["source_ref"], json!({"mailbox": "in", "agent_id": "agent_1"}));
        let invalid = env.call("raw_contribute", json!({"payload": "%", "encoding": "base64"})).await;
        assert_eq!(invalid.unwrap_err().kind(), Kind::BadInput);
        // A tombstoned artifact can still be read.
        let id = uploaded["rawId"].as_str().unwrap();
        raw::tombstone(&env.test_store.store, &env.writer(), "test", id).await.unwrap();
        let artifact = env.call("raw_artifact_get", json!({"raw_id": id})).await.unwrap();
        assert!(artifact["tombstoned_at"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_ends_on_release_or_sixth_contribution() {
    for env in test_envs().await {
        let hold_state = async |env: &TestEnv, agent: &str| {
            let agent = agent.to_owned();
            let read = env.test_store.store.read(&env.test_store.tenant, move |sql| {
                Ok((
                    contribution::load_contributor(sql, &agent)?.is_on_hold(),
                    contribution::pending(sql, &agent)?.len(),
                ))
            });
            read.await.unwrap()
        };
        for number in 1..=5 {
            env.call("raw_contribute", json!({"payload": format!("note {number}")})).await.unwrap();
            assert_eq!(hold_state(&env, "agent_1").await, (true, 0), "{number}");
        }
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
        assert_eq!(hold_state(&env, "agent_1").await, (false, 5));
        let other = agent(&env.test_store.tenant, "agent_2", "raw:write");
        for number in 1..=6 {
            let payload = json!({"payload": format!("other {number}")});
            env.call_as(&other, "raw_contribute", payload).await.unwrap();
        }
        // The sixth contribution and those before it are extracted.
        assert_eq!(hold_state(&env, "agent_2").await, (false, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_statement_has_half_confidence_after_hold() {
    for env in test_envs().await {
        env.load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"EUR\"}")
            .await
            .unwrap();
        let payload =
            json!({"payload": STATEMENT, "mime_type": "text/csv", "source_ref": {"account_id": "acct_1"}});
        let uploaded = env.call("raw_contribute", payload).await.unwrap();
        let count = async || {
            env.call("ledger_transactions_list", json!({})).await.unwrap()["items"].as_array().unwrap().len()
        };
        assert_eq!(count().await, 0);
        for number in 2..=6 {
            env.call("raw_contribute", json!({"payload": format!("note {number}")})).await.unwrap();
        }
        assert_eq!(count().await, 4);
        let page = env.call("ledger_transactions_list", json!({})).await.unwrap();
        for row in page["items"].as_array().unwrap() {
            assert_eq!(
                (row["provenance"].as_str(), row["confidence"].as_f64()),
                (Some("agent_contributed"), Some(0.5))
            );
        }
        let artifact = env.call("raw_artifact_get", json!({"raw_id": uploaded["rawId"]})).await.unwrap();
        assert_eq!(artifact["parsed"][0]["parser"], "statements.csv");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_extraction_updates_projection_status() {
    for env in test_envs().await {
        // Neither the file nor the agent names an account.
        let uploaded =
            env.call("raw_contribute", json!({"payload": STATEMENT, "mime_type": "text/csv"})).await.unwrap();
        let uri = format!("brain://raw/{}", uploaded["rawId"].as_str().unwrap());
        let status = async || env.read(&uri).await.unwrap()["projection_status"].clone();
        assert_ne!(status().await, "projection_failed", "the agent is still held back");
        for number in 2..=6 {
            env.call("raw_contribute", json!({"payload": format!("note {number}")})).await.unwrap();
        }
        assert_eq!(status().await, "projection_failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contribution_with_failed_extraction_succeeds_with_one_audit_event() {
    for env in test_envs().await {
        env.load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"EUR\"}")
            .await
            .unwrap();
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
        // Corrupts a row, so that reading it is an internal error.
        let set_currency = async |currency: &'static str| {
            let work = move |tx: &mut Tx<'_>| {
                let tenant = tx.tenant().as_str().to_owned();
                tx.execute(
                    "UPDATE brain_account SET currency = $2 WHERE tenant_id = $1 AND id = 'acct_1'",
                    params![tenant, currency],
                )?;
                Ok(())
            };
            env.test_store.store.write_unaudited(&env.test_store.tenant, work).await.unwrap();
        };
        set_currency("?").await;
        let before = audited_actions(&env).await.len();
        let statement =
            json!({"payload": STATEMENT, "mime_type": "text/csv", "source_ref": {"account_id": "acct_1"}});
        let uploaded = env.call("raw_contribute", statement).await.unwrap();
        assert_eq!(audited_actions(&env).await[before..], ["agent.mcp.tool_called"]);
        // Another contribution is extracted although the first one still fails.
        env.call("raw_contribute", json!({"payload": "another note"})).await.unwrap();
        let pending =
            env.test_store.store.read(&env.test_store.tenant, |sql| contribution::pending(sql, "agent_1"));
        let pending: Vec<String> = pending.await.unwrap().into_iter().map(|waiting| waiting.raw_id).collect();
        assert_eq!(pending, [uploaded["rawId"].as_str().unwrap()]);
        // The next contribution extracts it.
        set_currency("EUR").await;
        env.call("raw_contribute", json!({"payload": "note"})).await.unwrap();
        let artifact = env.call("raw_artifact_get", json!({"raw_id": uploaded["rawId"]})).await.unwrap();
        assert_eq!(artifact["projection_status"], "projected");
        let page = env.call("ledger_transactions_list", json!({})).await.unwrap();
        assert_eq!(page["items"].as_array().unwrap().len(), 4);
    }
}

/// The actions of all audit events of the tenant, in order.
async fn audited_actions(env: &TestEnv) -> Vec<String> {
    let blocks = env
        .test_store
        .store
        .read(&env.test_store.tenant, |sql| block::blocks_after(sql, 0, 1_000))
        .await
        .unwrap();
    let action = |record: &str| {
        let record: Value = serde_json::from_str(record).unwrap();
        record["action"].as_str().unwrap().to_owned()
    };
    blocks
        .iter()
        .flat_map(|block| block.records().map(|(_, record)| action(record)).collect::<Vec<_>>())
        .collect()
}
