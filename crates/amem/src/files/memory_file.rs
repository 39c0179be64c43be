//! A memory file whose format is detected from its content.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quad_core::{Error, Kind, Result, input_file};
use serde_json::Value;

use super::amem_file::MAGIC;
use super::limits::{DETECTION_LINES, READ_BUFFER_BYTES};
use super::line_reader::{Line, LineReader};
use super::{AmemReader, BadLines, Item, JsonlReader, ServerMemoryReader, parse_error};

/// The formats of memory files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// The `.amem` of `agentic-memory`.
    Amem,
    /// Our own JSONL.
    Jsonl,
    /// The JSONL of `@modelcontextprotocol/server-memory`.
    ServerMemory,
}

impl FileFormat {
    /// The name, as commands print it.
    pub fn as_str(self) -> &'static str {
        match self {
            FileFormat::Amem => "amem",
            FileFormat::Jsonl => "jsonl",
            FileFormat::ServerMemory => "server-memory",
        }
    }
}

/// An open file: a stream of items that reports its progress.
pub struct MemoryFile {
    format: FileFormat,
    reader: Reader,
    bytes: u64,
    bytes_read: Arc<AtomicU64>,
    items_read: u64,
}

enum Reader {
    Amem(Box<AmemReader<File>>),
    Jsonl(Box<JsonlReader<CountingBufReader>>),
    ServerMemory(Box<ServerMemoryReader<CountingBufReader>>),
}

impl MemoryFile {
    /// Opens a file of any format. A format without times gets `now`, in microseconds since 1970, as its creation
    /// time, and session 0.
    pub fn open(path: &Path, now: i64) -> Result<MemoryFile> {
        let read_error = |error: std::io::Error| {
            Error::new(Kind::BadInput, "FILE_ERROR", format!("{} cannot be read: {error}", path.display()))
                .hint("Check the path, and whether this user may read the file")
        };
        let (mut file, size) = input_file::open(path).map_err(|error| error.with_code("FILE_ERROR"))?;
        let format = detect_format(&mut file)?;
        file.seek(SeekFrom::Start(0)).map_err(read_error)?;
        let bytes_read = Arc::new(AtomicU64::new(0));
        let buffered = |file: File| {
            BufReader::with_capacity(READ_BUFFER_BYTES, CountingFile { file, bytes_read: bytes_read.clone() })
        };
        let reader = match format {
            FileFormat::Amem => Reader::Amem(Box::new(AmemReader::open(file)?)),
            FileFormat::Jsonl => Reader::Jsonl(Box::new(JsonlReader::open(buffered(file))?)),
            FileFormat::ServerMemory => {
                Reader::ServerMemory(Box::new(ServerMemoryReader::new(buffered(file), now, 0)))
            }
        };
        Ok(MemoryFile { format, reader, bytes: size, bytes_read, items_read: 0 })
    }

    /// Reads the whole file if its format must be valid as a whole, so that nothing of an invalid one is imported.
    /// Lines of JSONL are independent and are not read twice.
    pub fn validate(path: &Path) -> Result<()> {
        let mut file = MemoryFile::open(path, 0)?;
        if file.format == FileFormat::Amem {
            file.try_for_each(|item| item.map(drop))?;
        }
        Ok(())
    }

    /// The format.
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// How much has been read and the total, in a unit of the format.
    pub fn progress(&self) -> (u64, u64) {
        match &self.reader {
            Reader::Amem(reader) => (self.items_read, reader.node_count() + reader.edge_count()),
            _ => (self.bytes_read.load(Ordering::Relaxed), self.bytes),
        }
    }

    /// The lines rejected so far.
    pub fn bad_lines(&self) -> BadLines {
        match &self.reader {
            Reader::Amem(_) => BadLines::default(),
            Reader::Jsonl(reader) => reader.bad_lines().clone(),
            Reader::ServerMemory(reader) => reader.bad_lines().clone(),
        }
    }

    /// The number of vectors left out so far: see [`AmemReader::vectors_left_out`].
    pub fn vectors_left_out(&self) -> u64 {
        match &self.reader {
            Reader::Amem(reader) => reader.vectors_left_out(),
            _ => 0,
        }
    }
}

impl Iterator for MemoryFile {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Result<Item>> {
        let item = match &mut self.reader {
            Reader::Amem(reader) => reader.next(),
            Reader::Jsonl(reader) => reader.next(),
            Reader::ServerMemory(reader) => reader.next(),
        };
        self.items_read += u64::from(item.is_some());
        item
    }
}

/// Looks at the first bytes and, for text, at the first lines.
fn detect_format(file: &mut File) -> Result<FileFormat> {
    let mut magic = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(parse_error::io_error)?;
    if magic == MAGIC {
        return Ok(FileFormat::Amem);
    }
    file.seek(SeekFrom::Start(0)).map_err(parse_error::io_error)?;
    let mut lines = LineReader::new(BufReader::new(file));
    for _ in 0..DETECTION_LINES {
        let Some(line) = lines.next_line()? else { break };
        let Line::Text(text) = line else { continue };
        let Ok(line) = serde_json::from_str::<Value>(text) else { continue };
        if line["format"].is_string() {
            return Ok(FileFormat::Jsonl);
        }
        if line["type"] == "entity" || line["type"] == "relation" {
            return Ok(FileFormat::ServerMemory);
        }
    }
    Err(Error::new(Kind::BadInput, "BAD_FILE", "The format of the file is not supported").hint(
        "Import a .amem file, the JSONL of @modelcontextprotocol/server-memory, or an export of quad memory export",
    ))
}

type CountingBufReader = BufReader<CountingFile>;

/// A file that counts the bytes read.
struct CountingFile {
    file: File,
    bytes_read: Arc<AtomicU64>,
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn temp_file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn format_is_detected_from_contents() {
        let entity = "{\"type\":\"entity\",\"name\":\"Ada\",\"observations\":[]}\n";
        for (bytes, format, items) in [
            (entity.to_owned(), FileFormat::ServerMemory, 1),
            (format!("{{broken\n\n{entity}"), FileFormat::ServerMemory, 1),
            ("{\"format\":\"quadrivium-memory\",\"version\":1}\n".to_owned(), FileFormat::Jsonl, 0),
        ] {
            let file = temp_file(bytes.as_bytes());
            let mut opened = MemoryFile::open(file.path(), 5).unwrap();
            assert_eq!((opened.format(), opened.by_ref().count()), (format, items), "{bytes}");
            assert_eq!(opened.progress(), (bytes.len() as u64, bytes.len() as u64));
        }
    }

    #[test]
    fn unknown_files_are_rejected_with_hint() {
        for bytes in
            [&b""[..], b"AM", b"hello\nworld\n", b"[1]\n", b"{}", &[0xff; 4096], b"{\"type\":\"wish\"}"]
        {
            let error = MemoryFile::open(temp_file(bytes).path(), 5).err().unwrap();
            assert_eq!((error.kind(), error.code()), (Kind::BadInput, "BAD_FILE"), "{bytes:?}");
            assert!(error.hint_text().is_some());
        }
        assert_eq!(MemoryFile::open(temp_file(b"AMEM").path(), 5).err().unwrap().code(), "BAD_FILE");
        for path in ["/", "/nowhere/at/all"] {
            let error = MemoryFile::open(Path::new(path), 5).err().unwrap();
            assert_eq!(error.code(), "FILE_ERROR", "{path}");
            assert!(error.hint_text().is_some(), "{path}");
        }
        let unknown = temp_file(b"{\"format\":\"something-else\",\"version\":1}\n");
        assert!(MemoryFile::open(unknown.path(), 5).err().unwrap().message().starts_with("Line 1:"));
    }
}
