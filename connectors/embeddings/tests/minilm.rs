#![allow(clippy::unwrap_used)]
//! The real all-MiniLM-L6-v2, if `NOD_MODEL_DIR` names its folder (scripts/fetch-model fetches it).

use std::path::PathBuf;
use std::sync::Arc;

use nod_contract::embedding::{Embedder, TextKind};
use nod_embeddings::{LocalModel, LocalModelError};

fn open() -> Option<LocalModel> {
    let folder = std::env::var_os("NOD_MODEL_DIR").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: NOD_MODEL_DIR names no folder with all-MiniLM-L6-v2");
    }
    folder.map(|folder| LocalModel::open(&folder).unwrap())
}

async fn embed(model: &LocalModel, text: &str) -> Vec<f32> {
    model.embed(vec![text.to_owned()], TextKind::Passage).await.unwrap().remove(0)
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The expected numbers come from a forward pass that was written independently of this code.
#[tokio::test]
async fn vectors_are_those_of_the_model() {
    let Some(model) = open() else { return };
    let leave = embed(&model, "Everybody has 25 days of annual leave.").await;
    let holiday = embed(&model, "How much holiday do I get?").await;
    let train = embed(&model, "We go by train.").await;
    for (found, expected) in leave.iter().zip([0.096_936_31, 0.019_936_67, 0.070_639_66, 0.030_553_73]) {
        assert!((found - expected).abs() < 1e-5, "{found} and {expected}");
    }
    let cosines = [(&leave, &holiday, 0.369_55), (&leave, &train, 0.152_55), (&holiday, &train, 0.091_80)];
    for (a, b, expected) in cosines {
        assert!((cosine(a, b) - expected).abs() < 1e-4, "{} and {expected}", cosine(a, b));
    }
}

#[tokio::test]
async fn long_texts_are_cut_and_tokens_have_their_places() {
    let Some(model) = open() else { return };
    assert_eq!(model.model().max_tokens, 254);
    assert_eq!(model.token_ends("annual leave, ok"), [6, 12, 13, 16]);
    let long = "leave ".repeat(1_000);
    assert_eq!(embed(&model, &long).await, embed(&model, &long[..6 * 254]).await);
    assert_eq!(embed(&model, "").await.len(), 384);
}

#[tokio::test]
async fn a_document_that_is_given_up_does_not_keep_a_question_waiting() {
    let Some(model) = open() else { return };
    let model = Arc::new(model);
    let long: Vec<String> = (0..10_000).map(|n| format!("{n} {}", "leave ".repeat(200))).collect();
    let document = tokio::spawn({
        let model = model.clone();
        async move { model.embed(long, TextKind::Passage).await }
    });
    tokio::task::yield_now().await;
    document.abort();
    assert!(document.await.is_err());
    // Ten thousand texts would take minutes.
    assert_eq!(model.embed(vec!["leave".to_owned()], TextKind::Query).await.unwrap().len(), 1);
}

#[test]
fn a_folder_without_a_model_is_an_error() {
    let folder = std::env::temp_dir().join("nod-no-model");
    let Err(error) = LocalModel::open(&folder) else { panic!("it was opened") };
    assert!(
        matches!(error, LocalModelError::File { .. }) && error.to_string().contains("config.json"),
        "{error}"
    );
}
