//! The limits of this crate, each with its reason.

use std::time::Duration;

/// Largest `refrakt.config.json` or `package.json`, in bytes. Real ones have a few kilobytes.
pub const CONFIG_FILE_BYTES_MAX: u64 = 1 << 20;

/// Most sites of one project. Keeps detection within milliseconds.
pub const SITES_MAX: usize = 64;

/// Most plugins of one site, and most dependencies that are checked: each costs a lookup in `node_modules`.
pub const PLUGINS_MAX: usize = 256;

/// Most Markdown files below the plan folder: five times the size that is benchmarked.
pub const PLAN_FILES_MAX: usize = 50_000;

/// Most threads that read a plan for the first time. More would wait for the disk.
pub const LOAD_THREADS_MAX: usize = 8;

/// A plan with fewer files is read on one thread: starting others would take longer.
pub const PARALLEL_LOAD_FILES_MIN: usize = 64;

/// Most files that are read to find one entity before the plan has been read. Several have an id in their name only if
/// the id is short.
pub const NAMED_FILES_READ_MAX: usize = 32;

/// Most answers that are compared with the first state of the plan. Later ones wait for that state.
pub const EARLY_ANSWERS_MAX: usize = 1_000;

/// Largest plan file, in bytes. The longest known has 90 kB.
pub const PLAN_FILE_BYTES_MAX: u64 = 1 << 20;

/// Deepest folder below the plan folder that is read.
pub const PLAN_DEPTH_MAX: usize = 32;

/// Most symbolic links in one folder that are looked at: links to links could otherwise list a folder many times.
pub const LINKS_MAX: usize = 1_000;

/// Most dependency cycles that a validation reports. A cycle can be as long as the plan.
pub const CYCLES_MAX: usize = 100;

/// A file that changed less than this ago may be only partly saved. Between truncating and writing the largest known
/// plan file an editor needs less than 1 ms, and somewhat more on a busy machine.
pub const SAVE_SETTLE_TIME: Duration = Duration::from_millis(16);

/// A file that was truncated less than this ago is expected to be filled: an empty plan file is hardly ever saved on
/// purpose.
pub const TRUNCATED_FILE_GRACE: Duration = Duration::from_millis(240);

/// How often a file that keeps changing is read again before its current text is accepted.
pub const READ_RETRIES_MAX: usize = 16;

/// A modification time this close to the time of reading cannot tell two states apart: file systems have a resolution
/// of up to two seconds.
pub const MTIME_RESOLUTION: Duration = Duration::from_secs(2);

/// How long silence of inotify is trusted before every file is checked again. A change that no system call made
/// (memory-mapped files) is found after this time at the latest. Checking 10,000 files takes about 20 ms, 0.5 % of this
/// interval.
pub const FULL_RESCAN_INTERVAL: Duration = Duration::from_secs(4);

/// The shortest interval between two polls.
pub const POLL_INTERVAL_MIN: Duration = Duration::from_millis(200);

/// The longest interval between two polls, however large the plan is.
pub const POLL_INTERVAL_MAX: Duration = Duration::from_secs(5);

/// A poll may take this fraction of the time: polling costs at most 2 % of one core.
pub const POLL_DUTY_DIVISOR: u32 = 50;

/// Most entities that one change lists. A larger change invalidates all of them by one tag.
pub const CHANGE_ENTITIES_MAX: usize = 200;

/// Most entities that one call of `plan_update` changes: as many as a person can review in one diff.
pub const UPDATE_ENTITIES_MAX: usize = 100;

/// Most items that `plan_next` returns.
pub const NEXT_COUNT_MAX: usize = 1_000;

/// Most events of a history.
pub const HISTORY_EVENTS_MAX: usize = 1_000;

/// Events of the history of one entity, and of the whole plan, if the caller names no number: those of the npm package.
pub const ENTITY_HISTORY_EVENTS: usize = 20;

/// See [`ENTITY_HISTORY_EVENTS`].
pub const PLAN_HISTORY_EVENTS: usize = 50;

/// Most commits that a history looks at, newest first.
pub const HISTORY_COMMITS_MAX: usize = 20_000;

/// Longest time that a history reads commits.
pub const HISTORY_TIME_MAX: Duration = Duration::from_secs(20);

/// Most related entities that a context contains in full. The others are listed by id.
pub const CONTEXT_ENTITIES_MAX: usize = 50;

/// Longest text that is validated, in bytes: that of a plan file.
pub const CONTENT_BYTES_MAX: usize = 1 << 20;

/// Most findings about one text.
pub const FINDINGS_MAX: usize = 200;

/// Longest title, in characters: it is one line, and the file is named after it.
pub const TITLE_CHARS_MAX: usize = 200;

/// Longest value of an attribute, in characters.
pub const ATTRIBUTE_CHARS_MAX: usize = 1_000;

/// Longest file name that is made from a title, in bytes, without its extension.
pub const FILE_STEM_BYTES_MAX: usize = 80;

/// Most pages of one site: its folder is listed by the same code as the plan.
pub const PAGES_MAX: usize = PLAN_FILES_MAX;

/// Largest page, in bytes: that of a plan file.
pub const PAGE_FILE_BYTES_MAX: u64 = PLAN_FILE_BYTES_MAX;

/// Longest front matter, in bytes. A page has a dozen keys, and the index of pages repeats all of them.
pub const FRONT_MATTER_BYTES_MAX: usize = 16 << 10;

/// Largest size of one front matter with its aliases expanded: one per byte of a string and one per value. Nine lines
/// of aliases can expand to a billion values.
pub const FRONT_MATTER_EXPANDED_SIZE_MAX: usize = 4 * FRONT_MATTER_BYTES_MAX;

/// Most bytes of files that one page shows with `snippet` and `data`: that of a page's own text. A file counts each time
/// that it is shown.
pub const SHOWN_FILES_BYTES_MAX: usize = 1 << 20;

/// Most rows of a table that a page shows. Each row costs several nodes of the rendered page.
pub const SHOWN_TABLE_ROWS_MAX: usize = 5_000;

/// Most cells of the tables that one page reads, before rows and columns are selected. A short file can have very many
/// empty cells: each row has one for each column.
pub const SHOWN_TABLE_CELLS_MAX: usize = 200_000;

/// Most values in `where` of one table. Each may be a pattern, which is compiled.
pub const WHERE_VALUES_MAX: usize = 64;

/// Most bytes that a compiled pattern of a page may use, so that a short pattern cannot use much memory.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Largest part of an answer about the plan, in bytes. Larger answers come in pages, because hosts cut long results.
pub const PLAN_PAGE_BYTES_MAX: usize = 1 << 20;

/// Deepest nesting of front matter.
pub const FRONT_MATTER_DEPTH_MAX: usize = 32;
