//! The contract with an embedding model: texts in, vectors out, near each other if the texts mean nearly the same.

use async_trait::async_trait;

/// What has to be known of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Names the model and its version in rows: vectors of two models cannot be compared.
    pub id: String,
    /// The most tokens of one text; what comes after them is not seen.
    pub max_tokens: usize,
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Somebody waits for the answer, so it goes first.
    Query,
    /// A part of a document.
    Passage,
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbedError {
    /// The model does not answer now.
    Unavailable { reason: String },
    /// The model does not accept these texts, this key or this model's name.
    Rejected { reason: String },
}

impl std::fmt::Display for EmbedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unavailable { reason } => write!(f, "the embedding model does not answer: {reason}"),
            Self::Rejected { reason } => write!(f, "the embedding model refuses: {reason}"),
        }
    }
}

impl std::error::Error for EmbedError {}

/// An embedding model.
#[async_trait]
pub trait Embedder: Send + Sync {
    fn model(&self) -> &EmbeddingModel;

    /// Returns where each token of a text ends, in bytes.
    fn token_ends(&self, text: &str) -> Vec<usize>;

    /// Returns a vector of length 1 for each text. If the future is dropped, the work stops.
    ///
    /// # Errors
    /// If the model does not answer or refuses.
    async fn embed(&self, texts: Vec<String>, kind: TextKind) -> Result<Vec<Vec<f32>>, EmbedError>;
}
