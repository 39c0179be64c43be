//! Prompts: message templates that include data from the memory. They change nothing.

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::text::truncate;
use quad_core::tool::ContentBlock;
use quad_core::{Error, Principal, ReadSet, Result};
use quad_store::{Sql, params};
use serde_json::{Map, Value};

use crate::errors::{self, invalid_argument};
use crate::node::{self, Node, NodeId};
use crate::session::{self, SessionId};
use crate::{Amem, caller_state, limits, routes, tags};

const fn argument(name: &'static str, description: &'static str, required: bool) -> PromptArgument {
    PromptArgument { name, description, required }
}

/// The prompts.
pub(crate) static PROMPTS: [Prompt; 4] = [
    Prompt {
        name: "remember",
        title: "Remember this",
        description: "Stores something new where it belongs in the memory.",
        arguments: &[
            argument("information", "What to remember", true),
            argument("context", "Why it matters", false),
        ],
        required_scope: routes::MEMORY_READ,
    },
    Prompt {
        name: "reflect",
        title: "Reflect on a decision",
        description: "Explains a past decision or belief from what the memory holds.",
        arguments: &[
            argument("topic", "The decision or belief", true),
            argument("node_id", "A memory to start from", false),
        ],
        required_scope: routes::MEMORY_READ,
    },
    Prompt {
        name: "correct",
        title: "Correct a belief",
        description: "Replaces an old belief and looks after what depended on it.",
        arguments: &[
            argument("old_belief", "What was believed", true),
            argument("new_information", "What is right", true),
            argument("reason", "Why", false),
        ],
        required_scope: routes::MEMORY_READ,
    },
    Prompt {
        name: "summarize",
        title: "Summarize a session",
        description: "Sums up a session as an episode.",
        arguments: &[argument("session_id", "The session; your current one unless given", false)],
        required_scope: routes::MEMORY_READ,
    },
];

/// The messages of a prompt, and what they depend on.
pub(crate) async fn messages(
    amem: &Amem,
    caller: &Principal,
    prompt: &'static Prompt,
    arguments: &Map<String, Value>,
) -> Result<(Vec<Message>, ReadSet)> {
    let arguments = PromptArguments(arguments);
    match prompt.name {
        "remember" => {
            let context =
                arguments.optional("context").map(|reason| format!("\n\nIt matters because: {reason}"));
            let text = format!(
                "Remember this:\n\n{}{}\n\nFirst look whether the memory already holds it or something that contradicts it \
                 (memory_search, memory_query). If an old memory is wrong now, use memory_correct. Otherwise choose the type \
                 that fits (fact, decision, inference, skill), say how sure you are, and store it with memory_add, with links \
                 to what it rests on.",
                arguments.required("information")?,
                context.unwrap_or_default()
            );
            Ok((vec![user_message(ContentBlock::Text(text))], ReadSet::default()))
        }
        "reflect" => {
            let topic = arguments.required("topic")?.to_owned();
            let id = arguments.optional("node_id").map(parse_node).transpose()?;
            amem.store.read(&caller.tenant, move |sql| reflect(sql, &topic, id)).await
        }
        "correct" => {
            let reason = arguments.optional("reason").map(|reason| format!("\nReason: {reason}"));
            let text = format!(
                "A belief has to be corrected.\n\nOld: {}\nNew: {}{}\n\nFind the memory that holds the old belief \
                 (memory_search, memory_query), see what depends on it (memory_causal), then store the correction with \
                 memory_correct. Go through the decisions and inferences that depended on it and correct those that no longer \
                 hold.",
                arguments.required("old_belief")?,
                arguments.required("new_information")?,
                reason.unwrap_or_default()
            );
            Ok((vec![user_message(ContentBlock::Text(text))], ReadSet::default()))
        }
        "summarize" => {
            let id = arguments.optional("session_id").map(parse_session).transpose()?;
            let subject = caller.subject.clone();
            amem.store.read(&caller.tenant, move |sql| summarize(sql, &subject, id)).await
        }
        other => Err(Error::internal(format!("prompt {other} is published but not implemented"))),
    }
}

/// The arguments of a prompt. The protocol sends them as text; `node_id` and `session_id` are parsed here.
struct PromptArguments<'a>(&'a Map<String, Value>);

impl<'a> PromptArguments<'a> {
    fn optional(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    fn required(&self, name: &str) -> Result<&'a str> {
        self.optional(name).ok_or_else(|| invalid_argument(name, "must not be empty"))
    }
}

fn parse_node(text: &str) -> Result<NodeId> {
    text.parse()
        .map(NodeId::from_u64_saturating)
        .map_err(|_| invalid_argument("node_id", "must be a node's id"))
}

fn parse_session(text: &str) -> Result<SessionId> {
    text.parse().map(SessionId).map_err(|_| invalid_argument("session_id", "must be a session's id"))
}

fn user_message(block: ContentBlock) -> Message {
    Message { role: Role::User, block }
}

fn link_message(uri: String, name: String) -> Message {
    user_message(ContentBlock::Link { uri, name, mime_type: Some("application/json".into()) })
}

fn reflect(sql: &mut dyn Sql, topic: &str, id: Option<NodeId>) -> Result<(Vec<Message>, ReadSet)> {
    let mut read_set = ReadSet::at_version(sql.version());
    let mut start = String::new();
    let mut messages = Vec::new();
    if let Some(id) = id {
        let node = node::get(sql, id)?;
        read_set = read_set.with_tag(tags::node(id)).with_tag(tags::any_node());
        start = format!("\n\nStart from this memory:\n{}", summary_line(&node));
        messages.push(link_message(id.uri(), format!("Node {id}")));
    }
    let text = format!(
        "Explain how it came to this: {topic}{start}\n\nFind the decisions and beliefs about it (memory_search, memory_query). \
         Follow what they rest on: memory_traverse forward along caused_by, backward along supports. See with memory_causal \
         what depends on them, and with memory_resolve whether they still hold. Then tell the chain of reasons plainly."
    );
    messages.insert(0, user_message(ContentBlock::Text(text)));
    Ok((messages, read_set))
}

fn summarize(sql: &mut dyn Sql, subject: &str, id: Option<SessionId>) -> Result<(Vec<Message>, ReadSet)> {
    let id = match id {
        Some(id) => id,
        None => caller_state::current_session(sql, subject)?.ok_or_else(|| {
            errors::conflict("There is no current session")
                .hint("Give a session_id; list the sessions with amem://sessions")
                .with_code("NO_SESSION")
        })?,
    };
    let session = session::get(sql, id)?;
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT {} FROM amem_node WHERE tenant_id = $1 AND session_id = $2 ORDER BY id LIMIT $3",
            node::COLUMNS
        ),
        params![tenant.as_str(), i64::from(id.0), limits::PROMPT_NODES as i64],
    )?;
    let nodes = Node::from_rows(&rows)?;
    let mut listed: String = nodes.iter().map(summary_line).collect();
    let remaining = session.node_count - nodes.len() as i64;
    if remaining > 0 {
        listed.push_str(&format!("… and {remaining} more, at {}\n", id.uri()));
    }
    let text = format!(
        "Sum up session {id}, which holds {} memories:\n\n{listed}\nWrite a short episode: what it was about, what was learned, \
         what was decided, what was corrected, how it ended. Then store it with session_end, with session_id {id} and your text \
         as summary.",
        session.node_count
    );
    let read_set = ReadSet::at_version(sql.version()).with_tag(tags::session(id));
    Ok((
        vec![user_message(ContentBlock::Text(text)), link_message(id.uri(), format!("Session {id}"))],
        read_set,
    ))
}

/// A node as one line of a list.
fn summary_line(node: &Node) -> String {
    let content = node.content.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("- [#{} {}] {}\n", node.id, node.event_type.as_str(), truncate(&content, limits::PROMPT_CHARS))
}
