//! Which names of tools an endpoint publishes.
//!
//! Several tools have two names: the portable one, which every model API accepts, and that of their original, with
//! dots. Calls accept both. Everything that a caller reads uses the names that its endpoint publishes.

use std::borrow::Cow;

use quad_core::{Error, Resolver};
use serde_json::Value;

/// The names that an endpoint publishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolNames {
    /// `plan_next`: letters, digits, `_` and `-`, as the model APIs ask for.
    #[default]
    Portable,
    /// `plan.next`: as the originals publish them, for clients that were written for these.
    Original,
}

impl ToolNames {
    /// A text of ours with the published names. Texts are written with the portable ones.
    pub(crate) fn rewrite<'a>(self, resolver: &Resolver, text: &'a str) -> Cow<'a, str> {
        if self == ToolNames::Portable {
            return Cow::Borrowed(text);
        }
        let mut rewritten = Cow::Borrowed(text);
        for (name, dotted) in resolver.dotted_tool_names() {
            if rewritten.contains(name) {
                rewritten = Cow::Owned(replace_word(&rewritten, name, dotted));
            }
        }
        rewritten
    }

    /// Every text in a JSON value with the published names.
    pub(crate) fn rewrite_value(self, resolver: &Resolver, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(rewritten) = self.rewrite(resolver, text) {
                    *text = rewritten;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.rewrite_value(resolver, item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.rewrite_value(resolver, member));
            }
            _ => {}
        }
    }

    /// An error whose message and hint use the published names.
    pub(crate) fn rewrite_error(self, resolver: &Resolver, error: Error) -> Error {
        match self {
            ToolNames::Portable => error,
            ToolNames::Original => error.map_text(|text| self.rewrite(resolver, text).into_owned()),
        }
    }
}

/// Replaces a word where no letter, digit, `_` or `-` is beside it.
fn replace_word(text: &str, word: &str, replacement: &str) -> String {
    let continues = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(word) {
        let (before, from) = rest.split_at(start);
        let after = &from[word.len()..];
        let is_word = !out.chars().chain(before.chars()).next_back().is_some_and(continues)
            && !after.chars().next().is_some_and(continues);
        out.push_str(before);
        out.push_str(if is_word { replacement } else { word });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_word_leaves_longer_names() {
        let check =
            |text: &str, expect: &str| assert_eq!(replace_word(text, "plan_next", "plan.next"), expect);
        check("Call plan_next, then plan_next-id.", "Call plan.next, then plan_next-id.");
        check("plan_next", "plan.next");
        check("my_plan_next plan_nextplan_next", "my_plan_next plan_nextplan_next");
        check("äplan_next (plan_next)", "äplan_next (plan.next)");
        check("nothing", "nothing");
    }
}
