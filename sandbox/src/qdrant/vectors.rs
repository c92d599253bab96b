//! Vectors: what is one, and how near two are.

use std::collections::BTreeMap;

use qdrant_client::qdrant::{DenseVector, MultiDenseVector, SparseVector};

use super::refusal::{Refusal, wrong_input};

/// Returns the rows of a multivector, each scaled to length 1, as cosine does it.
pub(super) fn read_rows(vector: &MultiDenseVector, dimension: usize) -> Result<Vec<Vec<f32>>, Refusal> {
    if vector.vectors.is_empty() {
        return Err(wrong_input("Conversion error: multivector must not be empty"));
    }
    let row = |row: &DenseVector| {
        let got = row.data.len();
        if got != dimension {
            return Err(wrong_input(format!("Vector dimension error: expected dim: {dimension}, got {got}")));
        }
        require_finite(&row.data)?;
        let length = row.data.iter().map(|x| x * x).sum::<f32>().sqrt();
        Ok(row.data.iter().map(|x| if length > 0.0 { x / length } else { *x }).collect())
    };
    vector.vectors.iter().map(row).collect()
}

pub(super) fn read_sparse(vector: &SparseVector) -> Result<BTreeMap<u32, f32>, Refusal> {
    if vector.indices.len() != vector.values.len() {
        return Err(wrong_input("Validation error: must be the same length as indices"));
    }
    if vector.indices.is_empty() {
        return Err(wrong_input("Validation error: a sparse vector without indices"));
    }
    require_finite(&vector.values)?;
    let terms: BTreeMap<u32, f32> =
        vector.indices.iter().copied().zip(vector.values.iter().copied()).collect();
    if terms.len() != vector.indices.len() {
        return Err(wrong_input("Validation error: must be unique"));
    }
    Ok(terms)
}

fn require_finite(numbers: &[f32]) -> Result<(), Refusal> {
    if numbers.iter().all(|x| x.is_finite()) {
        Ok(())
    } else {
        Err(wrong_input("a number that is not finite"))
    }
}

/// Returns the sum of each query row's greatest product with a row.
pub(super) fn max_sim(query: &[Vec<f32>], rows: &[Vec<f32>]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let best = |q: &Vec<f32>| rows.iter().map(|row| product(q, row)).fold(f32::NEG_INFINITY, f32::max);
    query.iter().map(best).sum()
}

/// Returns the product of two sparse vectors; `None` if they share no index.
pub(super) fn sparse_product(query: &BTreeMap<u32, f32>, terms: &BTreeMap<u32, f32>) -> Option<f32> {
    let shared: Vec<f32> = query.iter().filter_map(|(index, x)| terms.get(index).map(|y| x * y)).collect();
    (!shared.is_empty()).then(|| shared.iter().sum())
}
