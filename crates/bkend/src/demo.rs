//! The demo data: a first organization, so that a new server has something to show.

use quad_core::{EventDraft, Result, TenantId};
use quad_store::{Sql, Store, WriteContext, params};
use serde_json::{Value, json};

use crate::organization::{self, NewOrganization};
use crate::project::{self, NewProject};
use crate::record::{self, NewRecord};
use crate::table::{self, NewTable};
use crate::{definition, errors};

/// The actor of the demo data.
const ACTOR: &str = "quad_demo";

/// Creates a demo organization with a project, its `dev` environment, a table `demo_tasks` and a few rows if the tenant has
/// no organization. Returns whether it did. Of two processes that start at the same time, one creates it.
pub async fn ensure(store: &Store, tenant: &TenantId) -> Result<bool> {
    if store.read(tenant, |sql| has_organization(sql)).await? {
        return Ok(false);
    }
    let event = EventDraft::system("backend", "demo_created", ACTOR).succeeded();
    let result = store
        .write(&WriteContext::from(tenant), event, |tx| {
            tx.lock("bkend:orgs")?;
            // Checked again under the lock: another process may have created it in the meantime.
            if has_organization(tx)? {
                return Err(
                    errors::conflict("The tenant has an organization", "Use it").with_code(NOT_NEEDED)
                );
            }
            seed(tx)
        })
        .await;
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.code() == NOT_NEEDED => Ok(false),
        Err(error) => Err(error),
    }
}

const NOT_NEEDED: &str = "DEMO_NOT_NEEDED";

fn has_organization(sql: &mut dyn Sql) -> Result<bool> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        "SELECT 1 FROM bkend_organization WHERE tenant_id = $1 LIMIT 1",
        params![tenant.as_str()],
    )?;
    Ok(row.is_some())
}

fn seed(tx: &mut quad_store::Tx<'_>) -> Result<()> {
    let organization = organization::insert(
        tx,
        &NewOrganization {
            name: "Demo".to_owned(),
            description: Some("Made at the first start.".to_owned()),
            ..Default::default()
        },
    )?;
    let (_, dev) = project::insert(
        tx,
        &NewProject {
            id: None,
            organization_id: organization.id.as_str().to_owned(),
            name: "my-app".to_owned(),
            slug: None,
            description: Some("A project to try things in.".to_owned()),
            primary_cloud: None,
            primary_region: None,
            with_dev: true,
        },
    )?;
    let Some(dev) = dev else { return Ok(()) };
    let fields = json!([
        {"name": "title", "type": "string", "required": true, "maxLength": 200},
        {"name": "status", "type": "string", "enum": ["open", "done"], "defaultValue": "open"},
        {"name": "priority", "type": "int", "minimum": 1, "maximum": 5},
        {"name": "due", "type": "date"},
    ]);
    let table = table::insert(
        tx,
        &NewTable {
            id: None,
            environment_id: dev.id.as_str().to_owned(),
            // `tasks` is what many name their first table.
            name: "demo_tasks".to_owned(),
            display_name: Some("Demo tasks".to_owned()),
            description: Some("What is to be done.".to_owned()),
            fields: definition::parse_fields(&fields)?,
            indexes: Vec::new(),
            created_by: ACTOR.to_owned(),
        },
    )?;
    for row in [
        json!({"title": "Read bkend://context", "status": "done", "priority": 1}),
        json!({"title": "Create a table of your own", "priority": 2}),
        json!({"title": "Delete this project when you no longer need it", "priority": 5}),
    ] {
        let Value::Object(data) = row else { continue };
        let new =
            NewRecord { id: None, data, created_by: ACTOR.to_owned(), created_at: None, updated_at: None };
        record::insert(tx, &table, &new)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_envs;

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_starts_create_one_demo() {
        for test_env in test_envs().await {
            let second =
                Store::open(test_env.test_store.location.clone(), &[crate::COMPONENT]).await.unwrap();
            let (left, right) = tokio::join!(
                ensure(&test_env.test_store.store, &test_env.test_store.tenant),
                ensure(&second, &test_env.test_store.tenant)
            );
            assert_eq!(usize::from(left.unwrap()) + usize::from(right.unwrap()), 1);
            assert!(!ensure(&second, &test_env.test_store.tenant).await.unwrap());
            let context = test_env.read("bkend://context").await.unwrap();
            assert_eq!(context["organizations"].as_array().unwrap().len(), 1);
            let uri = context["projects"][0]["environments"][0]["tablesUri"].as_str().unwrap().to_owned();
            assert_eq!(test_env.read(&uri).await.unwrap()[0]["rowCount"], 3);
        }
    }
    #[tokio::test(flavor = "multi_thread")]
    async fn first_table_of_a_user_may_be_named_tasks() {
        for test_env in test_envs().await {
            ensure(&test_env.test_store.store, &test_env.test_store.tenant).await.unwrap();
            let fields = json!([{"name": "title", "type": "string"}]);
            let created = test_env
                .call("backend_table_create", json!({"name": "tasks", "fields": fields}))
                .await
                .unwrap();
            assert_eq!((&created["name"], &created["environment"]), (&json!("tasks"), &json!("dev")));
            let row = json!({"tableId": "tasks", "data": {"title": "Mine"}});
            assert_eq!(test_env.call("backend_data_create", row).await.unwrap()["title"], "Mine");
        }
    }
}
