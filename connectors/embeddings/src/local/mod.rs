//! A BERT model from a folder, such as all-MiniLM-L6-v2 or bge-small-en-v1.5. Nothing is downloaded.

mod bert;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use async_trait::async_trait;
use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use nod_contract::embedding::{EmbedError, Embedder, EmbeddingModel, TextKind};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;
use tokio::sync::oneshot;

use crate::normalize;
use bert::{Bert, BertConfig};

/// The models whose first token stands for the text, such as bge, want this before a query.
const QUERY_INSTRUCTION: &str = "Represent this sentence for searching relevant passages: ";

/// The marks for the beginning and the end, which every text gets.
const SPECIAL_TOKENS: usize = 2;

/// Why a folder has no model that can be used.
#[derive(Debug, thiserror::Error)]
pub enum LocalModelError {
    #[error("cannot read {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("{} holds no BERT model with gelu whose vector is the first token's or the mean: others are not built in", path.display())]
    Unsupported { path: PathBuf },
    #[error("cannot start the thread of the embedding model: {reason}")]
    Thread { reason: String },
}

/// `1_Pooling/config.json`: how the tokens' vectors become one.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Pooling {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
}

/// `sentence_bert_config.json`.
#[derive(Debug, Clone, Copy, Deserialize)]
struct SentenceConfig {
    max_seq_length: usize,
}

/// A model in memory, with one thread that computes.
pub struct LocalModel {
    model: EmbeddingModel,
    tokenizer: Arc<Tokenizer>,
    queue: Arc<Queue>,
}

/// A model's files, as read.
struct Network {
    bert: Bert,
    tokenizer: Arc<Tokenizer>,
    uses_first_token: bool,
}

/// A text that waits for the thread, and where to send its vector.
struct Task {
    text: String,
    kind: TextKind,
    reply: oneshot::Sender<Result<Vec<f32>, EmbedError>>,
}

#[derive(Default)]
struct Queue {
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

#[derive(Default)]
struct Tasks {
    queries: VecDeque<Task>,
    passages: VecDeque<Task>,
    is_closed: bool,
}

impl LocalModel {
    /// Reads a model from a folder, and starts its thread.
    ///
    /// # Errors
    /// If a file is missing or is not of a model that this code computes.
    pub fn open(folder: &Path) -> Result<Self, LocalModelError> {
        let config: BertConfig = read_json(&folder.join("config.json"))?;
        if !config.is_supported() {
            return Err(LocalModelError::Unsupported { path: folder.to_owned() });
        }
        let pooling: Pooling = read_json(&folder.join("1_Pooling/config.json"))?;
        if pooling.pooling_mode_cls_token == pooling.pooling_mode_mean_tokens {
            return Err(LocalModelError::Unsupported { path: folder.to_owned() });
        }
        let sentence: SentenceConfig = read_json(&folder.join("sentence_bert_config.json"))?;
        let tokenizer = Arc::new(open_tokenizer(&folder.join("tokenizer.json"))?);
        let path = folder.join("model.safetensors");
        let failed = |error: candle_core::Error| file_error(&path, error);
        let bytes = fs::read(&path).map_err(|error| file_error(&path, error))?;
        let digest = hex::encode(Sha256::digest(&bytes));
        let weights =
            VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu).map_err(failed)?;
        let bert = Bert::load(&config, &weights).map_err(failed)?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let model = EmbeddingModel {
            id: format!("{name}@{}", &digest[..12]),
            max_tokens: sentence
                .max_seq_length
                .min(config.max_position_embeddings)
                .saturating_sub(SPECIAL_TOKENS)
                .max(1),
        };
        let uses_first_token = pooling.pooling_mode_cls_token;
        let network = Network { bert, tokenizer: tokenizer.clone(), uses_first_token };
        let queue = Arc::new(Queue::default());
        start_thread(network, model.max_tokens, queue.clone())?;
        Ok(Self { model, tokenizer, queue })
    }
}

impl Drop for LocalModel {
    fn drop(&mut self) {
        self.queue.close();
    }
}

#[async_trait]
impl Embedder for LocalModel {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn token_ends(&self, text: &str) -> Vec<usize> {
        let encoded = self.tokenizer.encode(text, false);
        encoded.map(|all| all.get_offsets().iter().map(|(_, end)| *end).collect()).unwrap_or_default()
    }

    async fn embed(&self, texts: Vec<String>, kind: TextKind) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            // One by one, so that a question waits for one text of a document at most.
            let (reply, answer) = oneshot::channel();
            self.queue.push(Task { text, kind, reply });
            vectors.push(answer.await.unwrap_or_else(|_| Err(unavailable("its thread has ended")))?);
        }
        Ok(vectors)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up what waits, and takes nothing more.
    fn close(&self) {
        *self.lock() = Tasks { is_closed: true, ..Tasks::default() };
        self.changed.notify_all();
    }

    fn push(&self, task: Task) {
        let mut tasks = self.lock();
        if tasks.is_closed {
            return;
        }
        match task.kind {
            TextKind::Query => tasks.queries.push_back(task),
            TextKind::Passage => tasks.passages.push_back(task),
        }
        drop(tasks);
        self.changed.notify_one();
    }

    /// Waits for the next task, queries first. Returns `None` when the model is dropped.
    fn pop(&self) -> Option<Task> {
        let mut tasks = self.lock();
        loop {
            if tasks.is_closed {
                return None;
            }
            let next = tasks.queries.pop_front();
            if let Some(task) = next.or_else(|| tasks.passages.pop_front()) {
                return Some(task);
            }
            tasks = self.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Batches gain nothing on a CPU, so one thread computes one text after another.
fn start_thread(network: Network, max_tokens: usize, queue: Arc<Queue>) -> Result<(), LocalModelError> {
    let failed = |error: &dyn std::fmt::Display| LocalModelError::Thread { reason: error.to_string() };
    // Without a pool of its own, each product would be spread over all cores.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| failed(&error))?;
    let work = move || {
        // Whoever waits for a thread that has panicked would wait for ever.
        let queue = CloseOnDrop(queue);
        let queue = &queue.0;
        while let Some(task) = queue.pop() {
            pool.install(|| network.answer(task, max_tokens));
        }
    };
    thread::Builder::new().name("embeddings".to_owned()).spawn(work).map_err(|error| failed(&error))?;
    Ok(())
}

struct CloseOnDrop(Arc<Queue>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Network {
    fn answer(&self, task: Task, max_tokens: usize) {
        match self.embed(&task.text, task.kind, max_tokens, || !task.reply.is_closed()) {
            // Nobody waits any more.
            Ok(None) => {}
            Ok(Some(vector)) => {
                let _ = task.reply.send(Ok(vector));
            }
            Err(error) => {
                let _ = task.reply.send(Err(unavailable(&error)));
            }
        }
    }

    fn embed(
        &self,
        text: &str,
        kind: TextKind,
        max_tokens: usize,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Option<Vec<f32>>, String> {
        let has_instruction = self.uses_first_token && kind == TextKind::Query;
        let text = if has_instruction { format!("{QUERY_INSTRUCTION}{text}") } else { text.to_owned() };
        let encoded = self.tokenizer.encode(text, true).map_err(|error| error.to_string())?;
        let mut tokens = encoded.get_ids().to_vec();
        if tokens.len() > max_tokens + SPECIAL_TOKENS
            && let Some(end) = tokens.pop()
        {
            tokens.truncate(max_tokens + SPECIAL_TOKENS - 1);
            tokens.push(end);
        }
        let states = self.bert.forward(&tokens, is_wanted).map_err(|error| error.to_string())?;
        let Some(states) = states else { return Ok(None) };
        let pooled = if self.uses_first_token { states.get(0) } else { states.mean(0) };
        let mut vector = pooled.and_then(|v| v.to_vec1::<f32>()).map_err(|error| error.to_string())?;
        normalize(&mut vector);
        Ok(Some(vector))
    }
}

/// The files of MiniLM cut and pad at 128 tokens, which is not what the model was made for.
fn open_tokenizer(path: &Path) -> Result<Tokenizer, LocalModelError> {
    let mut tokenizer = Tokenizer::from_file(path).map_err(|error| file_error(path, error))?;
    tokenizer.with_padding(None);
    tokenizer.with_truncation(None).map_err(|error| file_error(path, error))?;
    Ok(tokenizer)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, LocalModelError> {
    let bytes = fs::read(path).map_err(|error| file_error(path, error))?;
    serde_json::from_slice(&bytes).map_err(|error| file_error(path, error))
}

fn file_error(path: &Path, error: impl std::fmt::Display) -> LocalModelError {
    LocalModelError::File { path: path.to_owned(), reason: error.to_string() }
}

fn unavailable(reason: &(impl std::fmt::Display + ?Sized)) -> EmbedError {
    EmbedError::Unavailable { reason: reason.to_string() }
}
