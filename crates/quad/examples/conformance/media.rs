//! The smallest image and the smallest sound that a decoder accepts.
//!
//! Stored as bytes; messages encode them as base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use quad_core::tool::ContentBlock;

/// A PNG of one grey pixel.
pub const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\
    \0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55\
    \0\0\0\x0aIDAT\x78\xda\x63\x68\0\0\0\x82\0\x81\xda\x45\x08\x3b\
    \0\0\0\0IEND\xae\x42\x60\x82";

/// A WAV of two silent samples: mono, 8,000 a second, 8 bits each.
const SILENCE: &[u8] = b"RIFF\x26\0\0\0WAVE\
    fmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0\
    data\x02\0\0\0\x80\x80";

/// The image as a content block.
pub fn image_block() -> ContentBlock {
    ContentBlock::Image { data: BASE64.encode(PIXEL), mime_type: "image/png".into() }
}

/// The sound as a content block.
pub fn audio_block() -> ContentBlock {
    ContentBlock::Audio { data: BASE64.encode(SILENCE), mime_type: "audio/wav".into() }
}
