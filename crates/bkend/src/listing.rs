//! `resources/list`: the tree in depth-first order, sorted by id at every level.
//!
//! The key of an entry is its path of ids: empty for the organizations, one id for an organization's projects, two for
//! a project's environments, three for an environment's tables. A path sorts directly before all paths below it, so
//! depth-first order is the order of paths. A page is the merge of three sorted queries that start after the last path,
//! so it costs three queries of a page's length, whatever the size of the tree.

use quad_core::scheme::{ResourceEntry, SchemePage};
use quad_core::{Error, Principal, ReadSet, Result, id};
use quad_store::{Sql, params};

use crate::{routes, tags};

/// The levels that the caller may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VisibleLevels {
    organizations: bool,
    projects: bool,
    environments: bool,
    tables: bool,
}

impl VisibleLevels {
    pub(crate) fn for_caller(caller: &Principal) -> VisibleLevels {
        VisibleLevels {
            organizations: routes::ORGANIZATION_READ.is_satisfied_by(&caller.scopes),
            projects: routes::PROJECT_READ.is_satisfied_by(&caller.scopes),
            environments: routes::ENVIRONMENT_READ.is_satisfied_by(&caller.scopes),
            tables: routes::TABLE_READ.is_satisfied_by(&caller.scopes),
        }
    }
}

/// The key of the organizations: the empty path.
const ROOT_KEY: &str = ".";

/// One page.
pub(crate) fn list_page(
    sql: &mut dyn Sql,
    levels: VisibleLevels,
    after: Option<&str>,
    limit: usize,
) -> Result<SchemePage> {
    let read_set = ReadSet::at_version(sql.version()).with_tag(tags::listing());
    let after: Option<Vec<String>> = after.map(decode_key).transpose()?;
    // One more entry than requested shows whether there is a next page.
    let max_rows = limit as i64 + 1;
    let mut entries: Vec<(Vec<String>, ResourceEntry)> = Vec::new();
    if after.is_none() && levels.organizations {
        entries.push((Vec::new(), organizations_entry()));
    }
    let start = after.unwrap_or_default();
    if levels.projects {
        entries.extend(project_entries(sql, &start, max_rows)?);
    }
    if levels.environments {
        entries.extend(environment_entries(sql, &start, max_rows)?);
    }
    if levels.tables {
        entries.extend(table_entries(sql, &start, max_rows)?);
    }
    entries.sort_by(|(left, _), (right, _)| left.cmp(right));
    let next = (entries.len() > limit)
        .then(|| entries.get(limit.wrapping_sub(1)).map(|(path, _)| encode_key(path)))
        .flatten();
    entries.truncate(limit);
    Ok(SchemePage { entries: entries.into_iter().map(|(_, entry)| entry).collect(), next, read_set })
}

fn encode_key(path: &[String]) -> String {
    if path.is_empty() { ROOT_KEY.to_owned() } else { path.join("/") }
}

fn decode_key(key: &str) -> Result<Vec<String>> {
    if key == ROOT_KEY {
        return Ok(Vec::new());
    }
    let path: Vec<String> = key.split('/').map(str::to_owned).collect();
    if path.len() <= 3 && path.iter().all(|part| id::is_id(part)) {
        return Ok(path);
    }
    Err(Error::bad_input("The cursor does not belong to this list")
        .with_code("INVALID_CURSOR")
        .hint("Start again without a cursor"))
}

fn segment(path: &[String], index: usize) -> &str {
    path.get(index).map_or("", String::as_str)
}

fn organizations_entry() -> ResourceEntry {
    ResourceEntry {
        uri: "bkend://orgs".to_owned(),
        name: "Organizations".into(),
        title: Some("Organizations".to_owned()),
        description: Some("The organizations that you can see.".to_owned()),
        mime_type: "application/json".into(),
        priority: Some(0.3),
    }
}

fn project_entries(
    sql: &mut dyn Sql,
    start: &[String],
    max_rows: i64,
) -> Result<Vec<(Vec<String>, ResourceEntry)>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        "SELECT id, name FROM bkend_organization WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        params![tenant.as_str(), segment(start, 0), max_rows],
    )?;
    rows.iter()
        .map(|row| {
            let (organization, name) = (row.text(0)?, row.text(1)?);
            let entry = ResourceEntry {
                uri: routes::projects_uri(organization),
                name: "Projects".into(),
                title: Some(format!("Projects in {name}")),
                description: Some(format!("The projects of the organization {name}.")),
                mime_type: "application/json".into(),
                priority: Some(0.4),
            };
            Ok((vec![organization.to_owned()], entry))
        })
        .collect()
}

fn environment_entries(
    sql: &mut dyn Sql,
    start: &[String],
    max_rows: i64,
) -> Result<Vec<(Vec<String>, ResourceEntry)>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        "SELECT organization_id, id, name FROM bkend_project
         WHERE tenant_id = $1 AND (organization_id, id) > ($2, $3) ORDER BY organization_id, id LIMIT $4",
        params![tenant.as_str(), segment(start, 0), segment(start, 1), max_rows],
    )?;
    rows.iter()
        .map(|row| {
            let (organization, project, name) = (row.text(0)?, row.text(1)?, row.text(2)?);
            let entry = ResourceEntry {
                uri: routes::environments_uri(organization, project),
                name: "Environments".into(),
                title: Some(format!("Environments in {name}")),
                description: Some(format!("The environments of the project {name}.")),
                mime_type: "application/json".into(),
                priority: Some(0.5),
            };
            Ok((vec![organization.to_owned(), project.to_owned()], entry))
        })
        .collect()
}

fn table_entries(
    sql: &mut dyn Sql,
    start: &[String],
    max_rows: i64,
) -> Result<Vec<(Vec<String>, ResourceEntry)>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        "SELECT e.organization_id, e.project_id, e.id, e.name, p.name FROM bkend_environment e
         JOIN bkend_project p ON p.tenant_id = e.tenant_id AND p.id = e.project_id
         WHERE e.tenant_id = $1 AND (e.organization_id, e.project_id, e.id) > ($2, $3, $4)
         ORDER BY e.organization_id, e.project_id, e.id LIMIT $5",
        params![tenant.as_str(), segment(start, 0), segment(start, 1), segment(start, 2), max_rows],
    )?;
    rows.iter()
        .map(|row| {
            let (organization, project, environment) = (row.text(0)?, row.text(1)?, row.text(2)?);
            let (name, project_name) = (row.text(3)?, row.text(4)?);
            let entry = ResourceEntry {
                uri: routes::tables_uri(organization, project, environment),
                name: "Tables".into(),
                title: Some(format!("Tables in {project_name} / {name}")),
                description: Some(format!(
                    "The tables, with schemas, of the environment {name} of {project_name}."
                )),
                mime_type: "application/json".into(),
                priority: Some(0.9),
            };
            Ok((vec![organization.to_owned(), project.to_owned(), environment.to_owned()], entry))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ENV_URI, test_envs_with_data};

    #[tokio::test(flavor = "multi_thread")]
    async fn list_shows_only_readable_levels() {
        for test_env in test_envs_with_data().await {
            let check = async |scopes: &str, expect: &[&str]| {
                let entries = test_env
                    .list_as(&quad_store::testing::agent(&test_env.test_store.tenant, "agent_1", scopes))
                    .await
                    .unwrap();
                let uris: Vec<&str> = entries.iter().map(|entry| entry.uri.as_str()).collect();
                assert_eq!(uris, expect, "{scopes}");
            };
            let tables = format!("{ENV_URI}/tables");
            let all = [
                "bkend://orgs",
                "bkend://orgs/org_abc123/projects",
                "bkend://orgs/org_abc123/projects/proj_xyz789/environments",
                &tables,
            ];
            check("*:*", &all).await;
            check("organization:read", &all[..1]).await;
            check("table:read", &all[3..]).await;
            check("table:data:read", &[]).await;
            let entries = test_env.list_as(&test_env.caller).await.unwrap();
            let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_ref()).collect();
            assert_eq!(names, ["Organizations", "Projects", "Environments", "Tables"]);
            assert_eq!(entries[3].title.as_deref(), Some("Tables in my-app / dev"));
            assert!(entries.iter().all(|entry| entry.mime_type == "application/json"));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pages_cover_all_entries_without_duplicates() {
        for test_env in test_envs_with_data().await {
            let mut lines = vec![r#"{"kind":"organization","id":"org_b","name":"B"}"#.to_owned()];
            for n in 0..299 {
                // Half of the projects are in another organization, so that pages end at every level.
                let organization = if n % 2 == 0 { "org_abc123" } else { "org_b" };
                lines.push(format!(
                    r#"{{"kind":"project","id":"p{n}","organizationId":"{organization}","name":"p {n}"}}"#
                ));
                lines.push(format!(
                    r#"{{"kind":"environment","id":"env_{n}","projectId":"p{n}","name":"dev"}}"#
                ));
            }
            test_env.load(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
            let all_entries = test_env.list_as(&test_env.caller).await.unwrap();
            assert_eq!(all_entries.len(), 1 + 2 + 300 + 300);
            let mut uris: Vec<String> = all_entries.iter().map(|entry| entry.uri.clone()).collect();
            uris.sort();
            uris.dedup();
            assert_eq!(uris.len(), 603);
            // Every page size must produce the same sequence.
            for limit in [1, 2, 7, 603, 1_000] {
                let levels = VisibleLevels::for_caller(&test_env.caller);
                let (mut paged_uris, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
                loop {
                    let start = after.clone();
                    let page = test_env.test_store.store.read(&test_env.test_store.tenant, move |sql| {
                        list_page(sql, levels, start.as_deref(), limit)
                    });
                    let page = page.await.unwrap();
                    assert!(page.entries.len() <= limit);
                    paged_uris.extend(page.entries.into_iter().map(|entry| entry.uri));
                    after = page.next;
                    if after.is_none() {
                        break;
                    }
                }
                assert_eq!(
                    paged_uris,
                    all_entries.iter().map(|entry| entry.uri.clone()).collect::<Vec<_>>(),
                    "{limit}"
                );
            }
        }
    }

    #[test]
    fn invalid_list_key_is_rejected() {
        assert!(decode_key("org_1/proj_1/env_1").is_ok() && decode_key(ROOT_KEY).unwrap().is_empty());
        for bad in ["", "a/b/c/d", "a//b", "a b", "../x"] {
            assert_eq!(decode_key(bad).unwrap_err().code(), "INVALID_CURSOR", "{bad}");
        }
    }
}
