//! The scheme from outside, beyond what a conversation shows: the folder's peace, saves during reads, unfinished writes, two
//! processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quad_core::canonical::sha256_hex;
use quad_core::resolver::View;
use quad_core::{Change, Feed as _};
use quad_store::params;
use serde_json::json;

use crate::world::{hashes, save, serve, work, worlds};

const SITE: (&str, &str) =
    ("refrakt.config.json", r#"{"site": {"contentDir": "c", "plugins": ["@refrakt-md/plan"]}}"#);

#[tokio::test(flavor = "multi_thread")]
async fn reading_leaves_the_folder_untouched() {
    let one = work("WORK-001", "ready");
    for world in worlds(&[
        SITE,
        ("plan/work/WORK-001-a.md", &one),
        ("plan/broken.md", "{% work id=\"X %}\n{% /work %}"),
    ])
    .await
    {
        let before = hashes(world.folder.path());
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
            world.text(uri).await.unwrap();
        }
        for (tool, arguments) in [
            ("plan.validate", json!({})),
            ("plan.next", json!({"count": 5})),
            ("plan.update", json!({"id": "WORK-001", "status": "done", "dryRun": true})),
            ("plan.create", json!({"type": "bug", "title": "x", "dryRun": true})),
        ] {
            world.call(tool, arguments).await.unwrap();
        }
        assert!(world.call("plan.update", json!({"id": "WORK-001", "status": "nonsense"})).await.is_err());
        assert_eq!(hashes(world.folder.path()), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_during_reads_gives_the_old_or_the_new_text() {
    let texts =
        [work("WORK-001", "ready"), work("WORK-001", "done").replace("one", &"many words ".repeat(20_000))];
    for world in worlds(&[("plan/a.md", &texts[0])]).await {
        let stop = Arc::new(AtomicBool::new(false));
        let (path, saved, stopped) = (world.folder.path().to_owned(), texts.clone(), stop.clone());
        let editor = std::thread::spawn(move || {
            let mut saves = 0;
            while !stopped.load(Ordering::Relaxed) {
                save(&path, "plan/a.md", &saved[saves % 2]);
                saves += 1;
                std::thread::sleep(Duration::from_millis(25));
            }
            saves
        });
        let mut seen = [0; 2];
        while seen.iter().any(|count| *count < 10) {
            let text = world.text("refrakt://plan/work/WORK-001").await.unwrap();
            let which = texts.iter().position(|known| *known == text);
            seen[which.unwrap_or_else(|| panic!("a mix of {} bytes", text.len()))] += 1;
            // What all entities together say is of one moment, too.
            let status = world.read("refrakt://plan/status").await.unwrap();
            assert_eq!(status["counts"]["work"]["total"], 1, "{status}");
        }
        stop.store(true, Ordering::Relaxed);
        assert!(editor.join().unwrap() > 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_never_stale_and_an_unchanged_project_is_answered_from_memory() {
    let one = work("WORK-001", "draft");
    for world in worlds(&[("plan/a.md", &one)]).await {
        for round in 0..20 {
            let status = if round % 2 == 0 { "ready" } else { "draft" };
            world.save("plan/a.md", &work("WORK-001", status));
            let index = world.read("refrakt://plan/index").await.unwrap();
            assert_eq!(index["entities"][0]["status"], status, "round {round}");
            let text = world.text("refrakt://plan/work/WORK-001").await.unwrap();
            assert!(text.contains(status), "round {round}");
        }
        let path = world.folder.path().join("plan/a.md");
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        std::fs::File::open(world.folder.path().join("plan")).unwrap().set_modified(old).unwrap();
        world.text("refrakt://plan/status").await.unwrap();
        let before = world.resolver.cache_figures();
        world.text("refrakt://plan/status").await.unwrap();
        world.text("refrakt://plan/status").await.unwrap();
        let after = world.resolver.cache_figures();
        assert_eq!(after.hits - before.hits, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_write_is_whole_and_in_the_trail() {
    let (one, two) = (work("WORK-001", "ready"), work("WORK-002", "ready"));
    for world in worlds(&[("plan/a.md", &one), ("plan/b.md", &two)]).await {
        let before = hashes(world.folder.path());
        let wrong =
            json!({"updates": [{"id": "WORK-001", "status": "done"}, {"id": "WORK-002", "check": "three"}]});
        assert_eq!(world.call("plan.update", wrong).await.unwrap_err().code(), "CRITERION_NOT_FOUND");
        assert_eq!(hashes(world.folder.path()), before, "all of them or none");

        let updated = world
            .call("plan.update", json!({"ids": ["WORK-001", "WORK-002"], "status": "done", "check": [1, 2]}));
        let updated = updated.await.unwrap();
        assert_eq!(updated["changed"], 2);
        let now = std::fs::read_to_string(world.folder.path().join("plan/a.md")).unwrap();
        assert_eq!(now, one.replace("ready", "done").replace("[ ]", "[x]"));
        assert_eq!(updated["entities"][0]["hash"], sha256_hex(now.as_bytes()));
        assert_eq!(hashes(world.folder.path()).len(), before.len(), "nothing is left beside the files");
        let open = world.test.store.read(&world.test.tenant, |sql| {
            let rows = quad_store::Sql::query(sql, "SELECT id FROM refrakt_intent", &[])?;
            Ok(rows.len())
        });
        assert_eq!(open.await.unwrap(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_process_left_open_is_settled() {
    let one = work("WORK-001", "ready");
    for world in worlds(&[("plan/a.md", &one), ("plan/.b.md.tmp", "half")]).await {
        let root = sha256_hex(world.folder.path().canonicalize().unwrap().as_os_str().as_encoded_bytes());
        let root = root[..16].to_owned();
        let (done, waiting) = (sha256_hex(one.as_bytes()), world.folder.path().join("plan/.b.md.tmp"));
        let insert = move |tx: &mut quad_store::Tx<'_>| {
            let tenant = quad_store::Sql::tenant(tx).as_str().to_owned();
            for (id, file, waiting, after) in [
                ("1", "a.md", "/nowhere/at/all".to_owned(), done.clone()),
                ("2", "b.md", waiting.display().to_string(), "another".to_owned()),
            ] {
                tx.execute(
                    "INSERT INTO refrakt_intent (tenant_id, id, root, file, waiting, before_hash, after_hash, created_at) \
                     VALUES ($1, $2, $3, $4, $5, NULL, $6, 0)",
                    params![tenant.as_str(), id, root.as_str(), file, waiting, after],
                )?;
            }
            Ok(())
        };
        world.test.store.jot(&world.test.tenant, insert).await.unwrap();
        world.call("plan.update", json!({"id": "WORK-001", "status": "done"})).await.unwrap();
        assert!(!world.folder.path().join("plan/.b.md.tmp").exists(), "what waited is gone");
        let read = |sql: &mut quad_store::Snapshot<'_>| {
            let rows =
                quad_store::Sql::query(sql, "SELECT body FROM audit_block ORDER BY first_sequence", &[])?;
            let bodies: Result<Vec<String>, _> =
                rows.iter().map(|row| row.text(0).map(str::to_owned)).collect();
            let left = quad_store::Sql::query(sql, "SELECT id FROM refrakt_intent", &[])?;
            Ok((bodies?.join("\n"), left.len()))
        };
        let (trail, left) = world.test.store.read(&world.test.tenant, read).await.unwrap();
        assert_eq!(left, 0);
        let settled: Vec<&str> =
            trail.lines().filter(|line| line.contains("project.write.settled")).collect();
        assert_eq!(settled.len(), 2, "{trail}");
        assert!(
            settled[0].contains("\"written\":true") && settled[1].contains("\"written\":false"),
            "{settled:?}"
        );
        assert!(trail.contains("project.write.intended"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_processes_that_see_a_change_one_tells_it() {
    let one = work("WORK-001", "ready");
    for world in worlds(&[("plan/a.md", &one)]).await {
        let (second, other) = serve(&world.test, world.folder.path());
        tokio::spawn(world.refrakt.clone().watch());
        tokio::spawn(second.watch());
        let mut changes = world.test.store.listen(&world.test.tenant).await.unwrap();
        for resolver in [&world.resolver, &other] {
            resolver.read(&world.caller, View::All, "refrakt://plan/index").await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.save("plan/b.md", &work("WORK-002", "ready"));
        let change: Arc<Change> = changes.recv().await.unwrap();
        let tags: Vec<&str> = change.tags.iter().map(|tag| tag.as_str()).collect();
        assert!(tags.iter().any(|tag| tag.ends_with(":work/WORK-002")), "{tags:?}");
        assert!(!tags.iter().any(|tag| tag.ends_with("WORK-001")), "{tags:?}");
        // A write through us is told in its own commit, and not again by a process that knows what was before it.
        tokio::time::sleep(Duration::from_secs(2)).await;
        world.call("plan.update", json!({"id": "WORK-001", "status": "done"})).await.unwrap();
        let mut told = Vec::new();
        while !told.iter().any(|tag: &String| tag.ends_with("WORK-001")) {
            told.extend(changes.recv().await.unwrap().tags.iter().map(|tag| tag.as_str().to_owned()));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let more: Vec<Arc<Change>> = std::iter::from_fn(|| changes.try_recv().ok()).collect();
        assert!(more.iter().all(|change| change.tags.is_empty()), "{more:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_write_one_file_lose_no_change() {
    let one = work("WORK-001", "ready");
    for world in worlds(&[("plan/a.md", &one)]).await {
        let (_, other) = serve(&world.test, world.folder.path());
        let update = |resolver: Arc<quad_core::Resolver>, name: &'static str, round: usize| {
            let caller = world.caller.clone();
            let arguments = json!({"id": "WORK-001", "attrs": {name: format!("{name} {round}")}});
            async move {
                let arguments = arguments.as_object().cloned().unwrap();
                resolver
                    .call(&caller, View::All, "plan.update", arguments, &quad_core::tool::NoProgress)
                    .await
                    .unwrap();
            }
        };
        for round in 0..10 {
            tokio::join!(
                update(world.resolver.clone(), "assignee", round),
                update(other.clone(), "tags", round),
                update(world.resolver.clone(), "source", round),
            );
            let text = world.text("refrakt://plan/work/WORK-001").await.unwrap();
            for name in ["assignee", "tags", "source"] {
                assert!(text.contains(&format!("{name}=\"{name} {round}\"")), "round {round}: {text}");
            }
        }
        let ended = one.split_once('\n').unwrap().1;
        let text = world.text("refrakt://plan/work/WORK-001").await.unwrap();
        assert_eq!(text.split_once('\n').unwrap().1, ended, "the rest stays");
    }
}
