//! Which pages a site has. A page's front matter is read with the folder, since it may say at which address the page stands; the
//! text below is looked into when somebody asks for the whole list, and once for each state of the file.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use quad_core::canonical::sha256_hex;
use quad_runes::catalogue::Catalogue;
use serde_json::{Map, Value};

use super::front_matter::{FrontMatter, Problem, split};
use super::{LAYOUT_FILE, route};
use crate::limits::{PAGES_MAX, STAMP_DOUBT};
use crate::plan::scan::{parse_hiding_examples, title};
use crate::project::folder::{FileEntry, Folder};
use crate::project::survey::Survey;

/// A page, as its file was when it was read.
#[derive(Debug)]
pub struct Page {
    /// Path below the content folder.
    pub file: String,
    /// The address, beginning with a slash.
    pub url: String,
    /// What stands at its top.
    pub front_matter: FrontMatter,
    /// What is wrong with it.
    pub problem: Option<Problem>,
    /// Of its whole text; empty where that could not be read.
    pub hash: Arc<str>,
    body: OnceLock<Arc<Body>>,
}

/// What the text below the front matter says.
#[derive(Debug, Default)]
struct Body {
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
    /// Each with the form of its address that it is looked up by; in the order of these, then of files.
    by_url: Vec<(String, Arc<Page>)>,
    /// Folders that have a layout, as the beginning of a path: empty, or ending with a slash.
    layouts: HashSet<String>,
    /// Whether there are more files than are looked at.
    truncated: bool,
}

impl PageIndex {
    /// The index of a folder, and the survey by which to tell whether it still holds. Files that the previous index knows with
    /// the same size and time stamp are not read again.
    pub fn load(folder: &Folder, previous: Option<&PageIndex>) -> io::Result<(PageIndex, Survey)> {
        let (survey, entries) = Survey::take(folder)?;
        let known: HashMap<&str, &IndexedPage> = previous
            .into_iter()
            .flat_map(|index| &index.files)
            .map(|file| (file.entry.path.as_str(), file))
            .collect();
        let mut index = PageIndex { truncated: entries.len() >= PAGES_MAX, ..PageIndex::default() };
        for entry in entries {
            if let Some(above) = entry.path.strip_suffix(LAYOUT_FILE)
                && (above.is_empty() || above.ends_with('/'))
            {
                index.layouts.insert(above.to_owned());
                continue;
            }
            let file = known.get(entry.path.as_str()).copied();
            index.files.push(match file.filter(|file| file.is_current(&entry)) {
                Some(file) => file.clone(),
                None => IndexedPage::read(folder, entry, file),
            });
        }
        let keyed = |file: &IndexedPage| (route::key(&file.page.url), file.page.clone());
        index.by_url = index.files.iter().map(keyed).collect();
        index.by_url.sort_by(|(a, one), (b, other)| (a, &one.file).cmp(&(b, &other.file)));
        Ok((index, survey))
    }

    /// The page at an address, with or without the slashes around it.
    pub fn find(&self, url: &str) -> Option<&Page> {
        let wanted = route::key(url);
        let at = self.by_url.partition_point(|(key, _)| *key < wanted);
        self.by_url.get(at).filter(|(key, _)| *key == wanted).map(|(_, page)| &**page)
    }

    /// All pages, in the order of their addresses.
    pub fn pages(&self) -> impl Iterator<Item = &Arc<Page>> {
        self.by_url.iter().map(|(_, page)| page)
    }

    /// The layout that is nearest to a page.
    pub fn layout_of(&self, page: &Page) -> Option<String> {
        let mut above = page.file.as_str();
        loop {
            let folder = above.rfind('/').map_or("", |slash| above.get(..=slash).unwrap_or_default());
            if self.layouts.contains(folder) {
                return Some(format!("{folder}{LAYOUT_FILE}"));
            }
            if folder.is_empty() {
                return None;
            }
            above = folder.trim_end_matches('/');
        }
    }

    /// A hash over every file's name and text, and over the layouts.
    pub fn print(&self) -> String {
        let mut all = String::new();
        for file in &self.files {
            all.push_str(&format!("{}\n{}\n", file.entry.path, file.page.hash));
        }
        let mut layouts: Vec<&str> = self.layouts.iter().map(String::as_str).collect();
        layouts.sort_unstable();
        all.push_str(&layouts.join("\n"));
        sha256_hex(all.as_bytes())
    }

    /// What `refrakt://pages/index` says. Reads the texts of those pages that nobody has asked for yet.
    pub fn to_json(&self, site: &str, content_dir: &str, folder: &Folder, catalogue: &Catalogue) -> Value {
        let mut listed = Vec::with_capacity(self.by_url.len());
        let mut served: Option<(&str, &Page)> = None;
        for (key, page) in &self.by_url {
            let twin = served.filter(|(known, _)| known == key).map(|(_, first)| first.file.as_str());
            if twin.is_none() {
                served = Some((key, page));
            }
            listed.push(self.entry(page, twin, folder, catalogue));
        }
        let mut index = Map::new();
        index.insert("site".into(), site.into());
        index.insert("contentDir".into(), content_dir.into());
        index.insert("pages".into(), listed.into());
        if self.truncated {
            index
                .insert("truncated".into(), format!("only the first {PAGES_MAX} files are looked at").into());
        }
        index.into()
    }

    fn entry(&self, page: &Page, twin: Option<&str>, folder: &Folder, catalogue: &Catalogue) -> Value {
        let body = page.body(folder);
        let runes: BTreeSet<&str> =
            body.tags.iter().filter_map(|tag| catalogue.find_rune(tag)).map(|rune| rune.name.as_str()).collect();
        let title = page.front_matter.text("title").map(str::to_owned).or_else(|| body.heading.clone());
        let mut entry = Map::new();
        entry.insert("url".into(), page.url.as_str().into());
        entry.insert("file".into(), page.file.as_str().into());
        entry.insert("title".into(), title.into());
        entry.insert("layout".into(), self.layout_of(page).into());
        entry.insert("draft".into(), page.front_matter.is_draft().into());
        entry.insert("runes".into(), runes.into_iter().collect());
        entry.insert("frontmatter".into(), page.front_matter.values.clone().into());
        let taken =
            || twin.map(|twin| Problem::of_file(format!("{twin} has the same address and is shown at it")));
        if let Some(problem) = page.problem.clone().or_else(taken) {
            entry.insert("problem".into(), problem.to_json());
        }
        entry.into()
    }
}

impl Page {
    fn of(file: &str, text: &str, hash: Arc<str>) -> Page {
        let (front_matter, _) = split(text);
        let url = match front_matter.text("slug") {
            Some(slug) => route::url_of_slug(slug),
            None => route::url_of_file(file),
        };
        let no_text = || {
            let slug = front_matter.values.get("slug").filter(|slug| !slug.is_string() && !slug.is_null());
            slug.map(|_| Problem::of_file("the slug is no text; write it in quotes"))
        };
        let problem = front_matter.problem.clone().or_else(no_text);
        Page { file: file.to_owned(), url, front_matter, problem, hash, body: OnceLock::new() }
    }

    fn broken(file: &str, message: String) -> Page {
        let problem = Some(Problem::of_file(message));
        Page { problem, body: OnceLock::from(Arc::default()), ..Page::of(file, "", Arc::from("")) }
    }

    fn body(&self, folder: &Folder) -> Arc<Body> {
        if let Some(known) = self.body.get() {
            return known.clone();
        }
        let text = folder.page_text(&self.file).ok().flatten().unwrap_or_default();
        let body = Arc::new(Body::of(split(&text).1));
        // A save in between is another state, which is read as one by whoever looks next.
        if sha256_hex(text.as_bytes()) == *self.hash {
            let _ = self.body.set(body.clone());
        }
        body
    }
}

impl Body {
    fn of(text: &str) -> Body {
        let Some(document) = parse_hiding_examples(text) else { return Body::default() };
        let tags = document.root.walk().filter_map(|node| node.tag.clone()).collect();
        Body { heading: title(&document.root), tags }
    }
}

impl IndexedPage {
    /// Reads a file. If it says what it said before, what is known of it stays.
    fn read(folder: &Folder, entry: FileEntry, known: Option<&IndexedPage>) -> IndexedPage {
        let read_at = SystemTime::now();
        let page = match folder.page_text(&entry.path) {
            Ok(Some(text)) => {
                let hash: Arc<str> = sha256_hex(text.as_bytes()).into();
                match known.filter(|known| known.page.hash == hash) {
                    Some(known) => known.page.clone(),
                    None => Arc::new(Page::of(&entry.path, &text, hash)),
                }
            }
            // Gone between the listing and the reading.
            Ok(None) => Arc::new(Page::broken(&entry.path, "the file is gone".into())),
            Err(error) => Arc::new(Page::broken(&entry.path, format!("the file cannot be read: {error}"))),
        };
        IndexedPage { entry, read_at, page }
    }

    /// Whether what was read is still what the file holds.
    fn is_current(&self, now: &FileEntry) -> bool {
        let settled = self.read_at.duration_since(self.entry.modified).is_ok_and(|age| age > STAMP_DOUBT);
        settled && self.entry == *now
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn written(files: &[(&str, &str)]) -> (tempfile::TempDir, Folder, PageIndex) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let folder = Folder::new(root.path());
        let index = PageIndex::load(&folder, None).unwrap().0;
        (root, folder, index)
    }

    #[test]
    fn pages_are_listed_by_address_with_their_nearest_layout() {
        let (_root, folder, index) = written(&[
            ("_layout.md", "x"),
            ("index.md", "---\ntitle: Home\n---\n{% callout %}\na\n{% /callout %}\n\n```\n{% hero %}\n```\n"),
            ("docs/_layout.md", "x"),
            ("docs/02-b/c.md", "# Third *one*\n\n{% nonsense /%}\n"),
            ("z.md", "---\nslug: about\ndraft: true\n---\n"),
            ("my_layout.md", "---\nslug: 7\n---\n"),
        ]);
        let json = index.to_json("main", "content", &folder, &Catalogue::all_builtin());
        let of = |key: &str| {
            json["pages"].as_array().unwrap().iter().map(|page| page[key].clone()).collect::<Vec<_>>()
        };
        assert_eq!(of("url"), ["/", "/about", "/docs/b/c", "/my_layout"]);
        assert_eq!(of("title"), [json!("Home"), json!(null), json!("Third one"), json!(null)]);
        assert_eq!(of("layout"), ["_layout.md", "_layout.md", "docs/_layout.md", "_layout.md"]);
        assert_eq!(of("draft"), [false, true, false, false]);
        assert_eq!(of("runes"), [json!(["hint"]), json!([]), json!([]), json!([])]);
        assert_eq!(json["pages"][3]["problem"]["line"], 1);
        assert_eq!(json["pages"][0].get("problem"), None);
    }

    #[test]
    fn of_two_files_at_one_address_the_first_is_shown() {
        let (_root, folder, index) =
            written(&[("a.md", "# one"), ("a/index.md", "# two"), ("b.md", "---\nslug: /a/\n---\n")]);
        assert_eq!(index.find("a/").unwrap().file, "a.md");
        let json = index.to_json("main", "c", &folder, &Catalogue::core());
        assert_eq!(json["pages"][0].get("problem"), None);
        for twin in [1, 2] {
            assert!(
                json["pages"][twin]["problem"]["message"].as_str().unwrap().starts_with("a.md has"),
                "{json}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_listed_with_its_problem() {
        let (root, folder, _) = written(&[("a.md", "---\na: [\n---\n# A\n")]);
        let big = usize::try_from(crate::limits::PAGE_FILE_BYTES_MAX).unwrap() + 1;
        fs::write(root.path().join("big.md"), vec![b' '; big]).unwrap();
        let index = PageIndex::load(&folder, None).unwrap().0;
        let json = index.to_json("main", "c", &folder, &Catalogue::core());
        assert_eq!(json["pages"][0]["title"], "A", "the page is still one");
        assert!(json["pages"][0]["problem"]["line"].as_u64().unwrap() >= 2, "{json}");
        assert!(json["pages"][1]["problem"]["message"].as_str().unwrap().contains("larger"), "{json}");
    }

    #[test]
    fn an_unchanged_file_is_looked_into_once() {
        let (root, folder, first) = written(&[("a.md", "# one"), ("b.md", "# b")]);
        fs::write(root.path().join("b.md"), "# c").unwrap();
        let second = PageIndex::load(&folder, Some(&first)).unwrap().0;
        let page = |index: &PageIndex, at: usize| index.by_url[at].1.clone();
        assert!(Arc::ptr_eq(&page(&first, 0), &page(&second, 0)));
        assert!(!Arc::ptr_eq(&page(&first, 1), &page(&second, 1)));
        assert_ne!(first.print(), second.print());
    }
}
