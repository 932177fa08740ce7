use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Block {
    /// Words.
    Text(String),
    /// Reasoning of the model.
    Reasoning(Reasoning),
    /// A call that the model made.
    ToolCall(ToolCall),
    /// The answer to one call.
    ToolResult(ToolResult),
    /// An image.
    Image(Image),
    /// A block that the host does not model; kept byte for byte when its entry is kept.
    Opaque(Opaque),
}

/// Reasoning of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reasoning {
    /// What the model thought; empty where the provider hides it.
    pub text: String,
    /// The provider signed or encrypted it, so it is only valid unchanged and within the tool loop it belongs to.
    pub signed: bool,
}

/// A call that the model made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id by which its result refers to it. Ids may repeat in later turns.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// JSON object, exactly as the model wrote it where the format keeps that.
    pub arguments: String,
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of the call that it answers.
    pub call_id: String,
    /// Name of the tool; empty if the session does not say and no call matches.
    pub name: String,
    /// What the tool printed or returned.
    pub text: String,
    /// The tool reported an error, or the call was refused.
    pub failed: bool,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// As in `image/png`; empty if not known.
    pub media_type: String,
    /// Where its bytes are.
    pub source: ImageSource,
}

impl Image {
    /// Tokens that one image is taken to cost: Pi's estimate (4,800 characters at four a token). Never the base64
    /// length. Providers price by size in pixels; none of the ones we know asks for more than about 1,600.
    pub const TOKENS: u32 = 1_200;
}

/// Where the bytes of an image are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ImageSource {
    /// In the session, as base64.
    Base64(#[serde(serialize_with = "write_shared", deserialize_with = "read_shared")] Arc<str>),
    /// Somewhere else.
    Url(String),
    /// The session does not say.
    Unknown,
}

/// A block that the host does not model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// Its type, as the format names it.
    pub type_name: String,
    /// Its JSON, for counting.
    pub json: String,
}

/// As the text itself: shared texts need a feature of serde that would be on for the whole program.
pub(super) fn write_shared<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

pub(super) fn read_shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Arc::from)
}
