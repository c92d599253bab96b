//! A file that somebody drops in a page of the sandbox, as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// The largest file that is taken, in bytes.
const MAX_BYTES: usize = 20 * 1024 * 1024;
/// What the routes that take one accept, in bytes: Base64 needs a third more.
pub(crate) const MAX_BODY_BYTES: usize = MAX_BYTES / 3 * 4 + 64 * 1024;

/// The file as the page sends it.
#[derive(Deserialize)]
pub(crate) struct DroppedFile {
    pub(crate) name: String,
    #[serde(default)]
    media_type: String,
    base64: String,
}

impl DroppedFile {
    /// Returns its media type.
    pub(crate) fn media_type(&self) -> &str {
        if self.media_type.is_empty() { "application/octet-stream" } else { &self.media_type }
    }

    /// Returns its content, or why it is not taken.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, String> {
        if self.name.is_empty() || self.name.contains(['/', '\\']) {
            return Err("The file needs a plain name.".to_owned());
        }
        let bytes = STANDARD.decode(&self.base64).map_err(|_| "The file is not in Base64.".to_owned())?;
        match bytes.len() {
            0 => Err("The file is empty.".to_owned()),
            size if size > MAX_BYTES => Err("The file is larger than 20 MB.".to_owned()),
            _ => Ok(bytes),
        }
    }
}
