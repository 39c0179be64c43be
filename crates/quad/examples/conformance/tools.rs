//! The tools: one for each kind of content block, and one for each kind of outcome.

use std::time::Duration;

use quad_core::tool::{ContentBlock, Progress, ToolEffect};
use quad_core::{Content, Error, Result, ScopeRequirement, Tool, ToolOutput};
use serde_json::json;

use crate::media;

/// Names and descriptions, in the order of the list.
const TOOLS: [(&str, &str); 10] = [
    ("test_simple_text", "Answers with a text."),
    ("test_image_content", "Answers with an image."),
    ("test_audio_content", "Answers with a sound."),
    ("test_embedded_resource", "Answers with an embedded resource."),
    ("test_multiple_content_types", "Answers with a text, an image and an embedded resource."),
    ("test_error_handling", "Fails with an error result."),
    ("test_tool_with_progress", "Reports progress before it answers."),
    ("test_streaming_elicitation", "Answers without elicitation."),
    ("test_logging_tool", "Answers without log messages."),
    (MISSING_CAPABILITY, "Works only for clients with the sampling capability."),
];

/// The tool that requires a client capability.
const MISSING_CAPABILITY: &str = "test_missing_capability";

/// The required client capability of a tool.
pub fn client_capabilities(tool: &str) -> &'static [&'static str] {
    if tool == MISSING_CAPABILITY { &["sampling"] } else { &[] }
}

/// The time between progress reports, long enough that they are not merged.
const PROGRESS_STEP: Duration = Duration::from_millis(50);

/// The published tools.
pub fn all() -> Vec<Tool> {
    let tool = |(name, description)| Tool {
        core: true,
        ..Tool::new(
            name,
            name,
            description,
            json!({"type": "object"}),
            ScopeRequirement::NONE,
            ToolEffect::Reads,
        )
    };
    TOOLS.into_iter().map(tool).collect()
}

/// Calls a tool. No tool reads or changes data, and none has arguments.
pub async fn call(name: &str, progress: &dyn Progress) -> Result<ToolOutput> {
    let blocks = match name {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![media::image_block()],
        "test_audio_content" => vec![media::audio_block()],
        "test_embedded_resource" => {
            vec![embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
        }
        "test_multiple_content_types" => vec![
            text("Multiple content types test:"),
            media::image_block(),
            embedded("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ],
        "test_error_handling" => {
            let blocks = vec![text("This tool intentionally returns an error for testing")];
            return Ok(ToolOutput { structured: None, blocks, is_error: true, has_stored_text: false });
        }
        "test_tool_with_progress" => {
            for done in [0.0, 50.0, 100.0] {
                progress.report(done, Some(100.0), "");
                tokio::time::sleep(PROGRESS_STEP).await;
            }
            vec![text("This tool has reported its progress.")]
        }
        "test_streaming_elicitation" => vec![text("This tool needs no elicitation.")],
        "test_logging_tool" => vec![text("This tool sends no log messages.")],
        MISSING_CAPABILITY => vec![text("The client supports sampling.")],
        other => return Err(Error::internal(format!("{other} is not a fixture"))),
    };
    Ok(ToolOutput { blocks, ..ToolOutput::default() })
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.to_owned())
}

fn embedded(uri: &str, mime_type: &'static str, text: &str) -> ContentBlock {
    ContentBlock::Embedded { uri: uri.to_owned(), content: Content::text(mime_type, text) }
}
