//! Named parts: each gets the class `block__name` and says which role it plays.

use super::look::Look;
use super::reading;
use crate::catalogue::EngineConfig;
use crate::tree::{Node, Tag};

/// What the parts of one rune are given.
pub(super) struct Parts<'a> {
    pub config: &'a EngineConfig,
    pub block: &'a str,
    pub look: &'a Look,
}

impl Parts<'_> {
    /// Dresses a part and the parts within it. A part below an element without a name is out of reach.
    pub fn dress(&self, tag: &mut Tag) {
        let Some(name) = tag.text("data-name").filter(|name| !name.is_empty()).map(str::to_owned) else {
            return;
        };
        tag.children.iter_mut().filter_map(Node::as_tag_mut).for_each(|child| self.dress(child));
        let own = tag.text("class").unwrap_or_default();
        let space = if own.is_empty() { "" } else { " " };
        let class = format!("{}__{name}{space}{own}", self.block);
        let attributes = &mut tag.attributes;
        attributes.insert("class".into(), class.into());
        let role = self.config.sections.get(&name).filter(|role| !role.is_empty());
        if let Some(role) = role {
            attributes.insert("data-section".into(), role.as_str().into());
        }
        let role = role.map(String::as_str);
        if role == Some("body") {
            if self.look.reading != reading::UNMARKED {
                attributes.insert("data-reading".into(), self.look.reading.as_str().into());
            }
            if self.look.has_dropcap {
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
