//! Links behind a real resolver, between the addresses of a toy scheme.

use serde_json::{Value, json};

use quad_core::resolver::View;
use quad_core::scheme::{CompletionQuery, CompletionTarget};
use quad_core::{LinkIndex as _, ChangeFeed as _, Kind, PrincipalKind, Result};

use super::model::{World, caller, worlds};
use super::*;

async fn completed(world: &World, caller: &Principal, template: &str, prefix: &str) -> Vec<String> {
    let context = Map::new();
    let query =
        CompletionQuery { target: CompletionTarget::Template(template), variable: "uri", prefix, context: &context };
    world.resolver.complete(caller, View::All, query).await.unwrap().values
}

fn ids(document: &Value) -> Vec<&str> {
    document["links"].as_array().unwrap().iter().map(|link| link["id"].as_str().unwrap()).collect()
}

fn envelope(result: Result<Value>) -> String {
    serde_json::to_string(&result.unwrap_err().envelope()).unwrap()
}

#[test]
fn both_templates_are_well_formed() {
    assert!(spec(CITING).is_ok() && spec(FROM).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_shows_at_both_ends() {
    for world in worlds().await {
        let agent = caller(&world.tenant, "agent_1", "a:read b:read");
        let sent =
            json!({"from": "toy://a/1", "to": "toy://b/2", "relation": "supports", "note": " since so "});
        let made = world.call(&agent, "link", sent).await.unwrap();
        assert_eq!((&made["result"], &made["note"]), (&json!("created"), &json!("since so")));
        let citing = world.read(&agent, "link://citing?uri=toy%3A%2F%2Fb%2F2").await.unwrap();
        assert_eq!(citing["uri"], "toy://b/2");
        assert_eq!(citing["links"].as_array().unwrap().len(), 1);
        let link = &citing["links"][0];
        assert_eq!(
            (&link["id"], &link["from"], &link["to"], &link["relation"], &link["created_by"]),
            (&made["id"], &json!("toy://a/1"), &json!("toy://b/2"), &json!("supports"), &json!("agent_1"))
        );
        assert_eq!(world.read(&agent, "link://from?uri=toy://a/1").await.unwrap()["links"][0], *link);
        assert!(ids(&world.read(&agent, "link://citing?uri=toy://a/1").await.unwrap()).is_empty());
        assert!(ids(&world.read(&agent, "link://from?uri=toy://b/2").await.unwrap()).is_empty());
        // However an address is spelt, it is one.
        let spelt = json!({"from": "TOY://a/%31", "to": "toy://b/2", "relation": "supports"});
        let again = world.call(&agent, "link", spelt).await.unwrap();
        assert_eq!((&again["result"], &again["id"]), (&json!("unchanged"), &made["id"]));
        assert_eq!(ids(&world.read(&agent, "link://from?uri=toy%3A%2F%2Fa%2F%2531").await.unwrap()).len(), 1);
        // Another relation is another link; the default is named.
        let other =
            world.call(&agent, "link", json!({"from": "toy://a/1", "to": "toy://b/2"})).await.unwrap();
        assert_eq!(other["relation"], "cites");
        let both = world.read(&agent, "link://citing?uri=toy://b/2").await.unwrap();
        assert_eq!(both["links"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_is_one_event_and_a_link_again_is_no_change() {
    for world in worlds().await {
        let agent = caller(&world.tenant, "agent_1", "a:read b:read");
        let sent = json!({"from": "toy://a/1", "to": "toy://b/%32"});
        let before = world.end().await;
        world.call(&agent, "link", sent.clone()).await.unwrap();
        assert_eq!(world.end().await, before + 1, "the looks at both ends leave none");
        let event = world.event(before + 1).await;
        assert_eq!(event["inputs"]["to"], "toy://b/%32", "the spelling that was sent is in the trail");
        assert!(event["outputs"]["link"].as_str().unwrap().starts_with("lnk_"));
        let version = world.version().await;
        world.call(&agent, "link", sent).await.unwrap();
        assert_eq!((world.end().await, world.version().await), (before + 2, version));
        world.read(&agent, "link://citing?uri=toy://b/2").await.unwrap();
        assert_eq!(world.end().await, before + 3);
        let refused = json!({"from": "toy://a/1", "to": "toy://b/99"});
        world.call(&agent, "link", refused).await.unwrap_err();
        assert_eq!(world.end().await, before + 4);
        assert_eq!(world.event(before + 4).await["outcome"], "refused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_read_an_end_sees_nothing_of_the_link() {
    for world in worlds().await {
        let maker = caller(&world.tenant, "maker", "a:read b:read");
        let only_b = caller(&world.tenant, "only_b", "b:read");
        world.call(&maker, "link", json!({"from": "toy://a/1", "to": "toy://b/2"})).await.unwrap();
        world.call(&maker, "link", json!({"from": "toy://b/3", "to": "toy://b/2"})).await.unwrap();
        let seen = world.read(&only_b, "link://citing?uri=toy://b/2").await.unwrap();
        assert_eq!(seen["links"].as_array().unwrap().len(), 1);
        assert_eq!(seen["links"][0]["from"], "toy://b/3");
        assert!(seen.get("nextCursor").is_none());
        // To ask about what one cannot read is to read it.
        let refused = world.read(&only_b, "link://from?uri=toy://a/1").await.unwrap_err();
        assert_eq!((refused.kind(), refused.detail("scope")), (Kind::Scope, Some(&json!("a:read"))));
        // Nor does a scope tell what exists.
        let ask = |uri: &str| format!("link://from?uri={uri}");
        let here = envelope(world.read(&only_b, &ask("toy://a/1")).await);
        let nowhere = envelope(world.read(&only_b, &ask("toy://a/7")).await);
        assert_eq!(here, nowhere.replace("a/7", "a/1"));
        let link = |from: &str| json!({"from": from, "to": "toy://b/2"});
        let here = envelope(world.call(&only_b, "link", link("toy://a/1")).await);
        let nowhere = envelope(world.call(&only_b, "link", link("toy://a/7")).await);
        assert_eq!(here, nowhere.replace("a/7", "a/1"));
        // Completion offers addresses of links that are seen.
        assert_eq!(completed(&world, &maker, FROM, "toy://").await, ["toy://b/3", "toy://a/1"]);
        assert_eq!(completed(&world, &only_b, FROM, "toy://").await, ["toy://b/3"]);
        assert!(completed(&world, &maker, CITING, "toy://a").await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenant_and_nothing_at_all_look_alike() {
    for world in worlds().await {
        let agent = caller(&world.tenant, "agent_1", "*:read");
        let other = quad_store::tenant::create(&world.test.store, "other").await.unwrap();
        let stranger = caller(&other.id, "agent_1", "*:read");
        world.toy.add(&other.id, "b/50");
        let made = world.call(&agent, "link", json!({"from": "toy://a/1", "to": "toy://b/2"})).await.unwrap();
        for uri in ["link://citing?uri=toy://b/50", "link://from?uri=toy://b/50"] {
            let theirs = envelope(world.read(&agent, uri).await);
            let none = envelope(world.read(&agent, &uri.replace("50", "51")).await);
            assert_eq!(theirs, none.replace("51", "50"));
        }
        let link = |to: &str| json!({"from": "toy://a/1", "to": to});
        let theirs = envelope(world.call(&agent, "link", link("toy://b/50")).await);
        let none = envelope(world.call(&agent, "link", link("toy://b/51")).await);
        assert_eq!(theirs, none.replace("51", "50"));
        // The same addresses in another tenant have their own links, and ids do not cross.
        world.toy.add(&other.id, "a/1");
        world.toy.add(&other.id, "b/2");
        assert!(ids(&world.read(&stranger, "link://citing?uri=toy://b/2").await.unwrap()).is_empty());
        let theirs = envelope(world.call(&stranger, "unlink", json!({"id": made["id"]})).await);
        let none = envelope(world.call(&stranger, "unlink", json!({"id": "lnk_none"})).await);
        assert_eq!(theirs, none);
        assert_eq!(ids(&world.read(&agent, "link://citing?uri=toy://b/2").await.unwrap()).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_whose_end_is_gone_is_not_shown_and_comes_back_with_it() {
    for world in worlds().await {
        let agent = caller(&world.tenant, "agent_1", "*:read");
        let reader = caller(&world.tenant, "agent_2", "*:read");
        let sent = json!({"from": "toy://a/1", "to": "toy://b/2"});
        let made = world.call(&agent, "link", sent.clone()).await.unwrap();
        world.toy.remove(&world.tenant, "a/1");
        let seen = world.read(&agent, "link://citing?uri=toy://b/2").await.unwrap();
        assert_eq!(seen, json!({"uri": "toy://b/2", "links": []}));
        assert_eq!(world.read(&agent, "link://from?uri=toy://a/1").await.unwrap_err().kind(), Kind::NotFound);
        let hidden = envelope(world.call(&reader, "unlink", json!({"id": made["id"]})).await);
        assert_eq!(hidden, envelope(world.call(&reader, "unlink", json!({"id": "lnk_none"})).await));
        world.toy.add(&world.tenant, "a/1");
        assert_eq!(ids(&world.read(&agent, "link://citing?uri=toy://b/2").await.unwrap()).len(), 1);
        // Its author may be rid of it while it is not seen.
        world.toy.remove(&world.tenant, "b/2");
        let removed = world.call(&agent, "unlink", sent).await.unwrap();
        assert_eq!((&removed["result"], &removed["id"]), (&json!("removed"), &made["id"]));
        world.toy.add(&world.tenant, "b/2");
        assert!(ids(&world.read(&agent, "link://citing?uri=toy://b/2").await.unwrap()).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_belongs_to_its_author_and_to_people() {
    for world in worlds().await {
        let author = caller(&world.tenant, "author", "*:read");
        let other = caller(&world.tenant, "other", "*:read");
        let mut person = caller(&world.tenant, "person", "*:read");
        person.kind = PrincipalKind::User;
        let sent = |note: &str| json!({"from": "toy://a/1", "to": "toy://b/2", "note": note});
        let plain = json!({"from": "toy://a/1", "to": "toy://b/2"});
        let made = world.call(&author, "link", sent("first")).await.unwrap();
        for (tool, arguments) in [("link", sent("mine")), ("link", sent("")), ("unlink", plain.clone())] {
            let refused = world.call(&other, tool, arguments).await.unwrap_err();
            assert_eq!((refused.code(), refused.kind()), ("LINK_NOT_YOURS", Kind::Conflict), "{tool}");
        }
        assert_eq!(world.call(&other, "link", plain.clone()).await.unwrap()["note"], "first");
        assert_eq!(world.call(&other, "link", sent("first")).await.unwrap()["result"], "unchanged");
        assert_eq!(world.call(&author, "link", sent("second")).await.unwrap()["result"], "updated");
        assert_eq!(world.call(&author, "link", plain.clone()).await.unwrap()["note"], "second");
        let bare = world.call(&author, "link", sent("")).await.unwrap();
        assert!(bare["result"] == "updated" && bare.get("note").is_none());
        assert_eq!(world.call(&person, "link", sent("third")).await.unwrap()["id"], made["id"]);
        assert_eq!(
            world.call(&person, "unlink", json!({"id": made["id"]})).await.unwrap()["result"],
            "removed"
        );
        let gone = world.call(&person, "unlink", plain).await.unwrap_err();
        assert_eq!((gone.code(), gone.kind()), ("NOT_FOUND", Kind::NotFound));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_with_what_would() {
    for world in worlds().await {
        let agent = caller(&world.tenant, "agent_1", "*:read");
        let link = |changes: Value| {
            let mut sent = json!({"from": "toy://a/1", "to": "toy://b/2"});
            sent.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            sent
        };
        let code = async |tool: &str, arguments: Value| {
            world.call(&agent, tool, arguments).await.unwrap_err().code().to_owned()
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
        let long = format!("toy://text?q={}", "x".repeat(limits::ADDRESS_BYTES));
        assert_eq!(code("link", link(json!({"to": long}))).await, "ADDRESS_TOO_LONG");
        let read = async |uri: &str| world.read(&agent, uri).await.unwrap_err();
        for uri in ["link://citing", "link://from", "link://from?uri="] {
            let refused = read(uri).await;
            assert_eq!((refused.kind(), refused.uri()), (Kind::BadInput, Some(uri)));
            assert!(refused.hint_text().unwrap().contains("?uri="));
        }
        assert_eq!(read("link://citing?uri=nope").await.code(), "INVALID_URI");
        assert_eq!(read("link://citing?uri=toy://b/2&cursor=x").await.code(), "INVALID_CURSOR");
        assert_eq!(read("link://from?uri=toy://b/2&cursor=x").await.code(), "INVALID_URI");
        let most = "é".repeat(500);
        assert_eq!(world.call(&agent, "link", link(json!({"note": most}))).await.unwrap()["note"], most);
        // An address that a page can be asked about, however it has to be encoded.
        let wide = format!("toy://text?q={}", "é".repeat((limits::ADDRESS_BYTES - 14) / 6));
        world.call(&agent, "link", link(json!({"to": wide}))).await.unwrap();
        let canonical = world.resolver.parse_uri(&wide).unwrap();
        let asked = question(Direction::To, &End::new(canonical.canonical()));
        assert_eq!(ids(&world.read(&agent, &asked).await.unwrap()).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_starts_as_many_links_as_one_answer_shows() {
    for world in worlds().await {
        let agent = caller(&world.tenant, "agent_1", "*:read");
        let to = |number: usize| format!("toy://text?q={number}");
        for number in 0..limits::LINKS_FROM {
            world.call(&agent, "link", json!({"from": "toy://a/1", "to": to(number)})).await.unwrap();
        }
        let more = json!({"from": "toy://a/1", "to": to(limits::LINKS_FROM)});
        let refused = world.call(&agent, "link", more.clone()).await.unwrap_err();
        assert_eq!((refused.code(), refused.kind()), ("TOO_MANY_LINKS", Kind::Limit));
        let all = world.read(&agent, "link://from?uri=toy://a/1").await.unwrap();
        assert_eq!(ids(&all).len(), limits::LINKS_FROM);
        assert_eq!(all["links"][0]["to"], to(limits::LINKS_FROM - 1), "the newest is first");
        // One that is there can be had again, and with one less there is room.
        assert_eq!(
            world.call(&agent, "link", json!({"from": "toy://a/1", "to": to(0)})).await.unwrap()["result"],
            "unchanged"
        );
        world.call(&agent, "unlink", json!({"from": "toy://a/1", "to": to(0)})).await.unwrap();
        world.call(&agent, "link", more).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_page_goes_on_when_it_has_looked_at_its_share() {
    for world in worlds().await {
        let maker = caller(&world.tenant, "maker", "*:read");
        let only_b = caller(&world.tenant, "only_b", "b:read");
        // Seven are looked at in a page of this world.
        world.call(&maker, "link", json!({"from": "toy://b/3", "to": "toy://b/2"})).await.unwrap();
        for number in 1..=8 {
            world.toy.add(&world.tenant, &format!("a/{number}"));
            let from = format!("toy://a/{number}");
            world.call(&maker, "link", json!({"from": from, "to": "toy://b/2"})).await.unwrap();
        }
        let first = world.read(&only_b, "link://citing?uri=toy://b/2").await.unwrap();
        assert!(ids(&first).is_empty());
        let cursor = first["nextCursor"].as_str().unwrap();
        let next = format!("link://citing?uri=toy://b/2&cursor={cursor}");
        let second = world.read(&only_b, &next).await.unwrap();
        assert_eq!(second["links"][0]["from"], "toy://b/3");
        assert!(second.get("nextCursor").is_none());
        // A cursor is of one address and one tenant.
        let other = next.replace("b/2", "b/3");
        assert_eq!(world.read(&only_b, &other).await.unwrap_err().code(), "INVALID_CURSOR");
        let tenant = quad_store::tenant::create(&world.test.store, "other").await.unwrap();
        world.toy.add(&tenant.id, "b/2");
        let stranger = caller(&tenant.id, "stranger", "*:read");
        assert_eq!(world.read(&stranger, &next).await.unwrap_err().code(), "INVALID_CURSOR");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn links_of_links_end() {
    for world in worlds().await {
        let agent = caller(&world.tenant, "agent_1", "*:read");
        let (one, two) = ("link://from?uri=toy://a/1", "link://from?uri=toy%3A%2F%2Fb%2F2");
        world.call(&agent, "link", json!({"from": "toy://a/1", "to": two})).await.unwrap();
        world.call(&agent, "link", json!({"from": "toy://b/2", "to": one})).await.unwrap();
        let seen = world.read(&agent, one).await.unwrap();
        assert_eq!(seen["links"][0]["to"], "link://from?uri=toy%3A%2F%2Fb%2F2");
        // What is asked about within such an address is spelt canonically as well.
        let spelt = json!({"from": "toy://a/1", "to": "link://from?uri=TOY%3A%2F%2Fb%2F%2532"});
        assert_eq!(world.call(&agent, "link", spelt).await.unwrap()["result"], "unchanged");
        // And read by whoever can read that.
        let only_a = caller(&world.tenant, "only_a", "a:read");
        assert!(ids(&world.read(&only_a, one).await.unwrap()).is_empty());
        assert_eq!(world.read(&only_a, two).await.unwrap_err().kind(), Kind::Scope);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_is_woken_by_what_it_sees() {
    for world in worlds().await {
        let maker = caller(&world.tenant, "maker", "*:read");
        let only_b = caller(&world.tenant, "only_b", "b:read");
        let uri = "link://citing?uri=toy://b/2";
        let basis = async |caller: &Principal| world.resolver.read_set_of(caller, View::All, uri).await.unwrap();
        let mut feed = world.test.store.subscribe(&world.tenant).await.unwrap();
        let shows = async || (basis(&maker).await.visible_hash.clone(), basis(&only_b).await.visible_hash.clone());
        let empty = shows().await;
        let before = basis(&only_b).await;
        let hidden = json!({"from": "toy://a/1", "to": "toy://b/2"});
        world.call(&maker, "link", hidden.clone()).await.unwrap();
        let change = feed.recv().await.unwrap();
        assert!(before.is_invalidated_by(&change.tags) && before.may_notify_on(&change.tags));
        assert!(!before.notifies_on(&change.tags));
        let linked = shows().await;
        assert_ne!(linked.0, empty.0, "who sees it hears of it");
        assert_eq!(linked.1, empty.1, "who does not, does not");
        world.call(&maker, "unlink", hidden).await.unwrap();
        let unlinked = shows().await;
        assert!(unlinked.0 != linked.0 && unlinked.0 != empty.0, "it never shows again what it showed");
        assert_eq!(unlinked.1, empty.1);
        let open = json!({"from": "toy://b/3", "to": "toy://b/2"});
        world.call(&maker, "link", open.clone()).await.unwrap();
        let linked = shows().await;
        assert_ne!(linked.1, empty.1);
        world.call(&maker, "unlink", open).await.unwrap();
        assert!(![&linked.1, &empty.1].contains(&&shows().await.1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_directions_are_an_address_s_citations() {
    for world in worlds().await {
        let maker = caller(&world.tenant, "maker", "*:read");
        let only_b = caller(&world.tenant, "only_b", "b:read");
        for (from, to) in [("a/1", "b/2"), ("b/3", "b/2"), ("b/2", "a/1")] {
            let (from, to) = (format!("toy://{from}"), format!("toy://{to}"));
            world.call(&maker, "link", json!({"from": from, "to": to})).await.unwrap();
        }
        let cited = world.links.links_of(&maker, "toy://b/2").await.unwrap();
        let ends: Vec<(&str, &str)> = cited
            .links
            .iter()
            .map(|link| (link["from"].as_str().unwrap(), link["to"].as_str().unwrap()))
            .collect();
        assert_eq!(ends[0], ("toy://b/2", "toy://a/1"), "what it cites comes first");
        assert_eq!(ends.len(), 3);
        assert!(cited.read_set.tags.is_empty() && !cited.read_set.hidden_tags.is_empty() && !cited.is_truncated);
        assert_eq!(world.links.links_of(&only_b, "toy://b/2").await.unwrap().links.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_link_from_many_at_once_is_one() {
    for world in worlds().await {
        let world = Arc::new(world);
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..16 {
            let world = world.clone();
            tasks.spawn(async move {
                let agent = caller(&world.tenant, &format!("agent_{number}"), "*:read");
                let made = world.call(&agent, "link", json!({"from": "toy://a/1", "to": "toy://b/2"})).await;
                made.unwrap()["result"].as_str().unwrap().to_owned()
            });
        }
        let results = tasks.join_all().await;
        assert_eq!(results.iter().filter(|result| *result == "created").count(), 1, "{results:?}");
        let agent = caller(&world.tenant, "agent_0", "*:read");
        assert_eq!(ids(&world.read(&agent, "link://citing?uri=toy://b/2").await.unwrap()).len(), 1);
    }
}
