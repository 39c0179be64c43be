//! The files, functions and types that CONTRIBUTING.md names.

use super::pages;

/// A code span that is a path of the repository, and the names in parentheses after it.
fn named_files(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    // Every second part lies between backticks.
    let parts: Vec<&str> = text.split('`').collect();
    let mut index = 1;
    while index < parts.len() {
        let path = parts[index].trim();
        index += 2;
        let is_path = ["crates/", "docs/", "transcripts/", "tests/"].iter().any(|top| path.starts_with(top));
        if !is_path {
            continue;
        }
        let path = path.split(' ').next().unwrap().to_owned();
        let mut names = Vec::new();
        if parts[index - 1].starts_with(" (") {
            names.push(parts[index].to_owned());
            while parts.get(index + 1).is_some_and(|between| *between == ", ") {
                index += 2;
                names.push(parts[index].to_owned());
            }
            assert!(parts[index + 1].starts_with(')'), "names after {path} are in parentheses");
            index += 2;
        }
        found.push((path, names));
    }
    found
}

/// Whether a Rust file defines or uses this name as a whole word.
fn contains_word(source: &str, name: &str) -> bool {
    source.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

#[test]
fn contributing_names_existing_files_and_functions() {
    let root = pages::root();
    let text = std::fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    // Blocks of commands name files in another way.
    let prose: String = text.split("```").step_by(2).collect();
    let named = named_files(&prose);
    let mut missing = Vec::new();
    for (path, names) in &named {
        let file = root.join(path);
        if !file.exists() {
            missing.push(path.clone());
            continue;
        }
        let source = std::fs::read_to_string(&file).unwrap_or_default();
        missing.extend(
            names.iter().filter(|name| !contains_word(&source, name)).map(|name| format!("{path}: {name}")),
        );
    }
    assert!(missing.is_empty(), "CONTRIBUTING.md names what does not exist:\n{}", missing.join("\n"));
    assert!(named.len() >= 30, "{} files", named.len());
    assert!(named.iter().filter(|(_, names)| !names.is_empty()).count() >= 8);
}
