//! The documentation pages that `search_docs` finds.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::limits;

struct DocPage {
    id: &'static str,
    title: &'static str,
    content: &'static str,
}

const PAGES: [DocPage; 6] = [
    DocPage {
        id: "1_concepts",
        title: "Concepts: organizations, projects, environments, tables",
        content: "An organization owns projects. A project has environments such as dev, staging and prod; a new project \
            comes with dev. An environment is the unit of isolation: its tables, indexes and rows belong to it alone. A table \
            has fields, and every row (record) has the system fields id, createdBy, createdAt and updatedAt besides.\n\n\
            Read with addresses, change with tools. bkend://orgs lists organizations, bkend://orgs/{orgId}/projects projects, \
            …/environments environments, …/environments/{envId}/tables tables with their schemas, …/tables/{tableId}/rows \
            rows. Reads are always fresh: what a tool has just written is in the next read. Ids are opaque. A name does where an \
            id is meant if only one thing has it; ids above a table are optional and checked if you send them. The only \
            organization, project or environment is taken if a call names none, but not by a deletion.\n\n\
            Scopes: organization:read, project:*, environment:*, table:* for definitions, table:data:* for rows. table:* does \
            not cover table:data.",
    },
    DocPage {
        id: "2_tutorial",
        title: "Tutorial: from nothing to the first row",
        content: "1. Call get_context: it shows your organization, its projects and their environments.\n\
            2. backend_project_create {\"name\":\"Shop\"} makes a project with an environment dev.\n\
            3. backend_table_create {\"projectId\":\"Shop\",\"name\":\"products\",\"fields\":[{\"name\":\"title\",\
            \"type\":\"string\",\"required\":true},{\"name\":\"price\",\"type\":\"number\",\"minimum\":0}]} makes a table.\n\
            4. backend_data_create {\"tableId\":\"products\",\"data\":{\"title\":\"Tea\",\"price\":4.5}} adds a row and returns it \
            with its id.\n\
            5. backend_data_list {\"tableId\":\"products\",\"sortBy\":\"price\",\"sortDirection\":\"asc\"} lists rows in pages.\n\
            6. backend_field_manage adds a field later; each change writes a new schema version, which \
            bkend://tables/{tableId}/schema/versions lists.",
    },
    DocPage {
        id: "3_howto_implement_auth",
        title: "How to implement authentication and authorization",
        content: "Access tokens with scopes decide who may use this server. `quad token mint --scope` makes one; \
            bkend://access-tokens lists them with masked keys, never a secret. Give an agent only the scopes that it needs: \
            *:read to look around, table:data:create to add rows. A refused call names the missing scope.\n\n\
            Sign-up, login and sessions of your application's own users are not part of this server: keep a users table, \
            store only a hash of each password, or trust an external identity provider and store its subject. A table's \
            permissions (admin, user, guest, self; create, read, update, delete, list) are stored with backend_table_update and \
            shown, but not enforced: only the scopes of the token decide. createdBy tells which subject made a row.",
    },
    DocPage {
        id: "4_howto_implement_data_crud",
        title: "How to implement data CRUD: create, read, update, delete, sorting and paging",
        content: "Create: backend_data_create. System fields in data are ignored, text such as \"41\" or \"true\" is converted to \
            the field's type, dates become UTC instants, defaults replace missing values; then required, type, enum, length, \
            range and pattern are checked, and unique last. A refusal has the code data/validation-error with details \
            [{field, reason}], or data/duplicate-value.\n\n\
            Read: backend_data_get by recordId; backend_data_list with page (from 1), limit (1 to 100, 20 by default), sortBy \
            and sortDirection (desc by default; createdAt unless you choose). The answer has items and pagination {total, page, \
            limit, totalPages, hasNext, hasPrev}. Filtering is not available: narrow by sorting and paging. \
            …/rows?page=1&limit=20 is the same as a resource.\n\n\
            Update: backend_data_update sends only what changes; null clears a field; ifUpdatedAt makes it conditional \
            (CONFLICT if the row has changed since). Delete: backend_data_delete. A field that backend_field_manage removes is \
            gone from every row; its values stay in the database, but nothing reads or restores them.\n\n\
            Types: string, number (double), int and long (64 bits), boolean, date, object, array, reference (ref names the \
            table), mixed. A unique field allows one missing value, unless the index is sparse.",
    },
    DocPage {
        id: "6_code_examples_auth",
        title: "Code examples: tokens and scopes",
        content: "A read-only agent: `quad token mint --scope organization:read --scope project:read --scope environment:read \
            --scope table:read --scope table:data:read`. Over HTTP send `Authorization: Bearer <token>`; over stdio the operating \
            system's user is trusted.\n\n\
            A users table for your own login:\n\
            backend_table_create {\"name\":\"users\",\"fields\":[{\"name\":\"email\",\"type\":\"string\",\
            \"required\":true,\"unique\":true,\"pattern\":\"^[^@\\\\s]+@[^@\\\\s]+$\"},{\"name\":\"passwordHash\",\"type\":\"string\",\
            \"required\":true},{\"name\":\"role\",\"type\":\"string\",\"enum\":[\"admin\",\"user\"],\"defaultValue\":\"user\"}]}",
    },
    DocPage {
        id: "7_code_examples_data",
        title: "Code examples: tables, fields, indexes and rows",
        content: "Create a row: backend_data_create {\"tableId\":\"users\",\"data\":{\"name\":\"Ada\",\"email\":\"ada@example.org\"}}\n\
            Change it: backend_data_update {\"tableId\":\"users\",\"recordId\":\"rec_…\",\"data\":{\"role\":\"admin\"}}\n\
            Second page, cheapest first: backend_data_list {\"tableId\":\"products\",\"page\":2,\"limit\":50,\"sortBy\":\"price\",\
            \"sortDirection\":\"asc\"}\n\
            Add fields: backend_field_manage {\"tableId\":\"users\",\"action\":\"add\",\"fields\":[{\"name\":\"phone\",\"type\":\
            \"string\",\"required\":true}]}; rowsMissing tells how many rows lack a newly required field.\n\
            Change a rule: backend_field_manage {\"tableId\":\"users\",\"action\":\"update\",\"fields\":[{\"name\":\"phone\",\
            \"required\":false}]}\n\
            Remove fields: backend_field_manage {\"tableId\":\"users\",\"action\":\"delete\",\"fields\":[{\"name\":\"fax\"}]}\n\
            Add an index: backend_index_manage {\"tableId\":\"users\",\"action\":\"add\",\"indexes\":[{\"fields\":[\"email\"],\
            \"unique\":true}]}",
    },
];

/// The best pages for a query, with a relevance from 0 to 1. A page's id finds that page.
///
/// Relevance counts the query's words that a page contains. A word in the title counts four times, because the title
/// says what a page is about.
pub(crate) fn search(query: &str) -> Vec<Value> {
    if let Some(doc_page) = PAGES.iter().find(|page| page.id == query.trim()) {
        return vec![page_json(doc_page, 1.0)];
    }
    const IN_TITLE: usize = 4;
    let words = stems(query);
    let max_score = (words.len() * IN_TITLE) as f64;
    let mut ranked: Vec<(usize, &DocPage)> = PAGES
        .iter()
        .map(|page| {
            let (title, content) = (stems(page.title), stems(page.content));
            let word_score = |word| match (title.contains(word), content.contains(word)) {
                (true, _) => IN_TITLE,
                (false, found) => usize::from(found),
            };
            (words.iter().map(word_score).sum(), page)
        })
        .filter(|(score, _)| *score > 0)
        .collect();
    ranked.sort_by(|(left, a), (right, b)| right.cmp(left).then(a.id.cmp(b.id)));
    ranked
        .into_iter()
        .take(limits::DOCS_RESULTS)
        .map(|(score, page)| page_json(page, score as f64 / max_score))
        .collect()
}

fn page_json(page: &DocPage, relevance: f64) -> Value {
    let relevance = (relevance * 1_000.0).round() / 1_000.0;
    json!({"id": page.id, "title": page.title, "content": page.content, "relevance": relevance})
}

/// The distinct lower-case words of a text, without endings such as `-s` and `-ing`, so that `filters` finds
/// `filtering`.
fn stems(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1)
        .map(|word| {
            let word = word.to_lowercase();
            let stem = ["ing", "ers", "er", "ed", "es", "s"]
                .iter()
                .find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.chars().count() > 2));
            stem.map_or(word.clone(), str::to_owned)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_data_crud_page_first() {
        let results = search("CRUD filtering");
        assert!(!results.is_empty() && results.len() <= limits::DOCS_RESULTS);
        assert_eq!(results[0]["id"], "4_howto_implement_data_crud");
        for result in &results {
            assert!(result["title"].is_string() && result["content"].is_string());
            assert!((0.0..=1.0).contains(&result["relevance"].as_f64().unwrap()));
        }
        assert_eq!(search("2_tutorial")[0]["id"], "2_tutorial");
        assert!(search("zyzzyva").is_empty());
        assert!(search("").is_empty());
    }
    /// The calls in the pages: a tool's name, a space and its arguments.
    fn documented_calls() -> Vec<(String, Value)> {
        let mut calls = Vec::new();
        for page in &PAGES {
            for (position, _) in page.content.match_indices("backend_") {
                let Some((tool, rest)) = page.content[position..].split_once(' ') else { continue };
                let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
                if let Some(Ok(arguments @ Value::Object(_))) = values.next() {
                    calls.push((tool.to_owned(), arguments));
                }
            }
        }
        calls
    }

    #[test]
    fn documented_calls_match_the_published_schemas() {
        let calls = documented_calls();
        assert!(calls.len() >= 10, "{calls:?}");
        let tools = crate::tools::table().tools();
        for (name, arguments) in calls {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            let validator = jsonschema::validator_for(&tool.input_schema).unwrap();
            assert!(validator.is_valid(&arguments), "{name} {arguments}");
        }
    }

    #[test]
    fn pages_say_what_does_not_work_yet() {
        let content = |id: &str| search(id)[0]["content"].as_str().unwrap().to_owned();
        assert!(content("3_howto_implement_auth").contains("not enforced"));
        assert!(content("4_howto_implement_data_crud").contains("nothing reads or restores them"));
    }
}
