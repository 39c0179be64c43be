//! Writes the plan folder into the configuration.

use serde_json::{Map, Value, json};

/// What happened to the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigAction {
    /// There was none.
    Created,
    /// It had no plan.
    Extended,
    /// It names a plan folder already.
    Preserved,
}

impl ConfigAction {
    /// The value in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ConfigAction::Created => "created",
            ConfigAction::Extended => "extended",
            ConfigAction::Preserved => "preserved",
        }
    }

    /// One sentence.
    pub fn message(self) -> &'static str {
        match self {
            ConfigAction::Created => "created refrakt.config.json with the plan folder",
            ConfigAction::Extended => "added the plan folder to refrakt.config.json",
            ConfigAction::Preserved => "refrakt.config.json has a plan folder and was not changed",
        }
    }
}

/// The text of the configuration with a plan folder, and what happens to it. `None` for a text that is no JSON object, or
/// has a plan of another type: it is not changed, because what it should be is unknown.
pub fn with_plan_dir(text: Option<&str>, dir: &str) -> Option<(ConfigAction, String)> {
    let Some(text) = text else {
        return Some((ConfigAction::Created, print(&json!({"plan": {"dir": dir}}))));
    };
    let without_bom = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut config: Map<String, Value> = serde_json::from_str(without_bom).ok()?;
    match config.get_mut("plan") {
        None | Some(Value::Null) => {
            config.insert("plan".into(), json!({"dir": dir}));
        }
        Some(Value::Object(plan)) => match plan.get("dir") {
            None | Some(Value::Null) => {
                plan.insert("dir".into(), dir.into());
            }
            Some(Value::String(_)) => return Some((ConfigAction::Preserved, text.to_owned())),
            Some(_) => return None,
        },
        Some(_) => return None,
    }
    Some((ConfigAction::Extended, print(&config.into())))
}

fn print(config: &Value) -> String {
    format!("{config:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_dir_is_added_once() {
        let (action, created) = with_plan_dir(None, "docs/plan").unwrap();
        assert_eq!(
            (action, created.as_str()),
            (ConfigAction::Created, "{\n  \"plan\": {\n    \"dir\": \"docs/plan\"\n  }\n}\n")
        );
        let (action, extended) = with_plan_dir(Some(r#"{"site": {"contentDir": "c"}}"#), "plan").unwrap();
        let expected = json!({"site": {"contentDir": "c"}, "plan": {"dir": "plan"}});
        assert_eq!(
            (action, serde_json::from_str::<Value>(&extended).unwrap()),
            (ConfigAction::Extended, expected)
        );
        assert_eq!(with_plan_dir(Some(&created), "plan"), Some((ConfigAction::Preserved, created.clone())));
        for (given, expected) in [("{}", json!({"dir": "p"})), (r#"{"x": 1}"#, json!({"x": 1, "dir": "p"}))] {
            let (action, text) = with_plan_dir(Some(&format!(r#"{{"plan": {given}}}"#)), "p").unwrap();
            assert_eq!(action, ConfigAction::Extended, "{given}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"plan": expected}));
        }
        for broken in ["[]", "{", "", r#"{"plan": 5}"#, r#"{"plan": {"dir": 5}}"#] {
            assert_eq!(with_plan_dir(Some(broken), "plan"), None, "{broken}");
        }
    }
}
