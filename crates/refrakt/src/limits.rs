//! Every limit of this crate, with its reason.

use std::time::Duration;

/// Largest `refrakt.config.json` or `package.json` in bytes; real ones are a few kilobytes.
pub const CONFIG_FILE_BYTES_MAX: u64 = 1 << 20;

/// Most sites of one project, so that detection stays a matter of milliseconds.
pub const SITES_MAX: usize = 64;

/// Most plugins of one site, and most dependencies looked at: each costs a look into `node_modules`.
pub const PLUGINS_MAX: usize = 256;

/// Most Markdown files under the plan folder; five times the size that the index is measured at.
pub const PLAN_FILES_MAX: usize = 50_000;

/// Largest plan file in bytes; the longest known is 90 kB.
pub const PLAN_FILE_BYTES_MAX: u64 = 1 << 20;

/// Deepest folder below the plan folder that is looked into.
pub const PLAN_DEPTH_MAX: usize = 32;

/// Most rings of dependencies that a validation reports: whoever has more mends these first, and each can be as long as the plan.
pub const CYCLES_MAX: usize = 100;

/// A file that changed less than this ago may still be in the middle of a save: an editor that empties a file before it fills
/// it again needs less than a millisecond for the largest known plan file, and a little more where others use the processor.
pub const SAVE_SETTLE_TIME: Duration = Duration::from_millis(16);

/// A file that was emptied less than this ago is about to be filled: nobody saves an empty plan file on purpose.
pub const TRUNCATED_FILE_GRACE: Duration = Duration::from_millis(240);

/// How often a file that keeps changing is read again before what it holds is taken as it is.
pub const READ_RETRIES_MAX: usize = 16;

/// A time stamp that is this close to the moment of reading may belong to an earlier and to a later state alike: file systems
/// count in steps of up to two seconds.
pub const MTIME_RESOLUTION: Duration = Duration::from_secs(2);

/// How long it is enough to have heard of no change before every file is looked at nevertheless: so long at most does a change stay
/// unseen that no call made, as through mapped memory. A look at 10,000 files takes about 20 ms, which is half a percent of this.
pub const FULL_RESCAN_INTERVAL: Duration = Duration::from_secs(4);

/// The shortest time between two looks for changes that nobody asked for; a person who saves a file does not notice it.
pub const POLL_INTERVAL_MIN: Duration = Duration::from_millis(200);

/// The longest time between two of them, however large the plan is.
pub const POLL_INTERVAL_MAX: Duration = Duration::from_secs(5);

/// A look may take one part in so many of the time: looking for changes costs at most two percent of one core.
pub const POLL_DUTY_DIVISOR: u32 = 50;

/// Most entities that one change names one by one; a change of more is told to the readers of all.
pub const CHANGE_ENTITIES_MAX: usize = 200;

/// Most entities that one call of `plan.update` changes: as many as a person can review in one diff.
pub const UPDATE_ENTITIES_MAX: usize = 100;

/// Most items that `plan.next` gives.
pub const NEXT_COUNT_MAX: usize = 1_000;

/// Most related entities that a context shows in full; the rest by id.
pub const CONTEXT_ENTITIES_MAX: usize = 50;

/// Longest text that is validated, in bytes; that of a plan file.
pub const CONTENT_BYTES_MAX: usize = 1 << 20;

/// Most findings about one text: who has more mends these first.
pub const FINDINGS_MAX: usize = 200;

/// Longest title, in characters: it is one line, and the file is named after it.
pub const TITLE_CHARS_MAX: usize = 200;

/// Longest value of an attribute, in characters.
pub const ATTRIBUTE_CHARS_MAX: usize = 1_000;

/// Longest name of a file that is made from a title, in bytes, before its ending.
pub const FILE_STEM_BYTES_MAX: usize = 80;

/// Most pages of one site: the walk through its folder is that of the plan and stops where that stops.
pub const PAGES_MAX: usize = PLAN_FILES_MAX;

/// Largest page in bytes; that of a plan file.
pub const PAGE_FILE_BYTES_MAX: u64 = PLAN_FILE_BYTES_MAX;

/// Longest front matter in bytes. A page has a dozen keys; an index of all pages repeats every one of them.
pub const FRONT_MATTER_BYTES_MAX: usize = 16 << 10;

/// What the values of one front matter may come to once its aliases are written out: a byte for each sign of a text and one for
/// each value. Nine lines of aliases can stand for a billion values.
pub const FRONT_MATTER_EXPANDED_SIZE_MAX: usize = 4 * FRONT_MATTER_BYTES_MAX;

/// Deepest nesting of front matter.
pub const FRONT_MATTER_DEPTH_MAX: usize = 32;
