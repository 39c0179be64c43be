//! JSON that is written as it is made. A large answer is put together as text once, instead of as a tree that is built, copied and
//! walked through for each place it goes to.

use serde::Serialize;
use serde_json::Value;

/// One JSON value, written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text itself.
    pub fn into_text(self) -> String {
        self.0
    }

    /// The value as a tree, for those who look into it.
    pub fn value(&self) -> Value {
        // What was written can be read.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        Json(value.to_string())
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Json {
        let Object(mut text) = object;
        text.push(b'}');
        // Names, and what serde_json has written.
        Json(String::from_utf8(text).unwrap_or_default())
    }
}

/// An object in the making. Its fields stand in the order in which they come; whoever makes it names each once.
#[derive(Clone, Debug)]
pub struct Object(Vec<u8>);

impl Default for Object {
    fn default() -> Object {
        Object::with_capacity(0)
    }
}

impl Object {
    /// An object with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Object {
        let mut text = Vec::with_capacity(bytes + 2);
        text.push(b'{');
        Object(text)
    }

    /// Adds a field. What JSON cannot say is null, as a number is that is none.
    pub fn put(&mut self, name: &'static str, value: impl Serialize) {
        self.name(name);
        let before = self.0.len();
        if serde_json::to_writer(&mut self.0, &value).is_err() {
            self.0.truncate(before);
            self.0.extend_from_slice(b"null");
        }
    }

    /// Adds a list of objects.
    pub fn put_all(&mut self, name: &'static str, objects: impl IntoIterator<Item = Object>) {
        self.name(name);
        self.0.push(b'[');
        for (number, Object(text)) in objects.into_iter().enumerate() {
            if number > 0 {
                self.0.push(b',');
            }
            self.0.extend_from_slice(&text);
            self.0.push(b'}');
        }
        self.0.push(b']');
    }

    fn name(&mut self, name: &'static str) {
        debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_what_its_fields_say_in_their_order() {
        let mut inner = Object::default();
        inner.put("text", "a \"b\"\n\u{1f600}");
        inner.put("share", 0.95);
        let mut outer = Object::with_capacity(100);
        outer.put_all("none", []);
        outer.put_all("some", [inner, Object::default()]);
        outer.put("lost", f64::NAN);
        outer.put("missing", None::<i64>);
        let written = Json::from(outer);
        let expect = json!({
            "none": [],
            "some": [{"text": "a \"b\"\n\u{1f600}", "share": 0.95}, {}],
            "lost": null,
            "missing": null,
        });
        assert_eq!(written.as_str(), expect.to_string());
        assert_eq!(written, Json::from(expect.clone()));
        assert_eq!(written.value(), expect);
        assert_eq!(Json::from(Object::default()).as_str(), "{}");
    }
}
