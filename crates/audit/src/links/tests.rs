//! Links behind a real resolver, between the addresses of a toy scheme.

use serde_json::{Value, json};

use quad_core::resolver::View;
use quad_core::scheme::{CompletionQuery, CompletionTarget};
use quad_core::{ChangeFeed as _, Kind, LinkIndex as _, PrincipalKind, Result};

use super::model::{LinkFixture, caller, fixtures};
use super::*;

async fn completion_values(
    fixture: &LinkFixture,
    caller: &Principal,
    template: &str,
    prefix: &str,
) -> Vec<String> {
    let context = Map::new();
    let query = CompletionQuery {
        target: CompletionTarget::Template(template),
        variable: "uri",
        prefix,
        context: &context,
    };
    fixture.resolver.complete(caller, View::All, query).await.unwrap().values
}

fn ids(document: &Value) -> Vec<&str> {
    document["links"].as_array().unwrap().iter().map(|link| link["id"].as_str().unwrap()).collect()
}

fn error_envelope(result: Result<Value>) -> String {
    serde_json::to_string(&result.unwrap_err().envelope()).unwrap()
}

#[test]
fn both_templates_are_well_formed() {
    assert_eq!(ROUTES.routes().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn link_is_listed_at_both_ends() {
    for fixture in fixtures().await {
        let agent = caller(&fixture.tenant, "agent_1", "a:read b:read");
        let sent =
            json!({"from": "toy://a/1", "to": "toy://b/2", "relation": "supports", "note": " since so "});
        let created = fixture.call(&agent, "link", sent).await.unwrap();
        assert_eq!((&created["result"], &created["note"]), (&json!("created"), &json!("since so")));
        let citing = fixture.read(&agent, "link://citing?uri=toy%3A%2F%2Fb%2F2").await.unwrap();
        assert_eq!(citing["uri"], "toy://b/2");
        assert_eq!(citing["links"].as_array().unwrap().len(), 1);
        let link = &citing["links"][0];
        assert_eq!(
            (&link["id"], &link["from"], &link["to"], &link["relation"], &link["created_by"]),
            (&created["id"], &json!("toy://a/1"), &json!("toy://b/2"), &json!("supports"), &json!("agent_1"))
        );
        assert_eq!(fixture.read(&agent, "link://from?uri=toy://a/1").await.unwrap()["links"][0], *link);
        assert!(ids(&fixture.read(&agent, "link://citing?uri=toy://a/1").await.unwrap()).is_empty());
        assert!(ids(&fixture.read(&agent, "link://from?uri=toy://b/2").await.unwrap()).is_empty());
        // All spellings of an address are equal.
        let non_canonical = json!({"from": "TOY://a/%31", "to": "toy://b/2", "relation": "supports"});
        let again = fixture.call(&agent, "link", non_canonical).await.unwrap();
        assert_eq!((&again["result"], &again["id"]), (&json!("unchanged"), &created["id"]));
        assert_eq!(
            ids(&fixture.read(&agent, "link://from?uri=toy%3A%2F%2Fa%2F%2531").await.unwrap()).len(),
            1
        );
        // Another relation is another link; without one the default is used.
        let other =
            fixture.call(&agent, "link", json!({"from": "toy://a/1", "to": "toy://b/2"})).await.unwrap();
        assert_eq!(other["relation"], "cites");
        let both = fixture.read(&agent, "link://citing?uri=toy://b/2").await.unwrap();
        assert_eq!(both["links"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_appends_one_event_and_repeat_is_unchanged() {
    for fixture in fixtures().await {
        let agent = caller(&fixture.tenant, "agent_1", "a:read b:read");
        let sent = json!({"from": "toy://a/1", "to": "toy://b/%32"});
        let before = fixture.last_sequence().await;
        fixture.call(&agent, "link", sent.clone()).await.unwrap();
        assert_eq!(fixture.last_sequence().await, before + 1, "the looks at both ends leave none");
        let event = fixture.event(before + 1).await;
        assert_eq!(event["inputs"]["to"], "toy://b/%32", "the event has the address as it was sent");
        assert!(event["outputs"]["link"].as_str().unwrap().starts_with("lnk_"));
        let version = fixture.version().await;
        fixture.call(&agent, "link", sent).await.unwrap();
        assert_eq!((fixture.last_sequence().await, fixture.version().await), (before + 2, version));
        fixture.read(&agent, "link://citing?uri=toy://b/2").await.unwrap();
        assert_eq!(fixture.last_sequence().await, before + 3);
        let refused = json!({"from": "toy://a/1", "to": "toy://b/99"});
        fixture.call(&agent, "link", refused).await.unwrap_err();
        assert_eq!(fixture.last_sequence().await, before + 4);
        assert_eq!(fixture.event(before + 4).await["outcome"], "refused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn link_is_hidden_when_an_end_is_not_readable() {
    for fixture in fixtures().await {
        let maker = caller(&fixture.tenant, "maker", "a:read b:read");
        let only_b = caller(&fixture.tenant, "only_b", "b:read");
        fixture.call(&maker, "link", json!({"from": "toy://a/1", "to": "toy://b/2"})).await.unwrap();
        fixture.call(&maker, "link", json!({"from": "toy://b/3", "to": "toy://b/2"})).await.unwrap();
        let page = fixture.read(&only_b, "link://citing?uri=toy://b/2").await.unwrap();
        assert_eq!(page["links"].as_array().unwrap().len(), 1);
        assert_eq!(page["links"][0]["from"], "toy://b/3");
        assert!(page.get("nextCursor").is_none());
        // A query about an address that the caller cannot read is refused like a read of it.
        let refused = fixture.read(&only_b, "link://from?uri=toy://a/1").await.unwrap_err();
        assert_eq!((refused.kind(), refused.detail("scope")), (Kind::Scope, Some(&json!("a:read"))));
        // A caller without the scope cannot tell existing from missing addresses.
        let links_from = |uri: &str| format!("link://from?uri={uri}");
        let existing = error_envelope(fixture.read(&only_b, &links_from("toy://a/1")).await);
        let unknown = error_envelope(fixture.read(&only_b, &links_from("toy://a/7")).await);
        assert_eq!(existing, unknown.replace("a/7", "a/1"));
        let link = |from: &str| json!({"from": from, "to": "toy://b/2"});
        let existing = error_envelope(fixture.call(&only_b, "link", link("toy://a/1")).await);
        let unknown = error_envelope(fixture.call(&only_b, "link", link("toy://a/7")).await);
        assert_eq!(existing, unknown.replace("a/7", "a/1"));
        // Completion returns only addresses of visible links.
        assert_eq!(
            completion_values(&fixture, &maker, FROM_TEMPLATE, "toy://").await,
            ["toy://b/3", "toy://a/1"]
        );
        assert_eq!(completion_values(&fixture, &only_b, FROM_TEMPLATE, "toy://").await, ["toy://b/3"]);
        assert!(completion_values(&fixture, &maker, CITING_TEMPLATE, "toy://a").await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_of_other_tenant_looks_like_missing() {
    for fixture in fixtures().await {
        let agent = caller(&fixture.tenant, "agent_1", "*:read");
        let other_tenant = quad_store::tenant::create(&fixture.test_store.store, "other").await.unwrap();
        let other_caller = caller(&other_tenant.id, "agent_1", "*:read");
        fixture.toy.add(&other_tenant.id, "b/50");
        let created =
            fixture.call(&agent, "link", json!({"from": "toy://a/1", "to": "toy://b/2"})).await.unwrap();
        for uri in ["link://citing?uri=toy://b/50", "link://from?uri=toy://b/50"] {
            let foreign = error_envelope(fixture.read(&agent, uri).await);
            let unknown = error_envelope(fixture.read(&agent, &uri.replace("50", "51")).await);
            assert_eq!(foreign, unknown.replace("51", "50"));
        }
        let link = |to: &str| json!({"from": "toy://a/1", "to": to});
        let foreign = error_envelope(fixture.call(&agent, "link", link("toy://b/50")).await);
        let unknown = error_envelope(fixture.call(&agent, "link", link("toy://b/51")).await);
        assert_eq!(foreign, unknown.replace("51", "50"));
        // The same addresses in another tenant have their own links, and ids are valid in one tenant only.
        fixture.toy.add(&other_tenant.id, "a/1");
        fixture.toy.add(&other_tenant.id, "b/2");
        assert!(ids(&fixture.read(&other_caller, "link://citing?uri=toy://b/2").await.unwrap()).is_empty());
        let foreign =
            error_envelope(fixture.call(&other_caller, "unlink", json!({"id": created["id"]})).await);
        let unknown = error_envelope(fixture.call(&other_caller, "unlink", json!({"id": "lnk_none"})).await);
        assert_eq!(foreign, unknown);
        assert_eq!(ids(&fixture.read(&agent, "link://citing?uri=toy://b/2").await.unwrap()).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn link_is_hidden_while_an_end_is_deleted() {
    for fixture in fixtures().await {
        let agent = caller(&fixture.tenant, "agent_1", "*:read");
        let reader = caller(&fixture.tenant, "agent_2", "*:read");
        let sent = json!({"from": "toy://a/1", "to": "toy://b/2"});
        let created = fixture.call(&agent, "link", sent.clone()).await.unwrap();
        fixture.toy.remove(&fixture.tenant, "a/1");
        let page = fixture.read(&agent, "link://citing?uri=toy://b/2").await.unwrap();
        assert_eq!(page, json!({"uri": "toy://b/2", "links": []}));
        assert_eq!(
            fixture.read(&agent, "link://from?uri=toy://a/1").await.unwrap_err().kind(),
            Kind::NotFound
        );
        let hidden = error_envelope(fixture.call(&reader, "unlink", json!({"id": created["id"]})).await);
        assert_eq!(hidden, error_envelope(fixture.call(&reader, "unlink", json!({"id": "lnk_none"})).await));
        fixture.toy.add(&fixture.tenant, "a/1");
        assert_eq!(ids(&fixture.read(&agent, "link://citing?uri=toy://b/2").await.unwrap()).len(), 1);
        // The author can remove the link while it is hidden.
        fixture.toy.remove(&fixture.tenant, "b/2");
        let removed = fixture.call(&agent, "unlink", sent).await.unwrap();
        assert_eq!((&removed["result"], &removed["id"]), (&json!("removed"), &created["id"]));
        fixture.toy.add(&fixture.tenant, "b/2");
        assert!(ids(&fixture.read(&agent, "link://citing?uri=toy://b/2").await.unwrap()).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_author_or_user_can_change_link() {
    for fixture in fixtures().await {
        let author = caller(&fixture.tenant, "author", "*:read");
        let other = caller(&fixture.tenant, "other", "*:read");
        let mut person = caller(&fixture.tenant, "person", "*:read");
        person.kind = PrincipalKind::User;
        let sent = |note: &str| json!({"from": "toy://a/1", "to": "toy://b/2", "note": note});
        let plain = json!({"from": "toy://a/1", "to": "toy://b/2"});
        let created = fixture.call(&author, "link", sent("first")).await.unwrap();
        for (tool, arguments) in [("link", sent("mine")), ("link", sent("")), ("unlink", plain.clone())] {
            let refused = fixture.call(&other, tool, arguments).await.unwrap_err();
            assert_eq!((refused.code(), refused.kind()), ("LINK_NOT_YOURS", Kind::Conflict), "{tool}");
        }
        assert_eq!(fixture.call(&other, "link", plain.clone()).await.unwrap()["note"], "first");
        assert_eq!(fixture.call(&other, "link", sent("first")).await.unwrap()["result"], "unchanged");
        assert_eq!(fixture.call(&author, "link", sent("second")).await.unwrap()["result"], "updated");
        assert_eq!(fixture.call(&author, "link", plain.clone()).await.unwrap()["note"], "second");
        let bare = fixture.call(&author, "link", sent("")).await.unwrap();
        assert!(bare["result"] == "updated" && bare.get("note").is_none());
        assert_eq!(fixture.call(&person, "link", sent("third")).await.unwrap()["id"], created["id"]);
        assert_eq!(
            fixture.call(&person, "unlink", json!({"id": created["id"]})).await.unwrap()["result"],
            "removed"
        );
        let not_found = fixture.call(&person, "unlink", plain).await.unwrap_err();
        assert_eq!((not_found.code(), not_found.kind()), ("NOT_FOUND", Kind::NotFound));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_arguments_return_code_and_hint() {
    for fixture in fixtures().await {
        let agent = caller(&fixture.tenant, "agent_1", "*:read");
        let link = |changes: Value| {
            let mut sent = json!({"from": "toy://a/1", "to": "toy://b/2"});
            sent.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            sent
        };
        let code = async |tool: &str, arguments: Value| {
            fixture.call(&agent, tool, arguments).await.unwrap_err().code().to_owned()
        };
        assert_eq!(code("link", link(json!({"to": "toy://a/%31"}))).await, "VALIDATION_ERROR");
        assert_eq!(code("link", link(json!({"relation": "Big Word"}))).await, "VALIDATION_ERROR");
        assert_eq!(code("link", link(json!({"note": "é".repeat(501)}))).await, "VALIDATION_ERROR");
        assert_eq!(code("link", link(json!({"note": "a\u{0}"}))).await, "VALIDATION_ERROR");
        assert_eq!(code("link", link(json!({"to": "nope://x"}))).await, "INVALID_URI");
        assert_eq!(code("link", link(json!({"to": ""}))).await, "INVALID_URI");
        assert_eq!(code("unlink", json!({})).await, "VALIDATION_ERROR");
        assert_eq!(
            code("unlink", json!({"id": "x", "from": "toy://a/1", "to": "toy://b/2"})).await,
            "VALIDATION_ERROR"
        );
        assert_eq!(code("unlink", json!({"id": "a b"})).await, "NOT_FOUND");
        let long = format!("toy://text?q={}", "x".repeat(limits::ADDRESS_BYTES_MAX));
        assert_eq!(code("link", link(json!({"to": long}))).await, "ADDRESS_TOO_LONG");
        let read = async |uri: &str| fixture.read(&agent, uri).await.unwrap_err();
        for uri in ["link://citing", "link://from", "link://from?uri="] {
            let refused = read(uri).await;
            assert_eq!((refused.kind(), refused.uri()), (Kind::BadInput, Some(uri)));
            assert!(refused.hint_text().unwrap().contains("?uri="));
        }
        assert_eq!(read("link://citing?uri=nope").await.code(), "INVALID_URI");
        assert_eq!(read("link://citing?uri=toy://b/2&cursor=x").await.code(), "INVALID_CURSOR");
        assert_eq!(read("link://from?uri=toy://b/2&cursor=x").await.code(), "INVALID_URI");
        let longest_note = "é".repeat(500);
        assert_eq!(
            fixture.call(&agent, "link", link(json!({"note": longest_note}))).await.unwrap()["note"],
            longest_note
        );
        // The longest address that can be queried, with every byte percent-encoded.
        let longest_uri = format!("toy://text?q={}", "é".repeat((limits::ADDRESS_BYTES_MAX - 14) / 6));
        fixture.call(&agent, "link", link(json!({"to": longest_uri}))).await.unwrap();
        let canonical = fixture.resolver.parse_uri(&longest_uri).unwrap();
        let page_uri = links_uri(Direction::To, &LinkEnd::new(canonical.canonical()));
        assert_eq!(ids(&fixture.read(&agent, &page_uri).await.unwrap()).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn links_from_one_address_are_limited() {
    for fixture in fixtures().await {
        let agent = caller(&fixture.tenant, "agent_1", "*:read");
        let to = |number: usize| format!("toy://text?q={number}");
        for number in 0..limits::LINKS_FROM_MAX {
            fixture.call(&agent, "link", json!({"from": "toy://a/1", "to": to(number)})).await.unwrap();
        }
        let more = json!({"from": "toy://a/1", "to": to(limits::LINKS_FROM_MAX)});
        let refused = fixture.call(&agent, "link", more.clone()).await.unwrap_err();
        assert_eq!((refused.code(), refused.kind()), ("TOO_MANY_LINKS", Kind::Limit));
        let all = fixture.read(&agent, "link://from?uri=toy://a/1").await.unwrap();
        assert_eq!(ids(&all).len(), limits::LINKS_FROM_MAX);
        assert_eq!(all["links"][0]["to"], to(limits::LINKS_FROM_MAX - 1), "the newest is first");
        // An existing link can be repeated, and after a removal there is room.
        assert_eq!(
            fixture.call(&agent, "link", json!({"from": "toy://a/1", "to": to(0)})).await.unwrap()["result"],
            "unchanged"
        );
        fixture.call(&agent, "unlink", json!({"from": "toy://a/1", "to": to(0)})).await.unwrap();
        fixture.call(&agent, "link", more).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_page_has_cursor_after_scan_limit() {
    for fixture in fixtures().await {
        let maker = caller(&fixture.tenant, "maker", "*:read");
        let only_b = caller(&fixture.tenant, "only_b", "b:read");
        // A page of this fixture scans seven links.
        fixture.call(&maker, "link", json!({"from": "toy://b/3", "to": "toy://b/2"})).await.unwrap();
        for number in 1..=8 {
            fixture.toy.add(&fixture.tenant, &format!("a/{number}"));
            let from = format!("toy://a/{number}");
            fixture.call(&maker, "link", json!({"from": from, "to": "toy://b/2"})).await.unwrap();
        }
        let first = fixture.read(&only_b, "link://citing?uri=toy://b/2").await.unwrap();
        assert!(ids(&first).is_empty());
        let cursor = first["nextCursor"].as_str().unwrap();
        let next = format!("link://citing?uri=toy://b/2&cursor={cursor}");
        let second = fixture.read(&only_b, &next).await.unwrap();
        assert_eq!(second["links"][0]["from"], "toy://b/3");
        assert!(second.get("nextCursor").is_none());
        // A cursor is bound to one address and one tenant.
        let other_uri = next.replace("b/2", "b/3");
        assert_eq!(fixture.read(&only_b, &other_uri).await.unwrap_err().code(), "INVALID_CURSOR");
        let other_tenant = quad_store::tenant::create(&fixture.test_store.store, "other").await.unwrap();
        fixture.toy.add(&other_tenant.id, "b/2");
        let other_caller = caller(&other_tenant.id, "stranger", "*:read");
        assert_eq!(fixture.read(&other_caller, &next).await.unwrap_err().code(), "INVALID_CURSOR");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn links_between_link_uris_do_not_recurse() {
    for fixture in fixtures().await {
        let agent = caller(&fixture.tenant, "agent_1", "*:read");
        let (from_a, from_b) = ("link://from?uri=toy://a/1", "link://from?uri=toy%3A%2F%2Fb%2F2");
        fixture.call(&agent, "link", json!({"from": "toy://a/1", "to": from_b})).await.unwrap();
        fixture.call(&agent, "link", json!({"from": "toy://b/2", "to": from_a})).await.unwrap();
        let page = fixture.read(&agent, from_a).await.unwrap();
        assert_eq!(page["links"][0]["to"], "link://from?uri=toy%3A%2F%2Fb%2F2");
        // The address inside such an address is canonicalised as well.
        let non_canonical = json!({"from": "toy://a/1", "to": "link://from?uri=TOY%3A%2F%2Fb%2F%2532"});
        assert_eq!(fixture.call(&agent, "link", non_canonical).await.unwrap()["result"], "unchanged");
        // A caller that can read the inner address can read it.
        let only_a = caller(&fixture.tenant, "only_a", "a:read");
        assert!(ids(&fixture.read(&only_a, from_a).await.unwrap()).is_empty());
        assert_eq!(fixture.read(&only_a, from_b).await.unwrap_err().kind(), Kind::Scope);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriber_is_notified_only_of_visible_links() {
    for fixture in fixtures().await {
        let maker = caller(&fixture.tenant, "maker", "*:read");
        let only_b = caller(&fixture.tenant, "only_b", "b:read");
        let uri = "link://citing?uri=toy://b/2";
        let read_set_of =
            async |caller: &Principal| fixture.resolver.read_set_of(caller, View::All, uri).await.unwrap();
        let mut feed = fixture.test_store.store.subscribe(&fixture.tenant).await.unwrap();
        let visible_hashes = async || {
            (read_set_of(&maker).await.visible_hash.clone(), read_set_of(&only_b).await.visible_hash.clone())
        };
        let empty = visible_hashes().await;
        let before = read_set_of(&only_b).await;
        let hidden_link = json!({"from": "toy://a/1", "to": "toy://b/2"});
        fixture.call(&maker, "link", hidden_link.clone()).await.unwrap();
        let change = feed.recv().await.unwrap();
        assert!(before.is_invalidated_by(&change.tags) && before.may_notify_on(&change.tags));
        assert!(!before.notifies_on(&change.tags));
        let linked = visible_hashes().await;
        assert_ne!(linked.0, empty.0, "a subscriber that sees it is notified");
        assert_eq!(linked.1, empty.1, "other subscribers are not");
        fixture.call(&maker, "unlink", hidden_link).await.unwrap();
        let unlinked = visible_hashes().await;
        assert!(unlinked.0 != linked.0 && unlinked.0 != empty.0, "its hash differs from both earlier ones");
        assert_eq!(unlinked.1, empty.1);
        let visible_link = json!({"from": "toy://b/3", "to": "toy://b/2"});
        fixture.call(&maker, "link", visible_link.clone()).await.unwrap();
        let linked = visible_hashes().await;
        assert_ne!(linked.1, empty.1);
        fixture.call(&maker, "unlink", visible_link).await.unwrap();
        assert!(![&linked.1, &empty.1].contains(&&visible_hashes().await.1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn links_of_returns_both_directions() {
    for fixture in fixtures().await {
        let maker = caller(&fixture.tenant, "maker", "*:read");
        let only_b = caller(&fixture.tenant, "only_b", "b:read");
        for (from, to) in [("a/1", "b/2"), ("b/3", "b/2"), ("b/2", "a/1")] {
            let (from, to) = (format!("toy://{from}"), format!("toy://{to}"));
            fixture.call(&maker, "link", json!({"from": from, "to": to})).await.unwrap();
        }
        let page = fixture.links.links_of(&maker, "toy://b/2").await.unwrap();
        let ends: Vec<(&str, &str)> = page
            .links
            .iter()
            .map(|link| (link["from"].as_str().unwrap(), link["to"].as_str().unwrap()))
            .collect();
        assert_eq!(ends[0], ("toy://b/2", "toy://a/1"), "what it cites comes first");
        assert_eq!(ends.len(), 3);
        assert!(page.read_set.tags.is_empty() && !page.read_set.hidden_tags.is_empty() && !page.is_truncated);
        assert_eq!(fixture.links.links_of(&only_b, "toy://b/2").await.unwrap().links.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_identical_links_insert_once() {
    for fixture in fixtures().await {
        let fixture = Arc::new(fixture);
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..16 {
            let fixture = fixture.clone();
            tasks.spawn(async move {
                let agent = caller(&fixture.tenant, &format!("agent_{number}"), "*:read");
                let created =
                    fixture.call(&agent, "link", json!({"from": "toy://a/1", "to": "toy://b/2"})).await;
                created.unwrap()["result"].as_str().unwrap().to_owned()
            });
        }
        let results = tasks.join_all().await;
        assert_eq!(results.iter().filter(|result| *result == "created").count(), 1, "{results:?}");
        let agent = caller(&fixture.tenant, "agent_0", "*:read");
        assert_eq!(ids(&fixture.read(&agent, "link://citing?uri=toy://b/2").await.unwrap()).len(), 1);
    }
}
