//! The forward pass of a BERT encoder. One text at a time, so there is no padding and no mask.

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{Embedding, LayerNorm, Linear, Module, VarBuilder, embedding, layer_norm, linear};
use serde::Deserialize;

/// The parts of `config.json` that the forward pass needs.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct BertConfig {
    pub(super) model_type: String,
    hidden_act: String,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    pub(super) max_position_embeddings: usize,
    type_vocab_size: usize,
    vocab_size: usize,
    layer_norm_eps: f64,
}

impl BertConfig {
    /// Returns whether this code computes such a model.
    pub(super) fn is_supported(&self) -> bool {
        self.model_type == "bert"
            && self.hidden_act == "gelu"
            && self.num_attention_heads > 0
            && self.hidden_size.is_multiple_of(self.num_attention_heads)
    }
}

pub(super) struct Bert {
    words: Embedding,
    positions: Embedding,
    /// The vector of the first token type: there is only one text.
    token_type: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    heads: usize,
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    intermediate: Linear,
    output: Linear,
    output_norm: LayerNorm,
}

impl Bert {
    pub(super) fn load(config: &BertConfig, weights: &VarBuilder<'_>) -> Result<Self> {
        let (hidden, epsilon) = (config.hidden_size, config.layer_norm_eps);
        let embeddings = weights.pp("embeddings");
        let types = embedding(config.type_vocab_size, hidden, embeddings.pp("token_type_embeddings"))?;
        let layers = (0..config.num_hidden_layers)
            .map(|at| Layer::load(config, &weights.pp(format!("encoder.layer.{at}"))));
        Ok(Self {
            words: embedding(config.vocab_size, hidden, embeddings.pp("word_embeddings"))?,
            positions: embedding(
                config.max_position_embeddings,
                hidden,
                embeddings.pp("position_embeddings"),
            )?,
            token_type: types.embeddings().get(0)?,
            norm: layer_norm(hidden, epsilon, embeddings.pp("LayerNorm"))?,
            layers: layers.collect::<Result<_>>()?,
        })
    }

    /// Returns a vector for each token, or `None` if the result is not wanted any more.
    pub(super) fn forward(&self, tokens: &[u32], is_wanted: impl Fn() -> bool) -> Result<Option<Tensor>> {
        let count = u32::try_from(tokens.len()).map_err(candle_core::Error::wrap)?;
        let words = self.words.forward(&Tensor::new(tokens, &Device::Cpu)?)?;
        let positions = self.positions.forward(&Tensor::arange(0, count, &Device::Cpu)?)?;
        let mut states = self.norm.forward(&(words + positions)?.broadcast_add(&self.token_type)?)?;
        for layer in &self.layers {
            if !is_wanted() {
                return Ok(None);
            }
            states = layer.forward(&states)?;
        }
        Ok(Some(states.to_dtype(DType::F32)?))
    }
}

impl Layer {
    fn load(config: &BertConfig, weights: &VarBuilder<'_>) -> Result<Self> {
        let (hidden, inner, epsilon) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let attention = weights.pp("attention");
        Ok(Self {
            heads: config.num_attention_heads,
            query: linear(hidden, hidden, attention.pp("self.query"))?,
            key: linear(hidden, hidden, attention.pp("self.key"))?,
            value: linear(hidden, hidden, attention.pp("self.value"))?,
            attention_output: linear(hidden, hidden, attention.pp("output.dense"))?,
            attention_norm: layer_norm(hidden, epsilon, attention.pp("output.LayerNorm"))?,
            intermediate: linear(hidden, inner, weights.pp("intermediate.dense"))?,
            output: linear(inner, hidden, weights.pp("output.dense"))?,
            output_norm: layer_norm(hidden, epsilon, weights.pp("output.LayerNorm"))?,
        })
    }

    fn forward(&self, states: &Tensor) -> Result<Tensor> {
        let attended = self.attention_output.forward(&self.attend(states)?)?;
        let states = self.attention_norm.forward(&(attended + states)?)?;
        let inner = self.intermediate.forward(&states)?.gelu_erf()?;
        self.output_norm.forward(&(self.output.forward(&inner)? + &states)?)
    }

    fn attend(&self, states: &Tensor) -> Result<Tensor> {
        let (tokens, hidden) = states.dims2()?;
        let width = hidden / self.heads;
        let by_head =
            |projected: Tensor| projected.reshape((tokens, self.heads, width))?.transpose(0, 1)?.contiguous();
        let query = (by_head(self.query.forward(states)?)? / (width as f64).sqrt())?;
        let key = by_head(self.key.forward(states)?)?;
        let value = by_head(self.value.forward(states)?)?;
        let scores = query.matmul(&key.transpose(D::Minus1, D::Minus2)?.contiguous()?)?;
        let mixed = softmax_last_dim(&scores)?.matmul(&value)?;
        mixed.transpose(0, 1)?.contiguous()?.reshape((tokens, hidden))
    }
}
