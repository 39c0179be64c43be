//! Blocks: rows and lists of values that the engine projects into a rune, each value in the shape that suits it.

use serde_json::Value;

use crate::catalogue::{Block, BlockLayout, EngineConfig, MetaField};
use crate::limits::RATING_MARKS_MAX;
use crate::tree::{Attributes, Node, Tag};
use crate::value::{leading_integer, to_text, truthy};

/// Sorts of values that are shown as chips.
const CHIPS: [&str; 3] = ["status", "category", "tag"];

/// Marks of a rating that does not say how many it has.
const RATING_TOTAL: i64 = 5;

/// A value that is to be shown.
#[derive(Clone)]
struct Shown<'a> {
    name: &'a str,
    value: Value,
    field: &'a MetaField,
    href: Option<Value>,
    total: Option<Value>,
    at_end: bool,
}

/// A block with its values, or nothing where none of them is there.
pub(super) fn project(config: &EngineConfig, name: &str, axes: &Attributes) -> Option<Node> {
    let block = config.blocks.get(name)?;
    let shown = shown(config, block, axes);
    if shown.is_empty() {
        return None;
    }
    Some(match block.layout {
        BlockLayout::Bar => bar(name, &shown, block.wrap != Some(false)),
        BlockLayout::DefinitionList => list(name, &shown),
    })
}

fn shown<'a>(config: &'a EngineConfig, block: &'a Block, axes: &Attributes) -> Vec<Shown<'a>> {
    let fields = block.fields.iter().filter_map(|item| {
        let (name, field) = config.meta_fields.get_key_value(&item.field)?;
        let at_end = item.align.as_deref() == Some("end");
        resolve(name, field, axes).map(|shown| Shown { at_end, ..shown })
    });
    fields.collect()
}

fn resolve<'a>(name: &'a str, field: &'a MetaField, axes: &Attributes) -> Option<Shown<'a>> {
    let empty = || Value::String(String::new());
    let value = axes.get(name).cloned().unwrap_or_else(empty);
    if let Some(condition) = &field.condition {
        let met = axes.get(condition);
        let is_met = if field.render_when_empty { met.is_some() } else { met.is_some_and(truthy) };
        if !is_met || (!field.render_when_empty && !truthy(&value)) {
            return None;
        }
    }
    let value = match field.transform.as_deref() {
        Some("duration") => duration(&to_text(&value)).into(),
        Some("uppercase") => to_text(&value).to_uppercase().into(),
        Some("capitalize") => capitalized(&to_text(&value)).into(),
        _ => value,
    };
    let href = field.href.as_ref().map(|modifier| axes.get(modifier).cloned().unwrap_or_else(empty));
    if href.as_ref().is_some_and(|href| !truthy(href)) {
        return None;
    }
    let total = field.rating.as_ref().map(|rating| {
        let total = axes.get(&rating.total).filter(|total| truthy(total));
        total.cloned().unwrap_or_else(|| Value::from(RATING_TOTAL))
    });
    Some(Shown { name, value, field, href, total, at_end: false })
}

/// A row: values without labels.
fn bar(name: &str, shown: &[Shown<'_>], may_wrap: bool) -> Node {
    let mut bar = zone("div", name, "bar");
    if !may_wrap {
        bar = bar.with("data-wrap", "false");
    }
    for item in shown {
        let mut values = parts(item);
        if let (true, Some(first)) = (item.at_end, values.first_mut()) {
            first.attributes.insert("data-align".into(), "end".into());
        }
        bar.children.extend(values.into_iter().map(Node::from));
    }
    bar.into()
}

/// A list: labels and values.
fn list(name: &str, shown: &[Shown<'_>]) -> Node {
    let rows = shown.iter().map(|item| {
        let label = item.field.label.as_deref().unwrap_or(item.name);
        let term = Tag::new("dt").with("data-meta-label", "").holding([label.into()]);
        let row = Tag::new("div").with("data-name", "row").with("data-field", item.name);
        Node::from(row.holding([term.into(), description(item).into()]))
    });
    zone("dl", name, "definition-list").holding(rows).into()
}

fn zone(tag: &str, name: &str, layout: &str) -> Tag {
    Tag::new(tag).with("data-name", name).with("data-zone", name).with("data-zone-layout", layout)
}

fn description(item: &Shown<'_>) -> Tag {
    let description = Tag::new("dd");
    if item.field.split_on.is_some() && truthy(&item.value) {
        let values = parts(item).into_iter().map(Node::from);
        return description.with("data-multi-value", "").holding(values);
    }
    if is_chip(item.field) {
        return description.holding([chip(item).into()]);
    }
    let is_time = item.field.tag.as_deref() == Some("time") && truthy(&item.value);
    let value = if is_time {
        Tag::new("time").with("datetime", item.value.clone()).holding([node(&item.value)]).into()
    } else {
        node(&item.value)
    };
    typed(description, item.field).holding([value])
}

/// A value, or each of its parts where it is a list in one text.
fn parts(item: &Shown<'_>) -> Vec<Tag> {
    let separator = item.field.split_on.as_deref().filter(|sign| !sign.is_empty() && truthy(&item.value));
    let Some(separator) = separator else { return vec![shape(item)] };
    let text = to_text(&item.value);
    let parts = text.split(separator).map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| shape(&Shown { value: part.into(), ..item.clone() })).collect()
}

/// A value in its shape: a link, stars, an icon, a chip or plain.
fn shape(item: &Shown<'_>) -> Tag {
    if let Some(href) = &item.href {
        let text = item.field.label.as_deref().map_or_else(|| node(&item.value), Node::from);
        return Tag::new("a").with("href", href.clone()).with("data-meta-type", "link").holding([text]);
    }
    if let Some(total) = &item.total {
        return rating(&item.value, total);
    }
    if let Some(icon) = &item.field.icon {
        let glyph = Tag::new("span")
            .with("data-icon-group", icon.group.as_str())
            .with("data-icon", item.value.clone());
        let text = item.field.label.as_deref().map_or_else(|| node(&item.value), Node::from);
        let text = Tag::new("span").with("data-meta-value", "").holding([text]);
        return typed(Tag::new(element(item.field)), item.field).holding([glyph.into(), text.into()]);
    }
    if is_chip(item.field) {
        return chip(item);
    }
    dated(typed(Tag::new(element(item.field)), item.field), item).holding([node(&item.value)])
}

fn chip(item: &Shown<'_>) -> Tag {
    let mut chip = typed(Tag::new(element(item.field)).with("class", "rf-badge"), item.field);
    if let Some(sentiment) = item.field.sentiment_map.get(&to_text(&item.value)) {
        chip = chip.with("data-meta-sentiment", sentiment.as_str());
    }
    dated(chip, item).holding([node(&item.value)])
}

fn rating(value: &Value, total: &Value) -> Tag {
    let whole = |value: &Value| leading_integer(&to_text(value)).filter(|number| *number != 0.0);
    let filled = whole(value).unwrap_or_default();
    #[allow(clippy::cast_precision_loss)]
    let total = whole(total).unwrap_or(RATING_TOTAL as f64).clamp(0.0, f64::from(RATING_MARKS_MAX));
    let marks = (0..RATING_MARKS_MAX).map(f64::from).take_while(|place| *place < total).map(|place| {
        let is_filled = if place < filled { "true" } else { "false" };
        Node::from(Tag::new("span").with("data-filled", is_filled))
    });
    Tag::new("span").with("data-meta-type", "rating").holding(marks)
}

fn is_chip(field: &MetaField) -> bool {
    field.meta_type.as_deref().is_some_and(|kind| CHIPS.contains(&kind))
}

fn element(field: &MetaField) -> &str {
    field.tag.as_deref().unwrap_or("span")
}

fn typed(tag: Tag, field: &MetaField) -> Tag {
    match &field.meta_type {
        Some(kind) => tag.with("data-meta-type", kind.as_str()),
        None => tag,
    }
}

fn dated(tag: Tag, item: &Shown<'_>) -> Tag {
    if tag.is("time") && truthy(&item.value) { tag.with("datetime", item.value.clone()) } else { tag }
}

/// A value among children; only texts and numbers are seen there.
fn node(value: &Value) -> Node {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => number.as_f64().map_or(Node::Null, Node::Number),
        _ => Node::Null,
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    first.into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// `PT1H30M` → `1h 30m`; as written where it is no duration.
fn duration(text: &str) -> String {
    let Some((_, mut rest)) = text.split_once("PT") else { return text.to_owned() };
    let mut parts = Vec::new();
    for (unit, short) in [('H', 'h'), ('M', 'm'), ('S', 's')] {
        let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
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
    fn durations_are_read_by_people() {
        let check = |text: &str, expect: &str| assert_eq!(duration(text), expect);
        check("PT1H30M", "1h 30m");
        check("PT45M", "45m");
        check("PT90S", "90s");
        check("P1DT2H", "P1DT2H");
        check("two hours", "two hours");
        check("PT", "PT");
    }

    #[test]
    fn a_rating_has_its_marks_and_no_more_than_can_be_read() {
        let marks = |value: Value, total: Value| rating(&value, &total).children.len();
        assert_eq!(marks("3".into(), "5".into()), 5);
        assert_eq!(marks("3".into(), "0".into()), 5);
        assert_eq!(marks("3".into(), "-2".into()), 0);
        assert_eq!(marks("3".into(), "9999999999".into()), RATING_MARKS_MAX as usize);
    }
}
