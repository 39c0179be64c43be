//! Small trees of XML elements: one entry, one balance, one account at a time, so that a file of any length needs the
//! memory of its largest entry.
//!
//! No document type is obeyed and no entity of one is expanded; what a file refers to and XML itself does not know
//! stays as written.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::limits;
use crate::ofx::character;

/// An element: its name without prefix, its text, its currency and its children.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub name: String,
    pub text: String,
    /// The attribute `Ccy`, the only one that camt has.
    pub currency: Option<String>,
    pub children: Vec<Node>,
}

impl Node {
    /// The first child of a name.
    pub fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All children of a name.
    pub fn all<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Node> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The element at the end of a path of names.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, name| node.child(name))
    }

    /// The text at the end of a path, unless it is empty.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.at(path).map(|node| node.text.trim()).filter(|text| !text.is_empty())
    }
}

/// Why an XML text cannot be read on.
#[derive(Debug)]
pub(crate) struct Broken(pub String);

impl From<quick_xml::Error> for Broken {
    fn from(error: quick_xml::Error) -> Broken {
        Broken(error.to_string())
    }
}

/// An element's name and currency.
fn node(start: &BytesStart<'_>) -> Node {
    let currency =
        start.attributes().flatten().find(|attribute| attribute.key.local_name().into_inner() == "Ccy");
    Node {
        name: start.local_name().into_inner().to_owned(),
        currency: currency.map(|attribute| attribute.value.into_owned()),
        ..Node::default()
    }
}

/// Reads the element that has just begun, to its end.
pub(crate) fn read(reader: &mut Reader<&[u8]>, start: &BytesStart<'_>) -> Result<Node, Broken> {
    let mut open = vec![node(start)];
    let mut count = 1;
    loop {
        let event = reader.read_event()?;
        let Some(top) = open.last_mut() else { return Err(Broken("an element ends twice".into())) };
        match event {
            Event::Start(start) => {
                count += 1;
                if open.len() >= limits::XML_DEPTH || count > limits::XML_ENTRY_NODES {
                    return Err(Broken("one entry holds more elements than any bank writes".into()));
                }
                open.push(node(&start));
            }
            Event::Empty(start) => {
                count += 1;
                if count > limits::XML_ENTRY_NODES {
                    return Err(Broken("one entry holds more elements than any bank writes".into()));
                }
                top.children.push(node(&start));
            }
            Event::End(_) => {
                let Some(done) = open.pop() else { return Err(Broken("an element ends twice".into())) };
                match open.last_mut() {
                    Some(parent) => parent.children.push(done),
                    None => return Ok(done),
                }
            }
            Event::Text(text) => push(&mut top.text, &text.xml10_content()),
            Event::CData(text) => push(&mut top.text, &text.xml10_content()),
            Event::GeneralRef(entity) => {
                let name = entity.xml10_content();
                match character(&name) {
                    Some(letter) => push(&mut top.text, letter.encode_utf8(&mut [0; 4])),
                    None => push(&mut top.text, &format!("&{name};")),
                }
            }
            Event::Eof => return Err(Broken("the file breaks off within an element".into())),
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_) => {}
        }
    }
}

/// Texts beyond the limit are cut later anyway; here they must only not grow without end.
fn push(text: &mut String, more: &str) {
    if text.len() <= limits::TEXT_BYTES {
        text.push_str(more);
    }
}
