//! Pages from outside: what is listed, what is rendered, what is refused, and that no answer is old.

use std::sync::Arc;
use std::time::Duration;

use quad_core::{Change, Feed as _, Kind};
use serde_json::json;

use crate::world::{hashes, worlds};

const SITE: (&str, &str) = ("refrakt.config.json", r#"{"site": {"contentDir": "./content"}}"#);
const HOME: (&str, &str) = (
    "content/index.md",
    "---\ntitle: Harbour\n---\n# Welcome\n\n{% hint %}\nAt {% $page.url %}.\n{% /hint %}\n",
);
const BERTHS: (&str, &str) = ("content/docs/01-berths.md", "# Berths\n\nFree.\n");

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_listed_and_rendered_and_the_folder_stays_untouched() {
    let broken = ("content/broken.md", "---\ntitle: [\n---\n# Still here\n");
    for world in worlds(&[SITE, HOME, BERTHS, broken]).await {
        let before = hashes(world.folder.path());
        let index = world.read("refrakt://pages/index").await.unwrap();
        let urls: Vec<&str> =
            index["pages"].as_array().unwrap().iter().map(|page| page["url"].as_str().unwrap()).collect();
        assert_eq!(urls, ["/", "/broken", "/docs/berths"]);
        assert_eq!(index["pages"][0]["runes"], json!(["hint"]));
        assert!(index["pages"][1]["problem"]["line"].as_u64().unwrap() >= 2, "{index}");
        assert_eq!(world.call("refrakt.pages", json!({})).await.unwrap(), index);

        let home = world.read("refrakt://pages//").await.unwrap();
        assert_eq!((home["title"].as_str(), home["file"].as_str()), (Some("Harbour"), Some("index.md")));
        let html = home["html"].as_str().unwrap();
        // A variable is a text of its own, on a line of its own.
        let words: String = html.split_whitespace().collect();
        assert!(html.contains("rf-hint") && words.contains("At/."), "{html}");
        assert!(home["selectors"].as_array().unwrap().contains(&json!(".rf-hint")));
        assert_eq!(home["headings"], json!([{"level": 1, "text": "Welcome", "id": "welcome"}]));
        assert_eq!(world.call("refrakt.page", json!({"url": "/"})).await.unwrap(), home);
        let broken = world.read("refrakt://pages/broken").await.unwrap();
        assert!(broken["html"].as_str().unwrap().contains("Still here") && broken["problem"].is_object());
        assert_eq!(broken["frontmatter"], json!({}));
        for same in ["refrakt://pages/docs/berths", "refrakt://pages//docs/berths?site=main"] {
            assert_eq!(world.read(same).await.unwrap()["title"], "Berths", "{same}");
        }
        assert_eq!(hashes(world.folder.path()), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_refused_with_a_way_on() {
    for world in worlds(&[SITE, BERTHS]).await {
        let error = world.read("refrakt://pages/docs/brths").await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (Kind::NotFound, "NOT_FOUND"));
        assert!(error.next_step().unwrap().contains("/docs/berths"), "{error:?}");
        for traversal in
            ["refrakt://pages/../refrakt.config.json", "refrakt://pages/%2e%2e/refrakt.config.json"]
        {
            assert!(world.read(traversal).await.is_err(), "{traversal}");
        }
        let url = json!({"url": "../refrakt.config.json"});
        assert_eq!(world.call("refrakt.page", url).await.unwrap_err().code(), "NOT_FOUND");
        for (config, code, named) in [
            (r#"{"site": {"contentDir": "../elsewhere"}}"#, "CONTENT_DIR_MISSING", "../elsewhere"),
            (r#"{"site": {"contentDir": "nowhere"}}"#, "CONTENT_DIR_MISSING", "nowhere"),
            (r#"{"site": {"theme": "base"}}"#, "CONTENT_DIR_MISSING", "main"),
            (r#"{"sites": {"a": {}, "b": {}}}"#, "SITE_AMBIGUOUS", "a"),
            ("{}", "SITE_CONFIG_MISSING", "site"),
        ] {
            world.save("refrakt.config.json", config);
            for uri in ["refrakt://pages/index", "refrakt://pages/docs/berths"] {
                let error = world.read(uri).await.unwrap_err();
                assert_eq!(error.code(), code, "{config}");
                assert!(error.message().contains(named), "{config}: {error:?}");
            }
        }
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn links_out_of_the_project_are_not_followed() {
    for world in worlds(&[SITE, BERTHS, ("refrakt.secret", "x")]).await {
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("secret.md"), "# Secret").unwrap();
        let content = world.folder.path().join("content");
        std::os::unix::fs::symlink(elsewhere.path(), content.join("out")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("secret.md"), content.join("s.md")).unwrap();
        for uri in ["refrakt://pages/out/secret", "refrakt://pages/s"] {
            assert_eq!(world.read(uri).await.unwrap_err().code(), "NOT_FOUND", "{uri}");
        }
        std::fs::remove_dir_all(&content).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &content).unwrap();
        assert_eq!(world.read("refrakt://pages/secret").await.unwrap_err().code(), "CONTENT_DIR_MISSING");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_never_stale_and_an_unchanged_one_is_answered_from_memory() {
    for world in worlds(&[SITE, BERTHS]).await {
        for round in 0..20 {
            world.save("content/docs/01-berths.md", &format!("# Round {}\n", round % 2));
            let title = format!("Round {}", round % 2);
            assert_eq!(world.read("refrakt://pages/docs/berths").await.unwrap()["title"], title.as_str());
            let index = world.read("refrakt://pages/index").await.unwrap();
            assert_eq!(index["pages"][0]["title"], title.as_str(), "round {round}");
        }
        world.save("content/docs/01-berths.md", "---\nslug: moved\n---\n# Moved\n");
        assert!(world.read("refrakt://pages/docs/berths").await.is_err());
        assert_eq!(world.read("refrakt://pages/moved").await.unwrap()["title"], "Moved");
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        for path in ["content/docs/01-berths.md", "content/docs", "content"] {
            std::fs::File::open(world.folder.path().join(path)).unwrap().set_modified(old).unwrap();
        }
        world.text("refrakt://pages/moved").await.unwrap();
        let before = world.resolver.cache_figures();
        world.text("refrakt://pages/moved").await.unwrap();
        assert_eq!(world.resolver.cache_figures().hits - before.hits, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_names_the_pages_that_it_is_about() {
    for world in worlds(&[SITE, HOME, BERTHS]).await {
        tokio::spawn(world.refrakt.clone().watch());
        let mut changes = world.test.store.listen(&world.test.tenant).await.unwrap();
        world.read("refrakt://pages/index").await.unwrap();
        world.save("content/docs/01-berths.md", "---\nslug: moved\n---\n");
        let mut tags: Vec<String> = Vec::new();
        while tags.is_empty() {
            let change: Arc<Change> = changes.recv().await.unwrap();
            tags.extend(change.tags.iter().map(|tag| tag.as_str().to_owned()));
        }
        for expected in [":/moved", ":/docs/berths"] {
            assert!(tags.iter().any(|tag| tag.ends_with(expected)), "{tags:?}");
        }
        assert!(tags.iter().any(|tag| tag.starts_with("refrakt:pages:")), "{tags:?}");
        assert!(!tags.iter().any(|tag| tag.ends_with(":/")), "{tags:?}");
    }
}
