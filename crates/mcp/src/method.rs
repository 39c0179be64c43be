//! The methods that a client may call.

use crate::Era;

/// A method that we serve in at least one era.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Opens a legacy connection.
    Initialize,
    /// `initialized` sent as a request, as one known client does; answered with nothing.
    Initialized,
    /// Are you there?
    Ping,
    /// What can you do?
    Discover,
    /// What can I read?
    ResourcesList,
    /// Which forms do addresses have?
    TemplatesList,
    /// Read an address.
    ResourcesRead,
    /// Tell me when it changes (legacy).
    Subscribe,
    /// Tell me no more (legacy).
    Unsubscribe,
    /// Which prompts are there?
    PromptsList,
    /// The messages of a prompt.
    PromptsGet,
    /// Which tools are there?
    ToolsList,
    /// Call a tool.
    ToolsCall,
    /// Possible values of a variable.
    Complete,
    /// Tell me when these change (modern).
    Listen,
}

impl Method {
    /// Every method.
    pub const ALL: [Method; 15] = [
        Method::Initialize,
        Method::Initialized,
        Method::Ping,
        Method::Discover,
        Method::ResourcesList,
        Method::TemplatesList,
        Method::ResourcesRead,
        Method::Subscribe,
        Method::Unsubscribe,
        Method::PromptsList,
        Method::PromptsGet,
        Method::ToolsList,
        Method::ToolsCall,
        Method::Complete,
        Method::Listen,
    ];

    /// The spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Initialize => "initialize",
            Method::Initialized => "initialized",
            Method::Ping => "ping",
            Method::Discover => "server/discover",
            Method::ResourcesList => "resources/list",
            Method::TemplatesList => "resources/templates/list",
            Method::ResourcesRead => "resources/read",
            Method::Subscribe => "resources/subscribe",
            Method::Unsubscribe => "resources/unsubscribe",
            Method::PromptsList => "prompts/list",
            Method::PromptsGet => "prompts/get",
            Method::ToolsList => "tools/list",
            Method::ToolsCall => "tools/call",
            Method::Complete => "completion/complete",
            Method::Listen => "subscriptions/listen",
        }
    }

    /// Reads a method that the era has.
    pub fn parse(text: &str, era: Era) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.as_str() == text && method.is_supported_in(era))
    }

    /// Whether the era has it.
    pub fn is_supported_in(self, era: Era) -> bool {
        match self {
            Method::Initialize
            | Method::Initialized
            | Method::Ping
            | Method::Subscribe
            | Method::Unsubscribe => era == Era::Legacy,
            Method::Discover | Method::Listen => era == Era::Modern,
            _ => true,
        }
    }

    /// The parameter that the `Mcp-HostPort` header repeats, if the method has one.
    pub(crate) fn header_param_name(self) -> Option<&'static str> {
        match self {
            Method::ToolsCall | Method::PromptsGet => Some("name"),
            Method::ResourcesRead => Some("uri"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_accepts_only_methods_of_the_era() {
        assert_eq!(Method::parse("ping", Era::Legacy), Some(Method::Ping));
        assert_eq!(Method::parse("ping", Era::Modern), None);
        assert_eq!(Method::parse("initialize", Era::Modern), None);
        assert_eq!(Method::parse("subscriptions/listen", Era::Legacy), None);
        assert_eq!(Method::parse("resources/read", Era::Modern), Some(Method::ResourcesRead));
        assert_eq!(Method::parse("resources/Read", Era::Modern), None);
    }
}
