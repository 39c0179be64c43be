//! Links between pages.

use std::path::{Component, Path, PathBuf};

use super::{markdown, pages};

#[test]
fn links_resolve() {
    let root = pages::root();
    let mut broken = Vec::new();
    for page in pages::all() {
        for (line, link) in markdown::links(&page.text) {
            if let Some(problem) = problem(&root, &page, &link) {
                broken.push(format!("{}:{line}: {link}: {problem}", page.name));
            }
        }
    }
    assert!(broken.is_empty(), "{} broken links:\n{}", broken.len(), broken.join("\n"));
}

fn problem(root: &Path, page: &pages::Page, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let file = if path.is_empty() {
        root.join(&page.name)
    } else {
        if path.starts_with('/') {
            return Some("must be relative".to_owned());
        }
        normal(&root.join(&page.name).parent().unwrap().join(path))
    };
    if !file.starts_with(root) {
        return Some("leads out of the repository".to_owned());
    }
    if !file.exists() {
        return Some("no such file".to_owned());
    }
    let anchor = anchor?;
    let text = std::fs::read_to_string(&file).ok()?;
    let anchors = markdown::anchors(&text);
    if anchors.iter().any(|known| known == anchor) {
        return None;
    }
    Some(format!("no such heading; there are {}", anchors.join(", ")))
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let root = pages::root();
    let summary = std::fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
    let listed: Vec<String> = markdown::links(&summary).into_iter().map(|(_, link)| link).collect();
    let mut missing = Vec::new();
    for file in pages::files_below(&root.join("docs"), "md") {
        let name = pages::relative(&root.join("docs"), &file);
        if name != "SUMMARY.md" && !listed.contains(&name) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {}", missing.join(", "));
}
