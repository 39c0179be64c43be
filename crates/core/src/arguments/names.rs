//! Which argument a caller means by another name.

use serde_json::{Map, Value};

/// Names of one thing, in lower case without separators. A name may be in several groups: it stands for an argument only
/// if exactly one of the tool's arguments is in any of its groups.
const SYNONYMS: &[&[&str]] = &[
    &[
        "limit",
        "maxresults",
        "maxitems",
        "maxcount",
        "max",
        "count",
        "topk",
        "k",
        "n",
        "pagesize",
        "perpage",
        "size",
        "numresults",
        "resultcount",
        "first",
        "take",
        "top",
    ],
    &["cursor", "nextcursor", "pagetoken", "nextpagetoken", "continuation", "after"],
    &["page", "pagenumber", "pageno", "pageindex"],
    &[
        "query",
        "q",
        "search",
        "searchquery",
        "searchterm",
        "text",
        "term",
        "terms",
        "keywords",
        "keyword",
        "querytext",
        "question",
        "prompt",
        "claim",
        "statement",
    ],
    &[
        "content",
        "text",
        "body",
        "message",
        "memory",
        "note",
        "newcontent",
        "value",
        "source",
        "markdown",
        "document",
        "payload",
        "file",
    ],
    &["data", "row", "record", "values", "document", "object", "fields", "attributes"],
    &["fields", "columns", "schema", "properties"],
    &["uri", "url", "address", "resource", "resourceuri", "link", "href"],
    &["id", "recordid", "rowid", "nodeid", "memoryid", "entityid", "itemid", "objectid", "identifier", "key"],
    &["type", "kind", "eventtype", "nodetype", "memorytype", "entitytype", "category"],
    &["eventtypes", "types", "kinds", "nodetypes", "memorytypes", "type", "kind", "eventtype"],
    &["sessionids", "sessions", "session", "sessionid"],
    &["edgetypes", "linktypes", "relations", "types", "edgetype"],
    &["edges", "links", "relations", "related"],
    &[
        "since",
        "from",
        "start",
        "startdate",
        "startsat",
        "after",
        "createdafter",
        "datefrom",
        "fromdate",
        "begin",
    ],
    &["until", "to", "end", "enddate", "endsat", "before", "createdbefore", "dateto", "todate", "duebefore"],
    &["asof", "date", "at", "now", "today"],
    &["reason", "why", "because", "note", "comment", "explanation"],
    &["name", "title", "label", "displayname"],
    &["title", "name", "heading", "summary", "subject"],
    &["description", "desc", "details", "summary"],
    &["depth", "maxdepth", "levels", "hops"],
    &["sortby", "sort", "orderby", "order", "sortfield"],
    &["sortdirection", "sortorder", "order", "direction", "dir"],
    &["relation", "relationship", "predicate", "rel", "type", "kind", "label"],
    &["from", "source", "sourceuri", "fromuri", "subject"],
    &["to", "target", "targeturi", "touri", "object"],
    &["confidence", "certainty", "score", "probability"],
    &["threshold", "minscore", "minsimilarity", "mincoverage", "cutoff"],
    &["mimetype", "contenttype", "mediatype", "format"],
    &["dryrun", "preview", "simulate", "checkonly"],
    &["filter", "filters", "where", "conditions", "match"],
];

/// Endings of a name that say only how the thing is named: `tableId`, `table_name` and `table` are one thing.
const ENDINGS: [&str; 5] = ["identifier", "name", "slug", "ids", "id"];

/// The argument that a caller means by a name that no argument has, if exactly one fits.
pub(super) fn intended<'a>(
    name: &str,
    properties: &'a Map<String, Value>,
    aliases: &[(&'static str, &'static str)],
    with_synonyms: bool,
) -> Option<&'a str> {
    let wanted = fold(name);
    let existing = |target: &str| properties.get_key_value(target).map(|(name, _)| name.as_str());
    if let Some((_, target)) = aliases.iter().find(|(alias, _)| fold(alias) == wanted) {
        return existing(target);
    }
    let matching = |is_match: &dyn Fn(&str) -> bool| {
        let mut matches = properties.keys().map(String::as_str).filter(|name| is_match(&fold(name)));
        matches.next().filter(|_| matches.next().is_none())
    };
    if let Some(found) = matching(&|folded| folded == wanted) {
        return Some(found);
    }
    if !with_synonyms {
        return None;
    }
    let stem = without_ending(&wanted);
    matching(&|folded| without_ending(folded) == stem).or_else(|| {
        matching(&|folded| {
            SYNONYMS.iter().any(|group| group.contains(&wanted.as_str()) && group.contains(&folded))
        })
    })
}

/// A name in lower case without separators.
pub(super) fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).flat_map(char::to_lowercase).collect()
}

/// A folded name without its ending, unless nothing would be left.
fn without_ending(name: &str) -> &str {
    let shortened = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    shortened.filter(|stem| !stem.is_empty()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(name: &str, properties: &[&str], expect: Option<&str>) {
        let properties: Map<String, Value> =
            properties.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        assert_eq!(intended(name, &properties, &[("row", "recordId")], true), expect, "{name}");
    }

    #[test]
    fn intended_ignores_case_and_separators() {
        check("table_id", &["environmentId", "tableId"], Some("tableId"));
        check("NodeID", &["node_id"], Some("node_id"));
        check("nodeID", &["node_id", "nodeId"], None);
    }

    #[test]
    fn intended_accepts_a_name_for_an_id() {
        check("tableName", &["environmentId", "tableId"], Some("tableId"));
        check("table", &["environmentId", "tableId"], Some("tableId"));
        check("project_slug", &["projectId", "tableId"], Some("projectId"));
        check("rune_name", &["rune", "site"], Some("rune"));
    }

    #[test]
    fn synonyms_need_exactly_one_argument() {
        check("max_results", &["query", "limit"], Some("limit"));
        check("top_k", &["limit"], Some("limit"));
        check("id", &["node_id", "reason"], Some("node_id"));
        check("id", &["tableId", "recordId"], Some("recordId"));
        check("order", &["sortBy", "sortDirection"], None);
        check("text", &["query", "content"], None);
        check("banana", &["query"], None);
    }

    #[test]
    fn alias_of_a_tool_precedes_shared_synonyms() {
        check("row", &["data", "recordId"], Some("recordId"));
        check("row", &["data"], None);
    }
}
