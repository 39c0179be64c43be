//! The walks of ARCHITECTURE.md: tables of files and functions that a read and a write pass.

use std::collections::HashSet;

use super::pages;

/// Most files that a walk passes. A longer one is a design that a reader cannot follow.
const WALK_FILES_MAX: usize = 25;

/// The rows of each walk: file and function. A walk is a table whose first two columns are `file` and `function`.
fn walks(text: &str) -> Vec<Vec<(String, String)>> {
    let cells = |line: &str| -> Vec<String> {
        line.split('|').skip(1).map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let mut walks: Vec<Vec<(String, String)>> = Vec::new();
    let mut in_walk = false;
    for line in text.lines() {
        let row = cells(line);
        if row.first().is_some_and(|cell| cell == "file") && row.get(1).is_some_and(|cell| cell == "function")
        {
            in_walk = true;
            walks.push(Vec::new());
        } else if !line.starts_with('|') {
            in_walk = false;
        } else if in_walk && !row[0].starts_with("---") {
            walks.last_mut().unwrap().push((row[0].clone(), row[1].clone()));
        }
    }
    walks
}

#[test]
fn architecture_walks_name_existing_functions_and_enter_each_file_once() {
    let root = pages::root();
    let walks = walks(&std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
    assert_eq!(walks.len(), 2, "the walk of a read and the walk of a write");
    for walk in walks {
        assert!((10..=WALK_FILES_MAX).contains(&walk.len()), "a walk of {} files", walk.len());
        let mut files = HashSet::new();
        for (file, function) in &walk {
            assert!(files.insert(file), "{file} is entered twice");
            let source =
                std::fs::read_to_string(root.join(file)).unwrap_or_else(|_| panic!("{file} is missing"));
            let is_defined = ["(", "<"].iter().any(|next| source.contains(&format!("fn {function}{next}")));
            assert!(is_defined, "{file} has no function {function}");
        }
    }
}
