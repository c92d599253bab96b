//! `POST /v1/embeddings`: vectors of hashed words, so that texts with the same words, or words for the same, are near each
//! other.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State as Shares;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Shared;
use super::endpoint::{failed, reject_request, unauthorised};
use super::script::{Answer, AnswerKind};
use crate::serve;

/// How many numbers a vector has.
const DIMENSION: usize = 256;
/// The most texts of one request, and the most characters of one text here. (Vendors count 8,192 tokens.)
const MAX_TEXTS: usize = 2_048;
const MAX_CHARS: usize = 8_192;
/// Words that count as the same.
const SYNONYMS: [(&str, &str); 3] = [("holiday", "leave"), ("vacation", "leave"), ("railway", "train")];
/// Words that do not count.
const COMMON: [&str; 12] = ["a", "by", "do", "for", "have", "how", "i", "is", "of", "on", "the", "we"];

/// What the fake keeps of embeddings.
#[derive(Debug)]
pub(super) struct EmbeddingsState {
    pub(super) scripts: VecDeque<Answer>,
    /// The texts of each valid request.
    pub(super) requests: Vec<Vec<String>>,
    pub(super) dimension: usize,
}

impl Default for EmbeddingsState {
    fn default() -> Self {
        Self { scripts: VecDeque::new(), requests: Vec::new(), dimension: DIMENSION }
    }
}

pub(super) async fn embed(Shares(shared): Shares<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Some(response) = unauthorised(&shared, &headers) {
        return response;
    }
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return reject_request(&shared, vec!["We could not parse the JSON body of your request.".to_owned()]);
    };
    let mut wrong = shared.strictness.find_embeddings_violations(&request);
    let texts = read_texts(&request).unwrap_or_else(|problem| {
        wrong.push(problem);
        Vec::new()
    });
    if !wrong.is_empty() {
        return reject_request(&shared, wrong);
    }
    let (script, dimension) = shared.change(|state| {
        state.embeddings.requests.push(texts.clone());
        (state.embeddings.scripts.pop_front(), state.embeddings.dimension)
    });
    match script.map(|script| script.kind) {
        Some(AnswerKind::Hang) => std::future::pending().await,
        Some(AnswerKind::Drop) => serve::drop_connection(),
        Some(AnswerKind::Error { status, retry_after, code, message }) => {
            failed(status, retry_after, &code, &message)
        }
        Some(AnswerKind::Message { .. }) | None => {
            let embedding = |(index, text): (usize, &String)| json!({ "object": "embedding", "index": index, "embedding": vector(text, dimension) });
            let data: Vec<Value> = texts.iter().enumerate().map(embedding).collect();
            let tokens: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
            let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
            Json(json!({ "object": "list", "data": data, "model": request["model"], "usage": usage }))
                .into_response()
        }
    }
}

fn read_texts(request: &Value) -> Result<Vec<String>, String> {
    if request["encoding_format"] != "float" {
        return Err("only encoding_format \"float\" is known here".to_owned());
    }
    let texts = request["input"].as_array().ok_or("only a list of texts is known here")?;
    if texts.is_empty() || texts.len() > MAX_TEXTS {
        return Err(format!("input must have 1 to {MAX_TEXTS} texts"));
    }
    let text = |text: &Value| {
        let text = text.as_str().filter(|text| !text.is_empty()).ok_or("a text must not be empty")?;
        if text.chars().count() > MAX_CHARS {
            return Err("this text is longer than the model's maximum context length".to_owned());
        }
        Ok(text.to_owned())
    };
    texts.iter().map(text).collect()
}

/// Returns the sum of a text's words, each at its place.
fn vector(text: &str, dimension: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimension];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if COMMON.contains(&word) {
            continue;
        }
        let stem = word.strip_suffix('s').unwrap_or(word);
        let meaning = SYNONYMS.iter().find(|(other, _)| *other == stem).map_or(stem, |(_, meaning)| meaning);
        let hash = meaning.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let place = usize::try_from(hash % dimension as u64).unwrap_or(0);
        vector[place] += 1.0;
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.iter().map(|x| x / length).collect()
}
