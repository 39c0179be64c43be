//! Damaged and outdated indexes.

use std::fs;

use super::*;

fn index_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder.join("ten_1")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn build_index(folder: &Path, nodes: &SharedTestDocs) {
    for n in 0..50 {
        nodes.update(|nodes| nodes.add(&format!("common word{n} text about nothing")));
    }
    let engine = engine(folder, nodes, 10);
    assert_eq!(search(&engine, nodes, "common").len(), 50);
    engine.wait_idle();
}

#[test]
fn corrupt_index_is_rebuilt() {
    let original = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    build_index(original.path(), &nodes);
    let names: Vec<String> = index_files(original.path())
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !name.starts_with(".tantivy"))
        .collect();
    assert!(names.len() > 5, "{names:?}");
    let run_query = |engine: &Engine| {
        let page = Page { offset: 0, limit: 100 };
        search_page(engine, &nodes, "common word7 \"word8 text\"", &Filter::default(), page)
    };
    let expected = run_query(&engine(original.path(), &nodes, 10));
    assert_eq!(expected.hits.len(), 50);
    type Corruption = fn(&Path);
    let corruptions: [Corruption; 6] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, b"").unwrap(),
        |path| fs::write(path, vec![0xff; 300]).unwrap(),
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes.truncate(bytes.len() / 2);
            fs::write(path, bytes).unwrap();
        },
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[0] ^= 0x41;
            fs::write(path, bytes).unwrap();
        },
        |path| {
            let mut bytes = fs::read(path).unwrap();
            // Changes the content of the file, not the checksum at its end, if the file is long enough.
            let offset = (bytes.len() / 4).min(40);
            bytes[offset] ^= 0x05;
            fs::write(path, bytes).unwrap();
        },
    ];
    for name in &names {
        for corrupt in corruptions {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("ten_1")).unwrap();
            for file in index_files(original.path()) {
                fs::copy(&file, folder.path().join("ten_1").join(file.file_name().unwrap())).unwrap();
            }
            corrupt(&folder.path().join("ten_1").join(name));
            let engine = engine(folder.path(), &nodes, 10);
            assert_eq!(run_query(&engine), expected, "{name}");
            assert_eq!(search(&engine, &nodes, "word49"), [49], "{name}");
            engine.wait_idle();
            assert_eq!(run_query(&engine), expected, "{name}");
            engine.wait_idle();
            let rebuilt = folder.path().join("ten_1");
            assert!(index::verify_checksums(&rebuilt).is_ok(), "{name}");
            assert!(
                matches!(index::IndexSearcher::open(&rebuilt), Ok(index::OpenResult::Ready(_))),
                "{name}"
            );
        }
    }
}

#[test]
fn index_of_other_database_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    build_index(folder.path(), &SharedTestDocs::default());
    // A database restored from a backup with a different history since: same ids, other texts.
    let nodes = SharedTestDocs::default();
    for n in 0..60 {
        nodes.update(|nodes| nodes.add(&format!("different matter{n}")));
    }
    let engine = engine(folder.path(), &nodes, 10);
    assert_eq!(search(&engine, &nodes, "common"), Vec::<u64>::new());
    assert_eq!(search(&engine, &nodes, "different").len(), 60);
    engine.wait_idle();
    assert_eq!(search(&engine, &nodes, "common"), Vec::<u64>::new());
    assert_eq!(search(&engine, &nodes, "matter59"), [59]);
}

#[test]
fn deleted_docs_stay_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    build_index(folder.path(), &nodes);
    // Deleted while no engine runs, as another process would.
    for id in [0, 7, 49] {
        nodes.update(|nodes| nodes.delete(id));
    }
    for _ in 0..3 {
        let engine = engine(folder.path(), &nodes, 2);
        let ids = search(&engine, &nodes, "common word0 word7 word49");
        assert!(ids.len() >= 47 && !ids.iter().any(|id| [0, 7, 49].contains(id)), "{ids:?}");
        let similar = engine
            .search_similar(
                &tenant(),
                &mut nodes.snapshot(),
                SimilarityQuery::Text("common word7"),
                &Filter::default(),
                100,
                -1.0,
            )
            .unwrap();
        assert!(!similar.iter().any(|hit| [0, 7, 49].contains(&hit.id)));
        engine.wait_idle();
        nodes.update(|nodes| nodes.add("common"));
    }
}
