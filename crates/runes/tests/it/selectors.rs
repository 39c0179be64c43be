//! The order of selectors, compared with the original's.

use quad_runes::selectors;
use quad_runes::tree::{Node, Tag};
use serde_json::Value;

use crate::oracle;

#[test]
fn selectors_stand_in_the_original_order() {
    let Some(folder) = oracle::folder() else { return };
    let recorded = oracle::json(&folder, "selectors-sort.json");
    let cases = recorded["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        assert_eq!(Value::from(selectors::of(&tree(case))), case["selectors"], "{}", case["id"]);
    }
}

/// One element for each class and each attribute, since several attributes of one name are to be sorted.
fn tree(case: &Value) -> Node {
    let classes = case["classes"].as_array().unwrap().iter();
    let classes = classes.map(|class| Tag::new("i").with("class", class.clone()));
    let attributes = case["attributes"].as_array().unwrap().iter();
    let attributes = attributes.map(|pair| Tag::new("i").with(pair[0].as_str().unwrap(), pair[1].clone()));
    Tag::new("p").holding(classes.chain(attributes).map(Node::from)).into()
}
