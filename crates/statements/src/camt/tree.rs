//! Small trees of XML elements. One entry, balance or account is in memory at a time, so memory depends on the largest
//! entry, not on the length of the file.
//!
//! Document types are ignored and their entities are not expanded; an entity that XML does not define stays as written.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::limits;
use crate::ofx::decode_entity;

/// An element: its name without prefix, its text, its currency and its children.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub name: String,
    pub text: String,
    /// The attribute `Ccy`, the only attribute in camt.
    pub currency: Option<String>,
    pub children: Vec<Node>,
}

impl Node {
    /// The first child with a name.
    pub fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All children with a name.
    pub fn children_named<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Node> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The element at a path of names.
    pub fn find_path(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, name| node.child(name))
    }

    /// The text at a path, unless it is empty.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.find_path(path).map(|node| node.text.trim()).filter(|text| !text.is_empty())
    }
}

/// Why parsing an XML text stopped.
#[derive(Debug)]
pub(crate) struct XmlError(pub String);

impl From<quick_xml::Error> for XmlError {
    fn from(error: quick_xml::Error) -> XmlError {
        XmlError(error.to_string())
    }
}

/// An element's name and currency.
fn start_node(start: &BytesStart<'_>) -> Node {
    let currency =
        start.attributes().flatten().find(|attribute| attribute.key.local_name().into_inner() == "Ccy");
    Node {
        name: start.local_name().into_inner().to_owned(),
        currency: currency.map(|attribute| attribute.value.into_owned()),
        ..Node::default()
    }
}

/// Parses an element to its end, after its start tag.
pub(crate) fn read_element(reader: &mut Reader<&[u8]>, start: &BytesStart<'_>) -> Result<Node, XmlError> {
    let mut stack = vec![start_node(start)];
    let mut count = 1;
    loop {
        let event = reader.read_event()?;
        let Some(top) = stack.last_mut() else { return Err(XmlError("an element ends twice".into())) };
        match event {
            Event::Start(start) => {
                count += 1;
                if stack.len() >= limits::XML_DEPTH || count > limits::XML_ENTRY_NODES {
                    return Err(XmlError("one entry has too many elements".into()));
                }
                stack.push(start_node(&start));
            }
            Event::Empty(start) => {
                count += 1;
                if count > limits::XML_ENTRY_NODES {
                    return Err(XmlError("one entry has too many elements".into()));
                }
                top.children.push(start_node(&start));
            }
            Event::End(_) => {
                let Some(element) = stack.pop() else { return Err(XmlError("an element ends twice".into())) };
                match stack.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => return Ok(element),
                }
            }
            Event::Text(text) => push_limited(&mut top.text, &text.xml10_content()),
            Event::CData(text) => push_limited(&mut top.text, &text.xml10_content()),
            Event::GeneralRef(entity) => {
                let name = entity.xml10_content();
                match decode_entity(&name) {
                    Some(letter) => push_limited(&mut top.text, letter.encode_utf8(&mut [0; 4])),
                    None => push_limited(&mut top.text, &format!("&{name};")),
                }
            }
            Event::Eof => return Err(XmlError("the file ends within an element".into())),
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_) => {}
        }
    }
}

/// Limits the memory of a text. Texts are shortened to the exact limit later.
fn push_limited(text: &mut String, addition: &str) {
    if text.len() <= limits::TEXT_BYTES {
        text.push_str(addition);
    }
}
