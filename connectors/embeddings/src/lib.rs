//! Embedding models: one from a folder on disk, or one behind an endpoint that speaks the OpenAI protocol.

mod endpoint;
mod local;

pub use endpoint::{Endpoint, EndpointError, EndpointSettings};
pub use local::{LocalModel, LocalModelError};

/// Scales a vector to length 1, so that a product of two is their cosine.
fn normalize(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
}
