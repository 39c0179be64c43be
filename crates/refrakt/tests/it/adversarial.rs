//! Parsing any content of a project's folder ends without a panic.

use proptest::prelude::*;
use quad_refrakt::pages::front_matter::parse_front_matter;
use quad_refrakt::plan::parse::parse_file;
use quad_refrakt::plan::validate::validate;
use quad_refrakt::plan::{IndexFilter, PlanIndex, status};
use quad_refrakt::project::Config;

/// Meaningful fragments in any order, with random text between them.
fn text_from(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![4 => proptest::sample::select(pieces).prop_map(str::to_owned), 1 => any::<String>()];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

const PLAN_FRAGMENTS: &[&str] = &[
    "{% work id=\"WORK-1\" status=\"ready\" %}\n",
    "{% /work %}\n",
    "{% bug id=2 milestone=$m %}\n",
    "{% milestone name=\"m\" status=\"active\" /%}\n",
    "{% ref \"WORK-1\" /%}",
    "\n\n## Blocked by\n\n",
    "\n\n## Resolution\n\n",
    "Completed: ",
    "- [ ] a\n",
    "```\n",
    "\r\n",
    "\u{feff}",
    "{% ",
    "é",
];

const CONFIG_FRAGMENTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\"sites\"",
    "\"site\"",
    "\"plugins\"",
    "\"plan\"",
    "\"dir\"",
    "\\",
    "1",
    "null",
    "\n",
];

const FRONT_MATTER_FRAGMENTS: &[&str] = &[
    "---\n",
    "a: ",
    "b:\n  - ",
    "&x ",
    "*x",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "? ",
    ": ",
    "|\n",
    "> ",
    "\"",
    "'",
    "\n",
    "\r\n",
    "  ",
    "\t",
    "!!str ",
    "!<",
    "%YAML 1.2\n",
    "...\n",
    "#",
    "0x",
    "1e999",
    "~",
    "\u{feff}",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn plan_parsing_never_panics(texts in proptest::collection::vec(text_from(PLAN_FRAGMENTS), 1..4)) {
        let names = ["a.md", "work/b.md", "work/c/d.md"];
        let index = PlanIndex::from_texts(names.into_iter().zip(texts.iter().map(String::as_str)));
        index.to_json(&IndexFilter::default());
        status::plan_status(&index, None);
        validate(&index, true).to_json();
        for diagnostic in parse_file("a.md", &texts[0]).diagnostics {
            prop_assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
        }
    }

    #[test]
    fn config_parsing_never_panics(text in text_from(CONFIG_FRAGMENTS)) {
        for problem in Config::parse("refrakt.config.json", &text).problems {
            prop_assert!(problem.line >= 1 && problem.column >= 1);
        }
    }

    #[test]
    fn front_matter_parsing_never_panics(text in text_from(FRONT_MATTER_FRAGMENTS)) {
        let text = format!("---\n{text}");
        let (front_matter, body) = parse_front_matter(&text);
        prop_assert!(text.ends_with(body));
        if let Some(problem) = front_matter.problem {
            prop_assert!(front_matter.values.is_empty() && problem.line >= 1 && problem.column >= 1);
        }
    }
}
