//! Compares the search engine with simple code in one run, as ratios: the index and memory segments with tokenising
//! every node, and the vector scan with a plain loop. Run with `cargo bench -p quad-amem`; a number as argument
//! adds a round with that many nodes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_amem::search::{
    Doc, DocPage, DocSnapshot, DocSource, Engine, Filter, Page, PageRequest, Query, SessionPlace,
    SimilarityQuery, Vector, embedder,
};
use quad_core::{Result, TenantId};

/// Nodes whose texts are computed from their ids, so that a million need no memory.
#[derive(Clone, Copy)]
struct GeneratedDocs {
    count: u64,
}

/// A word of rank `rank` is about 1 / rank as common as the first, as in real texts.
fn zipf_rank(random: u64) -> u64 {
    let uniform = (random % 1_000_003) as f64 / 1_000_003.0;
    (20_000_f64.powf(uniform)) as u64
}

fn hash(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn content_for(id: u64) -> String {
    let count = 12 + hash(id) % 14;
    let words = (0..count)
        .map(|position| format!("w{:x}", hash(zipf_rank(hash(id * 64 + position + 1))) % 1_000_000));
    words.collect::<Vec<_>>().join(" ")
}

impl DocSnapshot for GeneratedDocs {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let first_id = id.map_or(0, |id| id + 1);
        let doc = |id| Doc {
            id,
            event_type: (id % 6) as u8,
            session_id: (id / 100) as u32,
            created_at: id as i64,
            content: content_for(id),
            vector: None,
        };
        Ok((first_id..self.count).take(limit).map(doc).collect())
    }

    fn session_neighbors(&mut self, ids: &[u64]) -> Result<Vec<SessionPlace>> {
        let in_session = |id: &u64, other: u64| other < self.count && other / 100 == id / 100;
        let place = |id: &u64| SessionPlace {
            id: *id,
            previous: id.checked_sub(1).filter(|previous| in_session(id, *previous)),
            next: Some(id + 1).filter(|next| in_session(id, *next)),
        };
        Ok(ids.iter().map(place).collect())
    }

    fn deleted_after(&mut self, _: i64, _: usize) -> Result<Vec<(i64, u64)>> {
        Ok(Vec::new())
    }
}

impl DocSource for GeneratedDocs {
    fn read_page(&self, _: &TenantId, request: PageRequest) -> Result<DocPage> {
        DocPage::read(&mut self.clone(), request)
    }
}

/// The median of 15 runs.
fn median(mut operation: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..15)
        .map(|_| {
            let started = Instant::now();
            operation();
            started.elapsed()
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

/// Counts the nodes with any of the words by tokenising all texts: less work than a search does.
fn count_matches_naive(texts: &[String], words: &[&str]) -> usize {
    let has_any_word = |text: &String| {
        let lower = text.to_lowercase();
        lower.split(|c: char| !c.is_alphanumeric()).any(|token| words.contains(&token))
    };
    texts.iter().filter(|text| has_any_word(text)).count()
}

fn bench_size(nodes: u64, folder: &std::path::Path) -> Result<()> {
    println!("\n{nodes} nodes");
    let tenant = TenantId::new("bench");
    let mut docs = GeneratedDocs { count: nodes };
    let folder = folder.join(nodes.to_string());
    let started = Instant::now();
    {
        let engine = Engine::new(&folder, Arc::new(docs));
        engine.notify_added(&tenant, nodes);
        engine.wait_idle();
    }
    println!("  index built in {:.0?}, resident {} MiB", started.elapsed(), resident_mib());

    let engine = Engine::new(&folder, Arc::new(docs));
    // The most common words, and a rare one.
    let common = format!("w{:x} w{:x} w{:x}", hash(1) % 1_000_000, hash(2) % 1_000_000, hash(3) % 1_000_000);
    let rare = format!("w{:x}", hash(15_000) % 1_000_000);
    let page = Page { offset: 0, limit: 10 };
    let search = |text: &str, docs: &mut GeneratedDocs, filter: &Filter| -> Result<usize> {
        Ok(engine.search_text(&tenant, docs, &Query::parse(text)?, filter, page)?.hits.len())
    };
    let started = Instant::now();
    search(&rare, &mut docs, &Filter::default())?;
    println!("  first search after a start {:.1?}", started.elapsed());
    // Half-filled memory segments, as a busy memory has them.
    docs.count += 1_000;
    search(&rare, &mut docs, &Filter::default())?;
    let phrase = {
        let text = content_for(nodes / 2);
        let words: Vec<&str> = text.split(' ').take(2).collect();
        format!("\"{}\"", words.join(" "))
    };
    let session = Filter { sessions: vec![7], ..Filter::default() };
    let no_filter = Filter::default();
    let texts: Vec<String> = (0..nodes.min(100_000)).map(content_for).collect();
    let scale = nodes as f64 / texts.len() as f64;
    for (name, text, filter) in [
        ("three common words", common.as_str(), &no_filter),
        ("one rare word", rare.as_str(), &no_filter),
        ("a phrase", phrase.as_str(), &no_filter),
        ("a prefix", "w1a*", &no_filter),
        ("common, one session", common.as_str(), &session),
    ] {
        let engine_time = median(|| drop(search(text, &mut docs, filter)));
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let naive_time = median(|| {
            std::hint::black_box(count_matches_naive(&texts, &words));
        })
        .mul_f64(scale);
        let ratio = naive_time.as_secs_f64() / engine_time.as_secs_f64();
        println!("  {name:<20} {engine_time:>10.1?}  plain scan {naive_time:>10.1?}  {ratio:>8.1} times");
    }
    // The first eight words of a node, of any frequency.
    let eight_words = content_for(nodes / 2).split(' ').take(8).collect::<Vec<_>>().join(" ");
    for (name, text) in [("hybrid, 3 common words", &common), ("hybrid, 8 words", &eight_words)] {
        let time = median(|| drop(engine.search_hybrid(&tenant, &mut docs, text, &no_filter, 10)));
        println!("  {name:<22} {time:>8.1?}");
    }
    println!("  resident {} MiB before any vector", resident_mib());
    drop(texts);

    if nodes <= 200_000 {
        let started = Instant::now();
        engine.search_similar(&tenant, &mut docs, SimilarityQuery::Text("w1 w2"), &no_filter, 10, -1.0)?;
        println!("  vectors loaded in {:.0?}, resident {} MiB", started.elapsed(), resident_mib());
        let engine_time = median(|| {
            drop(engine.search_similar(
                &tenant,
                &mut docs,
                SimilarityQuery::Text(&common),
                &no_filter,
                10,
                -1.0,
            ))
        });
        let rows: Vec<Vec<f32>> = (0..nodes)
            .filter_map(|id| embedder::embed(&content_for(id)))
            .map(|vector| vector.components().to_vec())
            .collect();
        let query = embedder::embed(&common).map(|vector| vector.components().to_vec()).unwrap_or_default();
        let naive_time = median(|| {
            let mut scores: Vec<f32> =
                rows.iter().map(|row| row.iter().zip(&query).map(|(a, b)| a * b).sum()).collect();
            scores.sort_by(|a, b| b.total_cmp(a));
            std::hint::black_box(scores.first().copied());
        });
        let ratio = naive_time.as_secs_f64() / engine_time.as_secs_f64();
        println!(
            "  {:<20} {engine_time:>10.1?}  plain loop {naive_time:>10.1?}  {ratio:>8.1} times",
            "likeness"
        );
    }
    Ok(())
}

fn bench_dot_product() {
    let vectors: Vec<Vector> = (0..1_000).filter_map(|id| embedder::embed(&content_for(id))).collect();
    let Some(query) = vectors.first() else { return };
    let simd_time = median(|| {
        for _ in 0..20 {
            std::hint::black_box(vectors.iter().map(|vector| query.dot(vector)).fold(0.0, f32::max));
        }
    });
    let naive_time = median(|| {
        for _ in 0..20 {
            let naive_dot =
                |v: &Vector| v.components().iter().zip(query.components()).map(|(a, b)| a * b).sum::<f32>();
            std::hint::black_box(vectors.iter().map(naive_dot).fold(0.0, f32::max));
        }
    });
    let nanoseconds = simd_time.as_secs_f64() * 1e9 / (20.0 * vectors.len() as f64);
    println!(
        "one product {nanoseconds:.1} ns, {:.1} times a plain sum",
        naive_time.as_secs_f64() / simd_time.as_secs_f64()
    );
    let started = Instant::now();
    let texts: Vec<String> = (0..5_000).map(content_for).collect();
    let generation_time = started.elapsed();
    let started = Instant::now();
    for text in &texts {
        std::hint::black_box(embedder::embed(text));
    }
    println!(
        "one embedding {:.1} µs (a text is made in {:.1} µs)",
        started.elapsed().as_secs_f64() * 200.0,
        generation_time.as_secs_f64() * 200.0
    );
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(quad_core::Error::internal)?;
    bench_dot_product();
    let extra_sizes = std::env::args().filter_map(|argument| argument.parse().ok());
    for nodes in [10_000, 100_000].into_iter().chain(extra_sizes) {
        bench_size(nodes, folder.path())?;
    }
    Ok(())
}
