//! `tools/call`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::audit::Computed;
use super::{MountedScheme, RegisteredTool, Resolver, ToolOwner, View, require_scope};
use crate::audit_log::ReadSets;
use crate::event::truncate_for_audit;
use crate::scheme::RequestTarget;
use crate::tool::{AuditStatus, Progress, Tool, ToolCall};
use crate::{
    Error, EventDraft, Kind, Principal, Result, ToolOutput, arguments, canonical, resource_tools,
    tool_suggestion,
};

impl Resolver {
    /// Calls a tool. An unknown name is [`Kind::BadInput`] with the code `UNKNOWN_TOOL`; every other failure
    /// is the tool's own result.
    pub async fn call_tool(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: Map<String, Value>,
        progress: &dyn Progress,
    ) -> Result<ToolOutput> {
        let arguments = Value::Object(arguments);
        let name = self.tool_name(name);
        let event = EventDraft::call(caller, "tools/call")
            .input("tool", truncate_for_audit(name))
            .input("args_hash", canonical::sha256_hex_of(&arguments));
        let Value::Object(arguments) = arguments else {
            return Err(Error::internal("tool arguments are an object"));
        };
        match self.try_call_tool(caller, view, name, arguments, &event, progress).await {
            Ok(output) => {
                let has_stored_text =
                    self.find_tool(view, name).is_ok_and(|(_, entry)| entry.tool.returns_stored_text);
                Ok(ToolOutput { has_stored_text, ..output })
            }
            Err(error) => {
                Err(self.map_and_record(caller, view, RequestTarget::Tool(name), event, error).await)
            }
        }
    }

    async fn try_call_tool(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: Map<String, Value>,
        event: &EventDraft,
        progress: &dyn Progress,
    ) -> Result<ToolOutput> {
        let (mounted, entry) = self.find_tool(view, name)?;
        require_scope(entry.tool.required_scope, caller)?;
        let arguments = arguments::prepare(&entry.tool, entry.validator()?, arguments)?;
        let Some(mounted) = mounted else {
            // The resource tools append their event themselves: it names the address.
            return resource_tools::call(self, caller, view, name, &arguments, event.clone()).await;
        };
        let arguments = &arguments;
        let compute = |_is_first: bool| async move {
            let call = ToolCall {
                caller,
                tool: &entry.tool,
                index: entry.index,
                arguments: arguments.clone(),
                event: event.clone(),
                progress,
            };
            let result = mounted.scheme.call_tool(call).await?;
            Ok(match result.audit {
                AuditStatus::Committed(receipt) => Computed::Committed(result.output, receipt),
                AuditStatus::Pending(read_set) => {
                    let read_sets = ReadSets::from_iter([Arc::new(read_set)]);
                    Computed::read(result.output, read_sets)
                }
            })
        };
        let (output, _) = self.commit_read(caller, compute, |_| event.clone().succeeded()).await?;
        Ok(output)
    }

    /// The client capabilities that a tool needs. None for an unknown tool: the call itself reports that.
    pub fn client_capabilities(&self, view: View, tool: &str) -> &'static [&'static str] {
        match self.find_tool(view, self.tool_name(tool)) {
            Ok((Some(mounted), _)) => mounted.scheme.client_capabilities(tool),
            _ => &[],
        }
    }

    /// The published name of a tool that a caller names with dots, as its original does. Other names are
    /// returned as they are.
    fn tool_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.dotted_names.get(name).copied().unwrap_or(name)
    }

    /// A tool, and its scheme unless it is built in.
    fn find_tool(&self, view: View, name: &str) -> Result<(Option<&MountedScheme>, &RegisteredTool)> {
        match self.tools.get(name) {
            Some(ToolOwner::Builtin(index)) => Ok((None, &self.builtin_tools[*index])),
            Some(ToolOwner::Scheme { scheme_index, tool_index })
                if self.view_includes(view, *scheme_index) =>
            {
                let mounted = &self.schemes[*scheme_index];
                Ok((Some(mounted), &mounted.tools[*tool_index]))
            }
            _ => {
                let builtin = self.builtin_tools.iter();
                let schemes = self.schemes.iter().enumerate();
                let visible = schemes.filter(|(index, _)| self.view_includes(view, *index));
                let tools = builtin.chain(visible.flat_map(|(_, mounted)| &mounted.tools));
                let tools: Vec<&Tool> = tools.map(|entry| entry.tool.as_ref()).collect();
                let message = format!("Unknown tool: {}", truncate_for_audit(name));
                Err(Error::new(Kind::BadInput, "UNKNOWN_TOOL", message)
                    .hint(tool_suggestion::hint(name, &tools)))
            }
        }
    }
}
