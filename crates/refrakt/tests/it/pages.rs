//! Pages through the resolver: listing, rendering, errors, and freshness of answers.

use std::sync::Arc;
use std::time::Duration;

use quad_core::{Change, ChangeFeed as _, Kind};
use serde_json::json;

use crate::fixture::{file_hashes, test_projects};

const SITE: (&str, &str) = ("refrakt.config.json", r#"{"site": {"contentDir": "./content"}}"#);
const HOME: (&str, &str) = (
    "content/index.md",
    "---\ntitle: Harbour\n---\n# Welcome\n\n{% hint %}\nAt {% $page.url %}.\n{% /hint %}\n",
);
const BERTHS: (&str, &str) = ("content/docs/01-berths.md", "# Berths\n\nFree.\n");

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_listed_and_rendered_without_writes() {
    let broken = ("content/broken.md", "---\ntitle: [\n---\n# Still here\n");
    for project in test_projects(&[SITE, HOME, BERTHS, broken]).await {
        let before = file_hashes(project.dir.path());
        let index = project.read_json("refrakt://pages/index").await.unwrap();
        let urls: Vec<&str> =
            index["pages"].as_array().unwrap().iter().map(|page| page["url"].as_str().unwrap()).collect();
        assert_eq!(urls, ["/", "/broken", "/docs/berths"]);
        assert_eq!(index["pages"][0]["runes"], json!(["hint"]));
        assert!(index["pages"][1]["problem"]["line"].as_u64().unwrap() >= 2, "{index}");
        assert_eq!(project.call_tool("refrakt_pages", json!({})).await.unwrap(), index);

        let home = project.read_json("refrakt://pages//").await.unwrap();
        assert_eq!((home["title"].as_str(), home["file"].as_str()), (Some("Harbour"), Some("index.md")));
        let html = home["html"].as_str().unwrap();
        // Each variable is rendered as a text of its own, on its own line.
        let text: String = html.split_whitespace().collect();
        assert!(html.contains("rf-hint") && text.contains("At/."), "{html}");
        assert!(home["selectors"].as_array().unwrap().contains(&json!(".rf-hint")));
        assert_eq!(home["headings"], json!([{"level": 1, "text": "Welcome", "id": "welcome"}]));
        assert_eq!(project.call_tool("refrakt_page", json!({"url": "/"})).await.unwrap(), home);
        let broken = project.read_json("refrakt://pages/broken").await.unwrap();
        assert!(broken["html"].as_str().unwrap().contains("Still here") && broken["problem"].is_object());
        assert_eq!(broken["frontmatter"], json!({}));
        for uri in ["refrakt://pages/docs/berths", "refrakt://pages//docs/berths?site=main"] {
            assert_eq!(project.read_json(uri).await.unwrap()["title"], "Berths", "{uri}");
        }
        assert_eq!(file_hashes(project.dir.path()), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_page_or_site_error_has_hint() {
    for project in test_projects(&[SITE, BERTHS]).await {
        let error = project.read_json("refrakt://pages/docs/brths").await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (Kind::NotFound, "NOT_FOUND"));
        assert!(error.hint_text().unwrap().contains("/docs/berths"), "{error:?}");
        for traversal in
            ["refrakt://pages/../refrakt.config.json", "refrakt://pages/%2e%2e/refrakt.config.json"]
        {
            assert!(project.read_json(traversal).await.is_err(), "{traversal}");
        }
        let url = json!({"url": "../refrakt.config.json"});
        assert_eq!(project.call_tool("refrakt_page", url).await.unwrap_err().code(), "NOT_FOUND");
        for (config, code, mentioned) in [
            (r#"{"site": {"contentDir": "../elsewhere"}}"#, "CONTENT_DIR_MISSING", "../elsewhere"),
            (r#"{"site": {"contentDir": "nowhere"}}"#, "CONTENT_DIR_MISSING", "nowhere"),
            (r#"{"site": {"theme": "base"}}"#, "CONTENT_DIR_MISSING", "main"),
            (r#"{"sites": {"a": {}, "b": {}}}"#, "SITE_AMBIGUOUS", "a"),
            ("{}", "SITE_CONFIG_MISSING", "site"),
        ] {
            project.save("refrakt.config.json", config);
            for uri in ["refrakt://pages/index", "refrakt://pages/docs/berths"] {
                let error = project.read_json(uri).await.unwrap_err();
                assert_eq!(error.code(), code, "{config}");
                assert!(error.message().contains(mentioned), "{config}: {error:?}");
            }
        }
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn pages_do_not_follow_symlinks_out_of_project() {
    for project in test_projects(&[SITE, BERTHS, ("refrakt.secret", "x")]).await {
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("secret.md"), "# Secret").unwrap();
        let content = project.dir.path().join("content");
        std::os::unix::fs::symlink(elsewhere.path(), content.join("out")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("secret.md"), content.join("s.md")).unwrap();
        for uri in ["refrakt://pages/out/secret", "refrakt://pages/s"] {
            assert_eq!(project.read_json(uri).await.unwrap_err().code(), "NOT_FOUND", "{uri}");
        }
        std::fs::remove_dir_all(&content).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &content).unwrap();
        assert_eq!(
            project.read_json("refrakt://pages/secret").await.unwrap_err().code(),
            "CONTENT_DIR_MISSING"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_reads_are_never_stale_and_use_the_cache() {
    for project in test_projects(&[SITE, BERTHS]).await {
        for round in 0..20 {
            project.save("content/docs/01-berths.md", &format!("# Round {}\n", round % 2));
            let title = format!("Round {}", round % 2);
            assert_eq!(
                project.read_json("refrakt://pages/docs/berths").await.unwrap()["title"],
                title.as_str()
            );
            let index = project.read_json("refrakt://pages/index").await.unwrap();
            assert_eq!(index["pages"][0]["title"], title.as_str(), "round {round}");
        }
        project.save("content/docs/01-berths.md", "---\nslug: moved\n---\n# Moved\n");
        assert!(project.read_json("refrakt://pages/docs/berths").await.is_err());
        assert_eq!(project.read_json("refrakt://pages/moved").await.unwrap()["title"], "Moved");
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        for path in ["content/docs/01-berths.md", "content/docs", "content"] {
            std::fs::File::open(project.dir.path().join(path)).unwrap().set_modified(old).unwrap();
        }
        project.read_text("refrakt://pages/moved").await.unwrap();
        let before = project.resolver.cache_stats();
        project.read_text("refrakt://pages/moved").await.unwrap();
        assert_eq!(project.resolver.cache_stats().hits - before.hits, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_change_is_published_with_page_tags() {
    for project in test_projects(&[SITE, HOME, BERTHS]).await {
        tokio::spawn(project.refrakt.clone().watch());
        let mut changes = project.test.store.subscribe(&project.test.tenant).await.unwrap();
        project.read_json("refrakt://pages/index").await.unwrap();
        project.save("content/docs/01-berths.md", "---\nslug: moved\n---\n");
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

#[tokio::test(flavor = "multi_thread")]
async fn pages_show_files_of_the_project_and_their_own_source() {
    let page = "---\ntitle: Files\n---\n\n{% snippet path=\"src/main.rs\" lines=\"2-3\" linenumbers=true /%}\n\n\
                {% data src=\"data/boats.csv\" columns=\"name as Boat, length\" sort=\"-length\" limit=1 /%}\n";
    let files = [
        SITE,
        ("content/files.md", page),
        ("src/main.rs", "// one\nfn main() {\n}\n"),
        ("data/boats.csv", "name,length\nAda,9\nMara,12\n"),
        (
            "content/broken.md",
            "---\n---\n\n{% snippet path=\"src/gone.rs\" /%}\n\n{% data src=\"../boats.csv\" /%}\n",
        ),
    ];
    for project in test_projects(&files).await {
        let shown = project.read_json("refrakt://pages/files").await.unwrap();
        let html = shown["html"].as_str().unwrap();
        for part in [
            "<figure",
            "rf-snippet",
            "data-source-path=\"src/main.rs\"",
            "fn main() {\n}",
            "--rf-start-line: 1",
            "<th>Boat</th>",
            "data-value=\"12\"",
            "Mara",
        ] {
            assert!(html.contains(part), "{part} is not in\n{html}");
        }
        assert!(!html.contains("Ada") && !html.contains("// one"), "{html}");
        assert_eq!(shown["source"], page);
        assert_eq!(shown.get("problem"), None);
        assert!(shown["selectors"].as_array().unwrap().contains(&json!(".rf-snippet")));
        // The shown files are outside the content folder, and the answer is as new as they are.
        project.save("data/boats.csv", "name,length\nLi,15\n");
        let later = project.read_json("refrakt://pages/files").await.unwrap();
        assert!(later["html"].as_str().unwrap().contains("data-value=\"15\""), "{later}");

        let broken = project.read_json("refrakt://pages/broken").await.unwrap();
        assert_eq!(broken["problem"]["line"], 4, "{broken}");
        let html = broken["html"].as_str().unwrap();
        for part in [
            "there is no file src/gone.rs in the project",
            "there is no file ../boats.csv in the project",
            "rf-hint",
        ] {
            assert!(html.contains(part), "{part} is not in\n{html}");
        }
        // A text in a call is no page: it may not name files.
        let error = project.call_tool("refrakt_render", json!({"source": page})).await.unwrap_err();
        assert_eq!(error.code(), "RUNE_NOT_RENDERED");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_text_in_a_plain_markdown_site() {
    let config = r#"{"site": {"contentDir": "docs", "markdoc": false}}"#;
    let text = "# Menu {% x %}\n\n{% for item in menu %}\n- {{ item }} {% $y %}\n{% endfor %}\n\n```\n{% hint %}\n```\n";
    for project in test_projects(&[("refrakt.config.json", config), ("docs/menu.md", text)]).await {
        let page = project.read_json("refrakt://pages/menu").await.unwrap();
        let html = page["html"].as_str().unwrap();
        for part in ["{% for item in menu %}", "{{ item }} {% $y %}", "{% endfor %}", "{% hint %}"] {
            assert!(html.contains(part), "{part} is not in\n{html}");
        }
        assert_eq!(page["title"], "Menu {% x %}");
        assert_eq!(project.read_json("refrakt://pages/index").await.unwrap()["pages"][0]["runes"], json!([]));
        let checked = project.call_tool("refrakt_validate_content", json!({"content": text})).await.unwrap();
        assert_eq!((&checked["valid"], &checked["findings"]), (&json!(true), &json!([])));
        let rendered = project.call_tool("refrakt_render", json!({"source": text})).await.unwrap();
        assert!(rendered["html"].as_str().unwrap().contains("{% endfor %}"));
        project.save("refrakt.config.json", r#"{"site": {"contentDir": "docs"}}"#);
        let checked = project.call_tool("refrakt_validate_content", json!({"content": text})).await.unwrap();
        assert_eq!(checked["valid"], false);
    }
}
