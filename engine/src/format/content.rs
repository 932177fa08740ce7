//! What the formats' messages have in common: content that is a string or a list of blocks.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::json::{Object, array, quote, string};
use crate::transcript::{Block, Image, ImageSource, Opaque};

/// A block with `text`, as all formats spell it.
pub(super) fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quote(text))
}

/// The content with other words: a string stays a string; for a list see [`blocks_with_words`].
pub(super) fn with_words(content: Option<&RawValue>, words: &str, keep_rest: bool) -> String {
    match content.and_then(array) {
        Some(blocks) => format!("[{}]", blocks_with_words(&blocks, words, keep_rest).join(",")),
        None => quote(words),
    }
}

/// The blocks with other words: one block of text takes the place of the first one, the others go, and what is no
/// text stays as it is if `keep_rest`.
pub(super) fn blocks_with_words(blocks: &[&RawValue], words: &str, keep_rest: bool) -> Vec<String> {
    let mut parts: Vec<String> = Vec::with_capacity(blocks.len());
    let mut placed = false;
    for block in blocks {
        let is_text = string(block).is_some() || Object::of(block).is_some_and(|o| o.str("text").is_some());
        if is_text && !placed {
            parts.push(text_block(words));
            placed = true;
        } else if !is_text && keep_rest {
            parts.push(block.get().to_owned());
        }
    }
    if !placed {
        parts.insert(0, text_block(words));
    }
    parts
}

/// A block that the host does not model.
pub(super) fn opaque(type_name: impl Into<String>, json: &str) -> Block {
    Block::Opaque(Opaque { type_name: type_name.into(), json: json.to_owned() })
}

/// An image given by a URL, which may hold its bytes.
pub(super) fn image_of_url(url: &str) -> Block {
    let inline = url.strip_prefix("data:").and_then(|rest| {
        let (head, data) = rest.split_once(',')?;
        Some((head.strip_suffix(";base64")?, data))
    });
    Block::Image(match inline {
        Some((media_type, data)) => base64_image(media_type, data),
        None => Image { media_type: String::new(), source: ImageSource::Url(url.to_owned()) },
    })
}

/// An image whose bytes are in the session.
pub(super) fn base64_image(media_type: &str, data: &str) -> Image {
    // The parameters of a media type say nothing about the image.
    let media_type = media_type.split(';').next().unwrap_or_default().to_owned();
    Image { media_type, source: ImageSource::Base64(Arc::from(data)) }
}

/// The words of a list of blocks, one after another on lines of their own.
pub(super) fn join_texts(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}
