//! Named parts: each gets the class `block__name` and a data attribute for its role.

use super::reading_mode;
use super::root_style::RootStyle;
use crate::catalogue::EngineConfig;
use crate::render_tree::{Element, RenderNode};

/// Adds classes and roles to the named parts of one rune.
pub(super) struct PartStyler<'a> {
    pub config: &'a EngineConfig,
    pub block: &'a str,
    pub root_style: &'a RootStyle,
}

impl PartStyler<'_> {
    /// Applies to a part and the parts in it. Does not descend into an element without a name.
    pub fn apply_classes(&self, tag: &mut Element) {
        let Some(name) = tag.attr_str("data-name").filter(|name| !name.is_empty()).map(str::to_owned) else {
            return;
        };
        tag.children
            .iter_mut()
            .filter_map(RenderNode::as_element_mut)
            .for_each(|child| self.apply_classes(child));
        let existing = tag.attr_str("class").unwrap_or_default();
        let separator = if existing.is_empty() { "" } else { " " };
        let class = format!("{}__{name}{separator}{existing}", self.block);
        let attributes = &mut tag.attributes;
        attributes.insert("class".into(), class.into());
        let role = self.config.sections.get(&name).filter(|role| !role.is_empty());
        if let Some(role) = role {
            attributes.insert("data-section".into(), role.as_str().into());
        }
        let role = role.map(String::as_str);
        if role == Some("body") {
            if self.root_style.reading_mode != reading_mode::DEFAULT_READING_MODE {
                attributes.insert("data-reading".into(), self.root_style.reading_mode.as_str().into());
            }
            if self.root_style.has_dropcap {
                attributes.insert("data-dropcap".into(), "true".into());
            }
        }
        if let Some(slot) = self.config.media_slots.get(&name).filter(|slot| !slot.is_empty()) {
            attributes.insert("data-media".into(), slot.as_str().into());
        }
        if role == Some("media") {
            let fit = self.config.guest_fit.as_deref().unwrap_or("clip");
            attributes.insert("data-guest-fit".into(), fit.into());
        }
    }
}
