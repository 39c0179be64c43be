//! What the search engine gains over doing without it, as ratios within one run: the index and its tail against tokenising
//! every node, and the vector scan against a plain loop. Run with `cargo bench -p quad-amem`; a number as argument is the
//! count of nodes of a further round.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_amem::search::{
    Ask, Corpus, Doc, Engine, Extract, Filter, Page, Probe, Query, Source, Vector, embedder,
};
use quad_core::{Result, TenantId};

/// Nodes whose texts follow from their ids, so that a million need no memory.
#[derive(Clone, Copy)]
struct Made {
    nodes: u64,
}

/// A word of rank `rank` is about 1 / rank as common as the first, as in real texts.
fn word(chance: u64) -> u64 {
    let even = (chance % 1_000_003) as f64 / 1_000_003.0;
    (20_000_f64.powf(even)) as u64
}

fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn content(id: u64) -> String {
    let count = 12 + mix(id) % 14;
    let words = (0..count).map(|place| format!("w{:x}", mix(word(mix(id * 64 + place + 1))) % 1_000_000));
    words.collect::<Vec<_>>().join(" ")
}

impl Corpus for Made {
    fn after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let from = id.map_or(0, |id| id + 1);
        let doc = |id| Doc {
            id,
            event_type: (id % 6) as u8,
            session_id: (id / 100) as u32,
            created_at: id as i64,
            content: content(id),
            vector: None,
        };
        Ok((from..self.nodes).take(limit).map(doc).collect())
    }

    fn erased(&mut self, _: i64, _: usize) -> Result<Vec<(i64, u64)>> {
        Ok(Vec::new())
    }
}

impl Source for Made {
    fn extract(&self, _: &TenantId, ask: Ask) -> Result<Extract> {
        Extract::of(&mut self.clone(), ask)
    }
}

/// The middle of some runs.
fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..15)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() / 1024
}

/// Counts how many nodes have any of the words, by tokenising all: less than a search does.
fn naive(texts: &[String], words: &[&str]) -> usize {
    let has = |text: &String| {
        let lower = text.to_lowercase();
        lower.split(|c: char| !c.is_alphanumeric()).any(|token| words.contains(&token))
    };
    texts.iter().filter(|text| has(text)).count()
}

fn round(nodes: u64, folder: &std::path::Path) -> Result<()> {
    println!("\n{nodes} nodes");
    let tenant = TenantId::new("bench");
    let mut made = Made { nodes };
    let folder = folder.join(nodes.to_string());
    let begun = Instant::now();
    {
        let engine = Engine::new(&folder, Arc::new(made));
        engine.grown(&tenant, nodes);
        engine.settle();
    }
    println!("  index built in {:.0?}, resident {} MiB", begun.elapsed(), resident_mib());

    let engine = Engine::new(&folder, Arc::new(made));
    // The commonest words, and a rare one.
    let common = format!("w{:x} w{:x} w{:x}", mix(1) % 1_000_000, mix(2) % 1_000_000, mix(3) % 1_000_000);
    let rare = format!("w{:x}", mix(15_000) % 1_000_000);
    let page = Page { offset: 0, limit: 10 };
    let search = |text: &str, made: &mut Made, filter: &Filter| -> Result<usize> {
        Ok(engine.text(&tenant, made, &Query::parse(text)?, filter, page)?.hits.len())
    };
    let begun = Instant::now();
    search(&rare, &mut made, &Filter::default())?;
    println!("  first search after a start {:.1?}", begun.elapsed());
    // Half a tail, as a busy memory has it.
    made.nodes += 1_000;
    search(&rare, &mut made, &Filter::default())?;
    let phrase = {
        let text = content(nodes / 2);
        let words: Vec<&str> = text.split(' ').take(2).collect();
        format!("\"{}\"", words.join(" "))
    };
    let session = Filter { sessions: vec![7], ..Filter::default() };
    let none = Filter::default();
    let texts: Vec<String> = (0..nodes.min(100_000)).map(content).collect();
    let share = nodes as f64 / texts.len() as f64;
    for (name, text, filter) in [
        ("three common words", common.as_str(), &none),
        ("one rare word", rare.as_str(), &none),
        ("a phrase", phrase.as_str(), &none),
        ("a prefix", "w1a*", &none),
        ("common, one session", common.as_str(), &session),
    ] {
        let ours = median(|| drop(search(text, &mut made, filter)));
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let plain = median(|| {
            std::hint::black_box(naive(&texts, &words));
        })
        .mul_f64(share);
        let ratio = plain.as_secs_f64() / ours.as_secs_f64();
        println!("  {name:<20} {ours:>10.1?}  plain scan {plain:>10.1?}  {ratio:>8.1} times");
    }
    println!("  resident {} MiB before any vector", resident_mib());
    drop(texts);

    if nodes <= 200_000 {
        let begun = Instant::now();
        engine.similar(&tenant, &mut made, Probe::Text("w1 w2"), &none, 10, -1.0)?;
        println!("  vectors loaded in {:.0?}, resident {} MiB", begun.elapsed(), resident_mib());
        let ours = median(|| drop(engine.similar(&tenant, &mut made, Probe::Text(&common), &none, 10, -1.0)));
        let rows: Vec<Vec<f32>> = (0..nodes)
            .filter_map(|id| embedder::embed(&content(id)))
            .map(|vector| vector.numbers().to_vec())
            .collect();
        let probe = embedder::embed(&common).map(|vector| vector.numbers().to_vec()).unwrap_or_default();
        let plain = median(|| {
            let mut all: Vec<f32> =
                rows.iter().map(|row| row.iter().zip(&probe).map(|(a, b)| a * b).sum()).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            std::hint::black_box(all.first().copied());
        });
        let ratio = plain.as_secs_f64() / ours.as_secs_f64();
        println!("  {:<20} {ours:>10.1?}  plain loop {plain:>10.1?}  {ratio:>8.1} times", "likeness");
    }
    Ok(())
}

fn product() {
    let vectors: Vec<Vector> = (0..1_000).filter_map(|id| embedder::embed(&content(id))).collect();
    let Some(probe) = vectors.first() else { return };
    let ours = median(|| {
        for _ in 0..20 {
            std::hint::black_box(vectors.iter().map(|vector| probe.dot(vector)).fold(0.0, f32::max));
        }
    });
    let plain = median(|| {
        for _ in 0..20 {
            let product =
                |v: &Vector| v.numbers().iter().zip(probe.numbers()).map(|(a, b)| a * b).sum::<f32>();
            std::hint::black_box(vectors.iter().map(product).fold(0.0, f32::max));
        }
    });
    let each = ours.as_secs_f64() * 1e9 / (20.0 * vectors.len() as f64);
    println!("one product {each:.1} ns, {:.1} times a plain sum", plain.as_secs_f64() / ours.as_secs_f64());
    let begun = Instant::now();
    let texts: Vec<String> = (0..5_000).map(content).collect();
    let made = begun.elapsed();
    let begun = Instant::now();
    for text in &texts {
        std::hint::black_box(embedder::embed(text));
    }
    println!(
        "one embedding {:.1} µs (a text is made in {:.1} µs)",
        begun.elapsed().as_secs_f64() * 200.0,
        made.as_secs_f64() * 200.0
    );
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(quad_core::Error::internal)?;
    product();
    let more = std::env::args().filter_map(|argument| argument.parse().ok());
    for nodes in [10_000, 100_000].into_iter().chain(more) {
        round(nodes, folder.path())?;
    }
    Ok(())
}
