//! The scheme through the resolver, where transcripts do not reach: reads leave the folder unchanged, saves during
//! reads, unfinished writes, two processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quad_core::canonical::sha256_hex;
use quad_core::resolver::View;
use quad_core::{Change, ChangeFeed as _};
use quad_store::params;
use serde_json::json;

use crate::fixture::{file_hashes, save_file, start_server, test_projects, work};

const SITE: (&str, &str) =
    ("refrakt.config.json", r#"{"site": {"contentDir": "c", "plugins": ["@refrakt-md/plan"]}}"#);

#[tokio::test(flavor = "multi_thread")]
async fn reads_and_dry_runs_write_nothing() {
    let one = work("WORK-001", "ready");
    for project in test_projects(&[
        SITE,
        ("plan/work/WORK-001-a.md", &one),
        ("plan/broken.md", "{% work id=\"X %}\n{% /work %}"),
    ])
    .await
    {
        let before = file_hashes(project.dir.path());
        for uri in [
            "refrakt://detect",
            "refrakt://reference",
            "refrakt://contracts",
            "refrakt://runes",
            "refrakt://plan/index",
            "refrakt://plan/status",
            "refrakt://plan/work/WORK-001",
            "refrakt://plan/context/WORK-001",
        ] {
            project.read_text(uri).await.unwrap();
        }
        for (tool, arguments) in [
            ("plan_validate", json!({})),
            ("plan_next", json!({"count": 5})),
            ("plan_update", json!({"id": "WORK-001", "status": "done", "dryRun": true})),
            ("plan_create", json!({"type": "bug", "title": "x", "dryRun": true})),
        ] {
            project.call_tool(tool, arguments).await.unwrap();
        }
        assert!(
            project.call_tool("plan_update", json!({"id": "WORK-001", "status": "nonsense"})).await.is_err()
        );
        assert_eq!(file_hashes(project.dir.path()), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_read_returns_old_or_new_text() {
    let texts =
        [work("WORK-001", "ready"), work("WORK-001", "done").replace("one", &"many words ".repeat(20_000))];
    for project in test_projects(&[("plan/a.md", &texts[0])]).await {
        let stop = Arc::new(AtomicBool::new(false));
        let (path, saved, stopped) = (project.dir.path().to_owned(), texts.clone(), stop.clone());
        let editor = std::thread::spawn(move || {
            let mut saves = 0;
            while !stopped.load(Ordering::Relaxed) {
                save_file(&path, "plan/a.md", &saved[saves % 2]);
                saves += 1;
                std::thread::sleep(Duration::from_millis(25));
            }
            saves
        });
        let mut reads_per_text = [0; 2];
        while reads_per_text.iter().any(|count| *count < 10) {
            let text = project.read_text("refrakt://plan/work/WORK-001").await.unwrap();
            let index = texts.iter().position(|candidate| *candidate == text);
            reads_per_text[index.unwrap_or_else(|| panic!("a mix of {} bytes", text.len()))] += 1;
            // An answer about all entities also reflects one state.
            let status = project.read_json("refrakt://plan/status").await.unwrap();
            assert_eq!(status["counts"]["work"]["total"], 1, "{status}");
        }
        stop.store(true, Ordering::Relaxed);
        assert!(editor.join().unwrap() > 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_never_stale_and_use_the_cache() {
    let one = work("WORK-001", "draft");
    for project in test_projects(&[("plan/a.md", &one)]).await {
        for round in 0..20 {
            let status = if round % 2 == 0 { "ready" } else { "draft" };
            project.save("plan/a.md", &work("WORK-001", status));
            let index = project.read_json("refrakt://plan/index").await.unwrap();
            assert_eq!(index["entities"][0]["status"], status, "round {round}");
            let text = project.read_text("refrakt://plan/work/WORK-001").await.unwrap();
            assert!(text.contains(status), "round {round}");
        }
        let path = project.dir.path().join("plan/a.md");
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        std::fs::File::open(project.dir.path().join("plan")).unwrap().set_modified(old).unwrap();
        project.read_text("refrakt://plan/status").await.unwrap();
        let before = project.resolver.cache_stats();
        project.read_text("refrakt://plan/status").await.unwrap();
        project.read_text("refrakt://plan/status").await.unwrap();
        let after = project.resolver.cache_stats();
        assert_eq!(after.hits - before.hits, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_writes_are_atomic_and_audited() {
    let (one, two) = (work("WORK-001", "ready"), work("WORK-002", "ready"));
    for project in test_projects(&[("plan/a.md", &one), ("plan/b.md", &two)]).await {
        let before = file_hashes(project.dir.path());
        let invalid_update =
            json!({"updates": [{"id": "WORK-001", "status": "done"}, {"id": "WORK-002", "check": "three"}]});
        assert_eq!(
            project.call_tool("plan_update", invalid_update).await.unwrap_err().code(),
            "CRITERION_NOT_FOUND"
        );
        assert_eq!(file_hashes(project.dir.path()), before, "all of them or none");

        let updated = project.call_tool(
            "plan_update",
            json!({"ids": ["WORK-001", "WORK-002"], "status": "done", "check": [1, 2]}),
        );
        let updated = updated.await.unwrap();
        assert_eq!(updated["changed"], 2);
        let updated_text = std::fs::read_to_string(project.dir.path().join("plan/a.md")).unwrap();
        assert_eq!(updated_text, one.replace("ready", "done").replace("[ ]", "[x]"));
        assert_eq!(updated["entities"][0]["hash"], sha256_hex(updated_text.as_bytes()));
        assert_eq!(file_hashes(project.dir.path()).len(), before.len(), "nothing is left beside the files");
        let open_intents = project.test.store.read(&project.test.tenant, |sql| {
            let rows = quad_store::Sql::query(sql, "SELECT id FROM refrakt_intent", &[])?;
            Ok(rows.len())
        });
        assert_eq!(open_intents.await.unwrap(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_intents_are_recovered_after_crash() {
    let one = work("WORK-001", "ready");
    for project in test_projects(&[("plan/a.md", &one), ("plan/.b.md.tmp", "half")]).await {
        let root = sha256_hex(project.dir.path().canonicalize().unwrap().as_os_str().as_encoded_bytes());
        let root = root[..16].to_owned();
        let (done, temp_path) = (sha256_hex(one.as_bytes()), project.dir.path().join("plan/.b.md.tmp"));
        let insert = move |tx: &mut quad_store::Tx<'_>| {
            let tenant = quad_store::Sql::tenant(tx).as_str().to_owned();
            for (id, file, temp_path, after) in [
                ("1", "a.md", "/nowhere/at/all".to_owned(), done.clone()),
                ("2", "b.md", temp_path.display().to_string(), "another".to_owned()),
            ] {
                tx.execute(
                    "INSERT INTO refrakt_intent (tenant_id, id, root, file, waiting, before_hash, after_hash, created_at) \
                     VALUES ($1, $2, $3, $4, $5, NULL, $6, 0)",
                    params![tenant.as_str(), id, root.as_str(), file, temp_path, after],
                )?;
            }
            Ok(())
        };
        project.test.store.write_unaudited(&project.test.tenant, insert).await.unwrap();
        project.call_tool("plan_update", json!({"id": "WORK-001", "status": "done"})).await.unwrap();
        assert!(!project.dir.path().join("plan/.b.md.tmp").exists(), "what waited is gone");
        let read = |sql: &mut quad_store::Snapshot<'_>| {
            let rows =
                quad_store::Sql::query(sql, "SELECT body FROM audit_block ORDER BY first_sequence", &[])?;
            let bodies: Result<Vec<String>, _> =
                rows.iter().map(|row| row.text(0).map(str::to_owned)).collect();
            let open_intents = quad_store::Sql::query(sql, "SELECT id FROM refrakt_intent", &[])?;
            Ok((bodies?.join("\n"), open_intents.len()))
        };
        let (audit_trail, open_intents) = project.test.store.read(&project.test.tenant, read).await.unwrap();
        assert_eq!(open_intents, 0);
        let settled: Vec<&str> =
            audit_trail.lines().filter(|line| line.contains("project.write.settled")).collect();
        assert_eq!(settled.len(), 2, "{audit_trail}");
        assert!(
            settled[0].contains("\"written\":true") && settled[1].contains("\"written\":false"),
            "{settled:?}"
        );
        assert!(audit_trail.contains("project.write.intended"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn change_seen_by_two_processes_is_published_once() {
    let one = work("WORK-001", "ready");
    for project in test_projects(&[("plan/a.md", &one)]).await {
        let (second, other) = start_server(&project.test, project.dir.path());
        tokio::spawn(project.refrakt.clone().watch());
        tokio::spawn(second.watch());
        let mut changes = project.test.store.subscribe(&project.test.tenant).await.unwrap();
        for resolver in [&project.resolver, &other] {
            resolver.read(&project.caller, View::All, "refrakt://plan/index").await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        project.save("plan/b.md", &work("WORK-002", "ready"));
        let change: Arc<Change> = changes.recv().await.unwrap();
        let tags: Vec<&str> = change.tags.iter().map(|tag| tag.as_str()).collect();
        assert!(tags.iter().any(|tag| tag.ends_with(":work/WORK-002")), "{tags:?}");
        assert!(!tags.iter().any(|tag| tag.ends_with("WORK-001")), "{tags:?}");
        // A write of this process is published in its own commit. A process that knows the state before it does not
        // publish it again.
        tokio::time::sleep(Duration::from_secs(2)).await;
        project.call_tool("plan_update", json!({"id": "WORK-001", "status": "done"})).await.unwrap();
        let mut published_tags = Vec::new();
        while !published_tags.iter().any(|tag: &String| tag.ends_with("WORK-001")) {
            published_tags
                .extend(changes.recv().await.unwrap().tags.iter().map(|tag| tag.as_str().to_owned()));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let later_changes: Vec<Arc<Change>> = std::iter::from_fn(|| changes.try_recv().ok()).collect();
        assert!(later_changes.iter().all(|change| change.tags.is_empty()), "{later_changes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_do_not_lose_updates() {
    let one = work("WORK-001", "ready");
    for project in test_projects(&[("plan/a.md", &one)]).await {
        let (_, other) = start_server(&project.test, project.dir.path());
        let update = |resolver: Arc<quad_core::Resolver>, name: &'static str, round: usize| {
            let caller = project.caller.clone();
            let arguments = json!({"id": "WORK-001", "attrs": {name: format!("{name} {round}")}});
            async move {
                let arguments = arguments.as_object().cloned().unwrap();
                resolver
                    .call_tool(&caller, View::All, "plan_update", arguments, &quad_core::tool::NoProgress)
                    .await
                    .unwrap();
            }
        };
        for round in 0..10 {
            tokio::join!(
                update(project.resolver.clone(), "assignee", round),
                update(other.clone(), "tags", round),
                update(project.resolver.clone(), "source", round),
            );
            let text = project.read_text("refrakt://plan/work/WORK-001").await.unwrap();
            for name in ["assignee", "tags", "source"] {
                assert!(text.contains(&format!("{name}=\"{name} {round}\"")), "round {round}: {text}");
            }
        }
        let expected_body = one.split_once('\n').unwrap().1;
        let text = project.read_text("refrakt://plan/work/WORK-001").await.unwrap();
        assert_eq!(text.split_once('\n').unwrap().1, expected_body, "the rest stays");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn linked_files_are_part_of_the_plan_and_read_fresh() {
    let one = work("WORK-001", "ready");
    for project in
        test_projects(&[("plan/work/a.md", &work("WORK-002", "draft")), ("notes/b.md", &one)]).await
    {
        let (root, elsewhere) = (project.dir.path(), tempfile::tempdir().unwrap());
        std::fs::write(elsewhere.path().join("c.md"), work("WORK-003", "ready")).unwrap();
        std::os::unix::fs::symlink("../notes", root.join("plan/notes")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.join("plan/out")).unwrap();
        let ids = |index: &serde_json::Value| -> Vec<String> {
            index["entities"].as_array().unwrap().iter().map(|entity| entity["id"].to_string()).collect()
        };
        let index = project.read_json("refrakt://plan/index").await.unwrap();
        assert_eq!(ids(&index), ["\"WORK-002\"", "\"WORK-001\""]);
        assert_eq!(project.read_json("refrakt://detect").await.unwrap()["plan"]["fileCount"], 2);
        // A change behind the link is seen at once.
        project.save("notes/b.md", &work("WORK-001", "review"));
        let text = project.read_text("refrakt://plan/work/WORK-001").await.unwrap();
        assert!(text.contains("review"), "{text}");
        project.call_tool("plan_update", json!({"id": "WORK-001", "status": "done"})).await.unwrap();
        assert!(std::fs::read_to_string(root.join("notes/b.md")).unwrap().contains("done"));
        assert!(std::fs::symlink_metadata(root.join("plan/notes")).unwrap().is_symlink());
        // The link now leads out of the project.
        std::fs::remove_file(root.join("plan/notes")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.join("plan/notes")).unwrap();
        let index = project.read_json("refrakt://plan/index").await.unwrap();
        assert_eq!(ids(&index), ["\"WORK-002\""]);
        std::fs::remove_dir_all(root.join("plan")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.join("plan")).unwrap();
        let error = project.read_json("refrakt://plan/index").await.unwrap_err();
        assert_eq!(error.code(), "PLAN_DIR_MISSING");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_before_the_first_poll_are_followed_by_changes() {
    let one = work("WORK-001", "ready");
    for project in test_projects(&[
        ("plan/work/WORK-001.md", &one),
        ("plan/work/WORK-002.md", &work("WORK-002", "ready")),
    ])
    .await
    {
        let mut changes = project.test.store.subscribe(&project.test.tenant).await.unwrap();
        project.refrakt.enable_polling();
        // Answered from the files, before the plan is read.
        let text = project.read_text("refrakt://plan/work/WORK-001").await.unwrap();
        assert_eq!(text, one);
        assert_eq!(project.read_json("refrakt://detect").await.unwrap()["plan"]["fileCount"], 2);
        project.save("plan/work/WORK-001.md", &work("WORK-001", "done"));
        project.save("plan/work/WORK-003.md", &work("WORK-003", "ready"));
        tokio::spawn(project.refrakt.clone().watch());
        let mut tags: Vec<String> = Vec::new();
        while tags.is_empty() {
            let change: Arc<Change> = changes.recv().await.unwrap();
            tags.extend(change.tags.iter().map(|tag| tag.as_str().to_owned()));
        }
        assert!(tags.iter().any(|tag| tag.ends_with(":work/WORK-001")), "{tags:?}");
        assert!(tags.iter().any(|tag| tag.starts_with("refrakt:detected:")), "{tags:?}");
        assert!(!tags.iter().any(|tag| tag.ends_with("WORK-002")), "{tags:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_answers_about_the_plan_come_in_pages() {
    let refs: String = (0..10_000).map(|number| format!("{{% ref \"GONE-{number}\" /%}}\n")).collect();
    let text = format!("{{% work id=\"WORK-1\" status=\"ready\" %}}\n# T\n\n{refs}\n{{% /work %}}\n");
    for project in test_projects(&[("plan/work/WORK-1-t.md", &text)]).await {
        let (mut cursor, mut pages, mut issues) = (json!(null), 0, 0);
        let counts = loop {
            let page = project.call_tool("plan_validate", json!({"cursor": cursor})).await.unwrap();
            assert!(page.to_string().len() < (1 << 20) + 1_000);
            (pages, issues) = (pages + 1, issues + page["issues"].as_array().unwrap().len());
            match page.get("nextCursor") {
                Some(next) => cursor = next.clone(),
                None => break page["counts"].clone(),
            }
        };
        assert!(pages > 1);
        assert_eq!(issues as u64, counts["errors"].as_u64().unwrap() + counts["warnings"].as_u64().unwrap());
        let first = project.read_json("refrakt://plan/status").await.unwrap();
        assert_eq!(first, project.call_tool("plan_status", json!({})).await.unwrap());
        let uri = format!("refrakt://plan/status?cursor={}", first["nextCursor"].as_str().unwrap());
        let second = project.read_json(&uri).await.unwrap();
        let warnings = |page: &serde_json::Value| page["warnings"].as_array().unwrap().len();
        assert_eq!(warnings(&first) + warnings(&second), 10_001);
        assert_eq!(second["counts"], first["counts"]);
        project.save("plan/b.md", "{% spec id=\"SPEC-1\" /%}\n");
        let stale = project.read_json(&uri).await.unwrap_err();
        assert_eq!(stale.code(), "INVALID_CURSOR", "the plan has changed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_finds_files_that_hide_entities() {
    let two = format!("{}\n{}", work("WORK-001", "draft"), work("WORK-002", "draft"));
    for project in
        test_projects(&[("plan/a.md", &two), ("plan/b.md", "{% spec status=\"draft\" /%}\n")]).await
    {
        let not_utf8 = [work("WORK-003", "draft").as_bytes(), b"\xff\n"].concat();
        std::fs::write(project.dir.path().join("plan/c.md"), not_utf8).unwrap();
        let report = project.call_tool("plan_validate", json!({})).await.unwrap();
        let found: Vec<(&str, &str)> = report["issues"]
            .as_array()
            .unwrap()
            .iter()
            .map(|issue| (issue["type"].as_str().unwrap(), issue["file"].as_str().unwrap()))
            .filter(|(kind, _)| !["no-milestone", "filename-missing-id", "missing-section"].contains(kind))
            .collect();
        assert_eq!(found, [("second-entity", "a.md"), ("not-utf8", "c.md"), ("missing-id", "b.md")]);
        assert_eq!(report["issues"][0]["line"], 10);
        let error =
            project.call_tool("plan_update", json!({"id": "WORK-003", "status": "ready"})).await.unwrap_err();
        assert_eq!(error.code(), "ENTITY_UNREADABLE", "its bytes would be lost");
    }
}
