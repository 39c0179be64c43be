//! Blocks: rows and lists of values that the engine adds to a rune, each value in its own shape.

use serde_json::Value;

use crate::catalogue::{Block, BlockLayout, EngineConfig, MetaField};
use crate::js_value::{is_truthy, parse_int, to_js_string};
use crate::limits::RATING_MARKS_MAX;
use crate::render_tree::{Attributes, Element, RenderNode};

/// Kinds of values that are shown as chips.
const CHIP_META_TYPES: [&str; 3] = ["status", "category", "tag"];

/// Total of a rating that has none.
const DEFAULT_RATING_TOTAL: i64 = 5;

/// A value to show.
#[derive(Clone)]
struct BlockItem<'a> {
    name: &'a str,
    value: Value,
    field: &'a MetaField,
    href: Option<Value>,
    total: Option<Value>,
    at_end: bool,
}

/// A block with its values; `None` if it has none.
pub(super) fn build_block(
    config: &EngineConfig,
    name: &str,
    modifier_values: &Attributes,
) -> Option<RenderNode> {
    let block = config.blocks.get(name)?;
    let items = block_items(config, block, modifier_values);
    if items.is_empty() {
        return None;
    }
    Some(match block.layout {
        BlockLayout::Bar => bar_element(name, &items, block.wrap != Some(false)),
        BlockLayout::DefinitionList => definition_list_element(name, &items),
    })
}

fn block_items<'a>(
    config: &'a EngineConfig,
    block: &'a Block,
    modifier_values: &Attributes,
) -> Vec<BlockItem<'a>> {
    let fields = block.fields.iter().filter_map(|item| {
        let (name, field) = config.meta_fields.get_key_value(&item.field)?;
        let at_end = item.align.as_deref() == Some("end");
        resolve_item(name, field, modifier_values).map(|resolved| BlockItem { at_end, ..resolved })
    });
    fields.collect()
}

fn resolve_item<'a>(
    name: &'a str,
    field: &'a MetaField,
    modifier_values: &Attributes,
) -> Option<BlockItem<'a>> {
    let empty = || Value::String(String::new());
    let value = modifier_values.get(name).cloned().unwrap_or_else(empty);
    if let Some(condition) = &field.condition {
        let condition_value = modifier_values.get(condition);
        let is_met = if field.render_when_empty {
            condition_value.is_some()
        } else {
            condition_value.is_some_and(is_truthy)
        };
        if !is_met || (!field.render_when_empty && !is_truthy(&value)) {
            return None;
        }
    }
    let value = match field.transform.as_deref() {
        Some("duration") => format_duration(&to_js_string(&value)).into(),
        Some("uppercase") => to_js_string(&value).to_uppercase().into(),
        Some("capitalize") => capitalize(&to_js_string(&value)).into(),
        _ => value,
    };
    let href =
        field.href.as_ref().map(|modifier| modifier_values.get(modifier).cloned().unwrap_or_else(empty));
    if href.as_ref().is_some_and(|href| !is_truthy(href)) {
        return None;
    }
    let total = field.rating.as_ref().map(|rating| {
        let total = modifier_values.get(&rating.total).filter(|total| is_truthy(total));
        total.cloned().unwrap_or_else(|| Value::from(DEFAULT_RATING_TOTAL))
    });
    Some(BlockItem { name, value, field, href, total, at_end: false })
}

/// A row: values without labels.
fn bar_element(name: &str, items: &[BlockItem<'_>], may_wrap: bool) -> RenderNode {
    let mut bar = zone_element("div", name, "bar");
    if !may_wrap {
        bar = bar.with_attr("data-wrap", "false");
    }
    for item in items {
        let mut values = split_values(item);
        if let (true, Some(first)) = (item.at_end, values.first_mut()) {
            first.attributes.insert("data-align".into(), "end".into());
        }
        bar.children.extend(values.into_iter().map(RenderNode::from));
    }
    bar.into()
}

/// A list: labels and values.
fn definition_list_element(name: &str, items: &[BlockItem<'_>]) -> RenderNode {
    let rows = items.iter().map(|item| {
        let label = item.field.label.as_deref().unwrap_or(item.name);
        let term = Element::new("dt").with_attr("data-meta-label", "").with_children([label.into()]);
        let row = Element::new("div").with_attr("data-name", "row").with_attr("data-field", item.name);
        RenderNode::from(row.with_children([term.into(), description_element(item).into()]))
    });
    zone_element("dl", name, "definition-list").with_children(rows).into()
}

fn zone_element(tag: &str, name: &str, layout: &str) -> Element {
    Element::new(tag)
        .with_attr("data-name", name)
        .with_attr("data-zone", name)
        .with_attr("data-zone-layout", layout)
}

fn description_element(item: &BlockItem<'_>) -> Element {
    let description = Element::new("dd");
    if item.field.split_on.is_some() && is_truthy(&item.value) {
        let values = split_values(item).into_iter().map(RenderNode::from);
        return description.with_attr("data-multi-value", "").with_children(values);
    }
    if is_chip(item.field) {
        return description.with_children([chip_element(item).into()]);
    }
    let is_time = item.field.tag.as_deref() == Some("time") && is_truthy(&item.value);
    let value = if is_time {
        Element::new("time")
            .with_attr("datetime", item.value.clone())
            .with_children([value_node(&item.value)])
            .into()
    } else {
        value_node(&item.value)
    };
    with_meta_type(description, item.field).with_children([value])
}

/// The elements of a value: one, or one for each part if it is split.
fn split_values(item: &BlockItem<'_>) -> Vec<Element> {
    let separator =
        item.field.split_on.as_deref().filter(|separator| !separator.is_empty() && is_truthy(&item.value));
    let Some(separator) = separator else { return vec![value_element(item)] };
    let text = to_js_string(&item.value);
    let parts = text.split(separator).map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| value_element(&BlockItem { value: part.into(), ..item.clone() })).collect()
}

/// The element of a value: a link, a rating, an icon, a chip or plain text.
fn value_element(item: &BlockItem<'_>) -> Element {
    if let Some(href) = &item.href {
        let text = item.field.label.as_deref().map_or_else(|| value_node(&item.value), RenderNode::from);
        return Element::new("a")
            .with_attr("href", href.clone())
            .with_attr("data-meta-type", "link")
            .with_children([text]);
    }
    if let Some(total) = &item.total {
        return rating_element(&item.value, total);
    }
    if let Some(icon) = &item.field.icon {
        let glyph = Element::new("span")
            .with_attr("data-icon-group", icon.group.as_str())
            .with_attr("data-icon", item.value.clone());
        let text = item.field.label.as_deref().map_or_else(|| value_node(&item.value), RenderNode::from);
        let text = Element::new("span").with_attr("data-meta-value", "").with_children([text]);
        return with_meta_type(Element::new(element_name(item.field)), item.field)
            .with_children([glyph.into(), text.into()]);
    }
    if is_chip(item.field) {
        return chip_element(item);
    }
    with_datetime(with_meta_type(Element::new(element_name(item.field)), item.field), item)
        .with_children([value_node(&item.value)])
}

fn chip_element(item: &BlockItem<'_>) -> Element {
    let mut chip =
        with_meta_type(Element::new(element_name(item.field)).with_attr("class", "rf-badge"), item.field);
    if let Some(sentiment) = item.field.sentiment_map.get(&to_js_string(&item.value)) {
        chip = chip.with_attr("data-meta-sentiment", sentiment.as_str());
    }
    with_datetime(chip, item).with_children([value_node(&item.value)])
}

fn rating_element(value: &Value, total: &Value) -> Element {
    let nonzero_integer = |value: &Value| parse_int(&to_js_string(value)).filter(|number| *number != 0.0);
    let filled = nonzero_integer(value).unwrap_or_default();
    #[allow(clippy::cast_precision_loss)]
    let total =
        nonzero_integer(total).unwrap_or(DEFAULT_RATING_TOTAL as f64).clamp(0.0, f64::from(RATING_MARKS_MAX));
    let marks = (0..RATING_MARKS_MAX).map(f64::from).take_while(|index| *index < total).map(|index| {
        let is_filled = if index < filled { "true" } else { "false" };
        RenderNode::from(Element::new("span").with_attr("data-filled", is_filled))
    });
    Element::new("span").with_attr("data-meta-type", "rating").with_children(marks)
}

fn is_chip(field: &MetaField) -> bool {
    field.meta_type.as_deref().is_some_and(|kind| CHIP_META_TYPES.contains(&kind))
}

fn element_name(field: &MetaField) -> &str {
    field.tag.as_deref().unwrap_or("span")
}

fn with_meta_type(tag: Element, field: &MetaField) -> Element {
    match &field.meta_type {
        Some(kind) => tag.with_attr("data-meta-type", kind.as_str()),
        None => tag,
    }
}

fn with_datetime(tag: Element, item: &BlockItem<'_>) -> Element {
    if tag.is("time") && is_truthy(&item.value) { tag.with_attr("datetime", item.value.clone()) } else { tag }
}

/// A value as a child node; only text and numbers are visible.
fn value_node(value: &Value) -> RenderNode {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => number.as_f64().map_or(RenderNode::Null, RenderNode::Number),
        _ => RenderNode::Null,
    }
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next();
    first.into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

/// `PT1H30M` → `1h 30m`; unchanged if it is not a duration.
fn format_duration(text: &str) -> String {
    let Some((_, mut rest)) = text.split_once("PT") else { return text.to_owned() };
    let mut parts = Vec::new();
    for (unit, short) in [('H', 'h'), ('M', 'm'), ('S', 's')] {
        let end = rest.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        if let (false, Some(tail)) = (number.is_empty(), tail.strip_prefix(unit)) {
            parts.push(format!("{number}{short}"));
            rest = tail;
        }
    }
    if parts.is_empty() { text.to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_duration_converts_iso_durations() {
        let check = |text: &str, expect: &str| assert_eq!(format_duration(text), expect);
        check("PT1H30M", "1h 30m");
        check("PT45M", "45m");
        check("PT90S", "90s");
        check("P1DT2H", "P1DT2H");
        check("two hours", "two hours");
        check("PT", "PT");
    }

    #[test]
    fn rating_marks_are_bounded() {
        let marks = |value: Value, total: Value| rating_element(&value, &total).children.len();
        assert_eq!(marks("3".into(), "5".into()), 5);
        assert_eq!(marks("3".into(), "0".into()), 5);
        assert_eq!(marks("3".into(), "-2".into()), 0);
        assert_eq!(marks("3".into(), "9999999999".into()), RATING_MARKS_MAX as usize);
    }
}
