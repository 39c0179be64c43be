//! `resources/list` returns 602 resources in pages without gaps or duplicates.

use serde_json::json;

use crate::client::Client;
use crate::instance::TestInstance;
use crate::matrix::Revision;

const PROJECTS: usize = 300;

#[test]
fn lists_602_resources_in_four_pages() {
    for instance in TestInstance::on_each_backend() {
        let file = instance.folder().join("projects.jsonl");
        let mut lines = vec![json!({"kind": "organization", "id": "org_1", "name": "Many"})];
        let mut expected = vec!["bkend://orgs".to_owned(), "bkend://orgs/org_1/projects".to_owned()];
        for number in 0..PROJECTS {
            let (project, environment) = (format!("proj_{number:04}"), format!("env_{number:04}"));
            let name = format!("project {number}");
            lines.push(json!({"kind": "project", "id": project, "organizationId": "org_1", "name": name}));
            lines
                .push(json!({"kind": "environment", "id": environment, "projectId": project, "name": "dev"}));
            let environments = format!("bkend://orgs/org_1/projects/{project}/environments");
            expected.push(environments.clone());
            expected.push(format!("{environments}/{environment}/tables"));
        }
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&file, text).unwrap();
        instance.add_tenant("many");
        instance.load("many", &file);
        // Loading the same file again adds nothing.
        instance.load("many", &file);
        let server = instance.serve(&[]);
        let token = instance.mint_token("many", "owner", "*:*");
        for revision in [Revision::MODERN, Revision::LEGACY] {
            let over_http = Client::over_http(revision, &server.authority, "/mcp/bkend", Some(&token));
            let over_stdio = Client::over_stdio(
                revision,
                instance.quad_command(&["stdio", "--tenant", "many", "--only", "bkend"]),
            );
            for mut client in [over_http, over_stdio] {
                let (listed, pages) = list_all_pages(&mut client);
                assert_eq!(pages, [200, 200, 200, 2]);
                assert_eq!(listed, expected);
            }
        }
    }
}

/// All addresses, and the size of each page.
fn list_all_pages(client: &mut Client) -> (Vec<String>, Vec<usize>) {
    let (mut listed, mut pages) = (Vec::new(), Vec::new());
    let mut params = json!({});
    loop {
        let result = client.request("resources/list", Some(params)).outcome.unwrap();
        let page = result["resources"].as_array().unwrap();
        pages.push(page.len());
        listed.extend(page.iter().map(|entry| entry["uri"].as_str().unwrap().to_owned()));
        match result.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return (listed, pages),
        }
        assert!(pages.len() < 10, "the pages do not end");
    }
}
