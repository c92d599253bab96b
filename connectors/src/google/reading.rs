//! Where one call reads what others wrote in a person's account. Nothing of it is parsed here.

use nod_core::file;
use nod_core::reading::Desk;
use tokio::sync::Mutex;

/// A desk, used by one at a time.
pub(in crate::google) struct Reading(Mutex<Box<dyn Desk>>);

impl Reading {
    pub(in crate::google) fn at(desk: Box<dyn Desk>) -> Self {
        Self(Mutex::new(desk))
    }

    /// The words of a file, or why there are none, as the end of a sentence.
    pub(in crate::google) async fn file(&self, bytes: Vec<u8>) -> Result<String, String> {
        file::words(self.0.lock().await.as_mut(), bytes).await
    }
}
