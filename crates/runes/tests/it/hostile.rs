//! Whatever a description of runes holds, reading it ends, without a panic.

use proptest::prelude::*;
use quad_runes::catalogue::Package;

/// Pieces that mean something to a reader, in any order, and anything between them.
fn text_of(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![4 => proptest::sample::select(pieces).prop_map(str::to_owned), 1 => any::<String>()];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

const RUNES: &[&str] = &[
    "[runes.a]\n",
    "[engine.A]\n",
    "description = 'x'\n",
    "content = 'b: any*'\n",
    "content = { kind = 'when' }\n",
    "[runes.a.attributes]\n",
    "b = { default = 1, description = '' }\n",
    "[",
    "=",
    "'''",
    "\u{0}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_description_of_runes_is_read(text in text_of(RUNES)) {
        if let Err(error) = Package::parse("refrakt.runes.toml", &text, "local") {
            prop_assert!(error.line >= 1 && error.line <= text.matches('\n').count() + 1);
        }
    }
}
