//! The methods of the protocol that this server answers.

use crate::Era;

/// A method of at least one era.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `initialize`: opens a legacy connection.
    Initialize,
    /// `initialized` as a request: one known client sends it so. The result is empty.
    Initialized,
    /// `ping`.
    Ping,
    /// `server/discover`: the capabilities of the server.
    Discover,
    /// `resources/list`.
    ResourcesList,
    /// `resources/templates/list`.
    TemplatesList,
    /// `resources/read`.
    ResourcesRead,
    /// `resources/subscribe` (legacy).
    Subscribe,
    /// `resources/unsubscribe` (legacy).
    Unsubscribe,
    /// `prompts/list`.
    PromptsList,
    /// `prompts/get`.
    PromptsGet,
    /// `tools/list`.
    ToolsList,
    /// `tools/call`.
    ToolsCall,
    /// `completion/complete`.
    Complete,
    /// `subscriptions/listen` (modern).
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

    /// The name on the wire.
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

    /// Parses the name of a method of the era.
    pub fn parse(text: &str, era: Era) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.as_str() == text && method.is_supported_in(era))
    }

    /// Whether the era has this method.
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

    /// The parameter that the `Mcp-Name` header repeats, if the method has one.
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
