//! The order of selectors, compared with npm's.

use quad_runes::render_tree::{Element, RenderNode};
use quad_runes::selectors;
use serde_json::Value;

use crate::recorded;

#[test]
fn selector_order_matches_npm() {
    let cases_file = recorded::read_json(&recorded::recorded_dir(), "selectors-sort.json");
    let cases = cases_file["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        assert_eq!(
            Value::from(selectors::collect_selectors(&tree(case))),
            case["selectors"],
            "{}",
            case["id"]
        );
    }
}

/// One element for each class and each attribute: cases sort several attributes of the same name.
fn tree(case: &Value) -> RenderNode {
    let classes = case["classes"].as_array().unwrap().iter();
    let classes = classes.map(|class| Element::new("i").with_attr("class", class.clone()));
    let attributes = case["attributes"].as_array().unwrap().iter();
    let attributes =
        attributes.map(|pair| Element::new("i").with_attr(pair[0].as_str().unwrap(), pair[1].clone()));
    Element::new("p").with_children(classes.chain(attributes).map(RenderNode::from)).into()
}
