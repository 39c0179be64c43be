//! The pages of a site. Front matter is parsed when the folder is read, because it may set the page's URL. The text
//! below it is parsed when the whole list is requested, once for each state of the file.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use quad_core::canonical::sha256_hex;
use serde_json::{Map, Value};

use super::front_matter::{FrontMatter, Problem, parse_front_matter};
use super::{LAYOUT_FILE, route};
use crate::limits::{MTIME_RESOLUTION, PAGES_MAX};
use crate::plan::parse::{find_title, parse_ignoring_fences};
use crate::project::Site;
use crate::project::project_dir::{FileEntry, ProjectDir};
use crate::project_cache::dir_scan::DirScan;

/// A page, as its file was when it was read.
#[derive(Debug)]
pub struct Page {
    /// Path below the content folder.
    pub file: String,
    /// The URL, with a leading slash.
    pub url: String,
    /// The front matter.
    pub front_matter: FrontMatter,
    /// What is wrong with the page.
    pub problem: Option<Problem>,
    /// SHA-256 of the whole file; empty if the file could not be read.
    pub hash: Arc<str>,
    body: OnceLock<Arc<BodySummary>>,
}

/// What the index needs of the text below the front matter.
#[derive(Debug, Default)]
struct BodySummary {
    heading: Option<String>,
    tags: BTreeSet<String>,
}

/// A page with the stamp of its file.
#[derive(Clone, Debug)]
struct IndexedPage {
    entry: FileEntry,
    read_at: SystemTime,
    page: Arc<Page>,
}

/// The pages of one content folder.
#[derive(Debug, Default)]
pub struct PageIndex {
    files: Vec<IndexedPage>,
    /// The pages with their normalized URLs, sorted by URL, then by file.
    by_url: Vec<(String, Arc<Page>)>,
    /// Folders that have a layout, as path prefixes: empty, or with a trailing slash.
    layouts: HashSet<String>,
    /// Whether the folder has more files than [`PAGES_MAX`].
    truncated: bool,
}

impl PageIndex {
    /// The index of a folder, and the scan that tells whether it is still current. A file with the same size and
    /// modification time as in `previous` is not read again.
    pub fn load(folder: &ProjectDir, previous: Option<&PageIndex>) -> io::Result<(PageIndex, DirScan)> {
        let (dir_scan, entries) = DirScan::scan(folder)?;
        let previous_pages: HashMap<&str, &IndexedPage> = previous
            .into_iter()
            .flat_map(|index| &index.files)
            .map(|file| (file.entry.path.as_str(), file))
            .collect();
        let mut index = PageIndex { truncated: entries.len() >= PAGES_MAX, ..PageIndex::default() };
        for entry in entries {
            if let Some(dir_prefix) = entry.path.strip_suffix(LAYOUT_FILE)
                && (dir_prefix.is_empty() || dir_prefix.ends_with('/'))
            {
                index.layouts.insert(dir_prefix.to_owned());
                continue;
            }
            let file = previous_pages.get(entry.path.as_str()).copied();
            index.files.push(match file.filter(|file| file.is_current(&entry)) {
                Some(file) => file.clone(),
                None => IndexedPage::load(folder, entry, file),
            });
        }
        let with_key = |file: &IndexedPage| (route::normalize_url(&file.page.url), file.page.clone());
        index.by_url = index.files.iter().map(with_key).collect();
        index.by_url.sort_by(|(a, one), (b, other)| (a, &one.file).cmp(&(b, &other.file)));
        Ok((index, dir_scan))
    }

    /// The page at a URL, with or without slashes around it.
    pub fn find(&self, url: &str) -> Option<&Page> {
        let normalized = route::normalize_url(url);
        let index = self.by_url.partition_point(|(page_key, _)| *page_key < normalized);
        self.by_url.get(index).filter(|(page_key, _)| *page_key == normalized).map(|(_, page)| &**page)
    }

    /// All pages, in the order of their URLs.
    pub fn pages(&self) -> impl Iterator<Item = &Arc<Page>> {
        self.by_url.iter().map(|(_, page)| page)
    }

    /// The layout nearest to a page.
    pub fn layout_of(&self, page: &Page) -> Option<String> {
        let mut path = page.file.as_str();
        loop {
            let dir = path.rfind('/').map_or("", |slash| path.get(..=slash).unwrap_or_default());
            if self.layouts.contains(dir) {
                return Some(format!("{dir}{LAYOUT_FILE}"));
            }
            if dir.is_empty() {
                return None;
            }
            path = dir.trim_end_matches('/');
        }
    }

    /// A hash of every file's name and text, and of the layouts.
    pub fn fingerprint(&self) -> String {
        let mut hash_input = String::new();
        for file in &self.files {
            hash_input.push_str(&format!("{}\n{}\n", file.entry.path, file.page.hash));
        }
        let mut layouts: Vec<&str> = self.layouts.iter().map(String::as_str).collect();
        layouts.sort_unstable();
        hash_input.push_str(&layouts.join("\n"));
        sha256_hex(hash_input.as_bytes())
    }

    /// The answer of `refrakt://pages/index`. Parses the texts that have not been parsed yet.
    pub fn to_json(&self, site: &Site, content_dir: &str, folder: &ProjectDir) -> Value {
        let mut entries = Vec::with_capacity(self.by_url.len());
        let mut first_with_url: Option<(&str, &Page)> = None;
        for (key, page) in &self.by_url {
            let duplicate_of = first_with_url
                .filter(|(known_key, _)| known_key == key)
                .map(|(_, first)| first.file.as_str());
            if duplicate_of.is_none() {
                first_with_url = Some((key, page));
            }
            entries.push(self.entry(page, duplicate_of, folder, site));
        }
        let mut index = Map::new();
        index.insert("site".into(), site.name.as_str().into());
        index.insert("contentDir".into(), content_dir.into());
        index.insert("pages".into(), entries.into());
        if self.truncated {
            index.insert("truncated".into(), format!("only the first {PAGES_MAX} files are indexed").into());
        }
        index.into()
    }

    fn entry(&self, page: &Page, duplicate_of: Option<&str>, folder: &ProjectDir, site: &Site) -> Value {
        let body = page.body(folder);
        // In plain Markdown, what looks like a tag is text.
        let tags = body.tags.iter().filter(|_| !site.config.is_plain_markdown);
        let runes: BTreeSet<&str> =
            tags.filter_map(|tag| site.catalogue.find_rune(tag)).map(|rune| rune.name.as_str()).collect();
        let title = page.front_matter.get_str("title").map(str::to_owned).or_else(|| body.heading.clone());
        let mut entry = Map::new();
        entry.insert("url".into(), page.url.as_str().into());
        entry.insert("file".into(), page.file.as_str().into());
        entry.insert("title".into(), title.into());
        entry.insert("layout".into(), self.layout_of(page).into());
        entry.insert("draft".into(), page.front_matter.is_draft().into());
        entry.insert("runes".into(), runes.into_iter().collect());
        entry.insert("frontmatter".into(), page.front_matter.values.clone().into());
        let duplicate_problem = || {
            duplicate_of.map(|file| Problem::for_file(format!("{file} has the same URL and is served at it")))
        };
        if let Some(problem) = page.problem.clone().or_else(duplicate_problem) {
            entry.insert("problem".into(), problem.to_json());
        }
        entry.into()
    }
}

impl Page {
    fn parse(file: &str, text: &str, hash: Arc<str>) -> Page {
        let (front_matter, _) = parse_front_matter(text);
        let url = match front_matter.get_str("slug") {
            Some(slug) => route::url_of_slug(slug),
            None => route::url_of_file(file),
        };
        let slug_problem = || {
            let slug = front_matter.values.get("slug").filter(|slug| !slug.is_string() && !slug.is_null());
            slug.map(|_| Problem::for_file("the slug must be a string; write it in quotes"))
        };
        let problem = front_matter.problem.clone().or_else(slug_problem);
        Page { file: file.to_owned(), url, front_matter, problem, hash, body: OnceLock::new() }
    }

    fn unreadable(file: &str, message: String) -> Page {
        let problem = Some(Problem::for_file(message));
        Page { problem, body: OnceLock::from(Arc::default()), ..Page::parse(file, "", Arc::from("")) }
    }

    fn body(&self, folder: &ProjectDir) -> Arc<BodySummary> {
        if let Some(cached) = self.body.get() {
            return cached.clone();
        }
        let text = folder.read_page(&self.file).ok().flatten().unwrap_or_default();
        let body = Arc::new(BodySummary::from_text(parse_front_matter(&text).1));
        // If the file changed in between, this is another state, and the next read parses it.
        if sha256_hex(text.as_bytes()) == *self.hash {
            let _ = self.body.set(body.clone());
        }
        body
    }
}

impl BodySummary {
    fn from_text(text: &str) -> BodySummary {
        let Some(document) = parse_ignoring_fences(text) else { return BodySummary::default() };
        let tags = document.root.descendants().filter_map(|node| node.tag.clone()).collect();
        BodySummary { heading: find_title(&document.root), tags }
    }
}

impl IndexedPage {
    /// Reads a file. With the same hash as before, the previous page is reused.
    fn load(folder: &ProjectDir, entry: FileEntry, previous: Option<&IndexedPage>) -> IndexedPage {
        let read_at = SystemTime::now();
        let page = match folder.read_page(&entry.path) {
            Ok(Some(text)) => {
                let hash: Arc<str> = sha256_hex(text.as_bytes()).into();
                match previous.filter(|previous| previous.page.hash == hash) {
                    Some(previous) => previous.page.clone(),
                    None => Arc::new(Page::parse(&entry.path, &text, hash)),
                }
            }
            // The file was deleted after it was listed.
            Ok(None) => Arc::new(Page::unreadable(&entry.path, "the file was deleted".into())),
            Err(error) => {
                Arc::new(Page::unreadable(&entry.path, format!("the file cannot be read: {error}")))
            }
        };
        IndexedPage { entry, read_at, page }
    }

    /// Whether the file still holds what was read.
    fn is_current(&self, entry: &FileEntry) -> bool {
        let is_settled =
            self.read_at.duration_since(self.entry.modified).is_ok_and(|age| age > MTIME_RESOLUTION);
        is_settled && self.entry == *entry
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use quad_runes::catalogue::Catalogue;
    use serde_json::json;

    use super::*;
    use crate::project::SiteConfig;

    fn site(catalogue: Catalogue) -> Site {
        let (config, catalogue) = (SiteConfig::default(), Arc::new(catalogue));
        Site { name: "main".into(), config, catalogue, problems: Vec::new(), opaque: Vec::new() }
    }

    fn load_files(files: &[(&str, &str)]) -> (tempfile::TempDir, ProjectDir, PageIndex) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let folder = ProjectDir::new(root.path());
        let index = PageIndex::load(&folder, None).unwrap().0;
        (root, folder, index)
    }

    #[test]
    fn index_lists_pages_by_url_with_nearest_layout() {
        let (_root, folder, index) = load_files(&[
            ("_layout.md", "x"),
            ("index.md", "---\ntitle: Home\n---\n{% callout %}\na\n{% /callout %}\n\n```\n{% hero %}\n```\n"),
            ("docs/_layout.md", "x"),
            ("docs/02-b/c.md", "# Third *one*\n\n{% nonsense /%}\n"),
            ("z.md", "---\nslug: about\ndraft: true\n---\n"),
            ("my_layout.md", "---\nslug: 7\n---\n"),
        ]);
        let json = index.to_json(&site(Catalogue::all_builtin()), "content", &folder);
        let values_of = |key: &str| {
            json["pages"].as_array().unwrap().iter().map(|page| page[key].clone()).collect::<Vec<_>>()
        };
        assert_eq!(values_of("url"), ["/", "/about", "/docs/b/c", "/my_layout"]);
        assert_eq!(values_of("title"), [json!("Home"), json!(null), json!("Third one"), json!(null)]);
        assert_eq!(values_of("layout"), ["_layout.md", "_layout.md", "docs/_layout.md", "_layout.md"]);
        assert_eq!(values_of("draft"), [false, true, false, false]);
        assert_eq!(values_of("runes"), [json!(["hint"]), json!([]), json!([]), json!([])]);
        assert_eq!(json["pages"][3]["problem"]["line"], 1);
        assert_eq!(json["pages"][0].get("problem"), None);
    }

    #[test]
    fn duplicate_url_serves_first_file() {
        let (_root, folder, index) =
            load_files(&[("a.md", "# one"), ("a/index.md", "# two"), ("b.md", "---\nslug: /a/\n---\n")]);
        assert_eq!(index.find("a/").unwrap().file, "a.md");
        let json = index.to_json(&site(Catalogue::core()), "c", &folder);
        assert_eq!(json["pages"][0].get("problem"), None);
        for position in [1, 2] {
            assert!(
                json["pages"][position]["problem"]["message"].as_str().unwrap().starts_with("a.md has"),
                "{json}"
            );
        }
    }

    #[test]
    fn unreadable_page_is_listed_with_problem() {
        let (root, folder, _) = load_files(&[("a.md", "---\na: [\n---\n# A\n")]);
        let big = usize::try_from(crate::limits::PAGE_FILE_BYTES_MAX).unwrap() + 1;
        fs::write(root.path().join("big.md"), vec![b' '; big]).unwrap();
        let index = PageIndex::load(&folder, None).unwrap().0;
        let json = index.to_json(&site(Catalogue::core()), "c", &folder);
        assert_eq!(json["pages"][0]["title"], "A", "the page is still one");
        assert!(json["pages"][0]["problem"]["line"].as_u64().unwrap() >= 2, "{json}");
        assert!(json["pages"][1]["problem"]["message"].as_str().unwrap().contains("larger"), "{json}");
    }

    #[test]
    fn unchanged_page_is_reused_on_reload() {
        let (root, folder, first) = load_files(&[("a.md", "# one"), ("b.md", "# b")]);
        fs::write(root.path().join("b.md"), "# c").unwrap();
        let second = PageIndex::load(&folder, Some(&first)).unwrap().0;
        let page = |index: &PageIndex, position: usize| index.by_url[position].1.clone();
        assert!(Arc::ptr_eq(&page(&first, 0), &page(&second, 0)));
        assert!(!Arc::ptr_eq(&page(&first, 1), &page(&second, 1)));
        assert_ne!(first.fingerprint(), second.fingerprint());
    }
}
