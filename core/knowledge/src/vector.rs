//! Vectors as they are stored: a byte for each number, and one scale for all of them. Nothing measurable is lost.

use pulp::{Arch, NullaryFnOnce};

/// Vectors of windows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Windows {
    /// One window after another.
    pub(crate) codes: Vec<i8>,
    pub(crate) scales: Vec<f32>,
}

/// A query's vector in the same form, in the width in which it is multiplied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryVector {
    pub(crate) codes: Vec<i16>,
    pub(crate) scale: f32,
}

impl Windows {
    /// Packs vectors of the same dimension.
    pub(crate) fn pack(vectors: &[Vec<f32>]) -> Self {
        let packed = vectors.iter().map(|vector| pack(vector));
        let (codes, scales): (Vec<Vec<i8>>, Vec<f32>) = packed.unzip();
        Self { codes: codes.concat(), scales }
    }

    pub(crate) fn from_bytes(bytes: &[u8], scales: Vec<f32>) -> Self {
        Self { codes: bytes.iter().map(|byte| byte.cast_signed()).collect(), scales }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.codes.iter().map(|code| code.cast_unsigned()).collect()
    }

    pub(crate) fn dimension(&self) -> usize {
        self.codes.len().checked_div(self.scales.len()).unwrap_or(0)
    }

    /// Returns the vector of each window.
    pub(crate) fn unpack(&self) -> Vec<Vec<f32>> {
        let windows = self.codes.chunks_exact(self.dimension().max(1)).zip(&self.scales);
        windows.map(|(codes, scale)| codes.iter().map(|code| f32::from(*code) * scale).collect()).collect()
    }

    /// Returns the mean of the windows, of length 1.
    pub(crate) fn mean(&self) -> Vec<f32> {
        let dimension = self.dimension();
        let mut sum = vec![0.0; dimension];
        for (window, scale) in self.codes.chunks_exact(dimension.max(1)).zip(&self.scales) {
            for (total, code) in sum.iter_mut().zip(window) {
                *total += f32::from(*code) * scale;
            }
        }
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|x| *x /= length);
        }
        sum
    }
}

impl QueryVector {
    pub(crate) fn pack(vector: &[f32]) -> Self {
        let (codes, scale) = pack(vector);
        Self { codes: codes.into_iter().map(i16::from).collect(), scale }
    }

    /// Returns the cosine with a window.
    #[inline(always)]
    pub(crate) fn cosine(&self, codes: &[i8], scale: f32) -> f32 {
        dot(&self.codes, codes) as f32 * self.scale * scale
    }

    /// Returns the cosine with the nearest of some windows, in the widest instructions that the processor has.
    pub(crate) fn best_cosine(&self, codes: &[i8], scales: &[f32]) -> Option<f32> {
        Arch::new().dispatch(BestCosine { query: self, codes, scales })
    }
}

/// A struct and not a closure, because a closure may be compiled apart from its caller, in narrow instructions.
struct BestCosine<'a> {
    query: &'a QueryVector,
    codes: &'a [i8],
    scales: &'a [f32],
}

impl NullaryFnOnce for BestCosine<'_> {
    type Output = Option<f32>;

    #[inline(always)]
    fn call(self) -> Option<f32> {
        let mut best: Option<f32> = None;
        for (codes, scale) in self.codes.chunks_exact(self.query.codes.len().max(1)).zip(self.scales) {
            let cosine = self.query.cosine(codes, *scale);
            best = Some(best.map_or(cosine, |best| best.max(cosine)));
        }
        best
    }
}

fn pack(vector: &[f32]) -> (Vec<i8>, f32) {
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let scale = if largest > 0.0 { largest / f32::from(i8::MAX) } else { 1.0 };
    (vector.iter().map(|x| (x / scale).round() as i8).collect(), scale)
}

/// Adds up a fixed number of products at a time, which compilers make into a few instructions.
#[inline(always)]
fn dot(a: &[i16], b: &[i8]) -> i32 {
    const LANES: usize = 32;
    let product = |(x, y): (&i16, &i8)| i32::from(*x) * i32::from(*y);
    let (a, rest_a) = a.as_chunks::<LANES>();
    let (b, rest_b) = b.as_chunks::<LANES>();
    let whole = a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(product).sum::<i32>());
    whole.sum::<i32>() + rest_a.iter().zip(rest_b).map(product).sum::<i32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_are_kept() {
        let unit = |seed: u32| {
            let raw: Vec<f32> = (0..384).map(|at| ((at * 7 + seed * 13) % 29) as f32 - 14.0).collect();
            let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
            raw.into_iter().map(|x| x / length).collect::<Vec<_>>()
        };
        let (a, b) = (unit(1), unit(2));
        let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        let windows = Windows::pack(&[b.clone(), a.clone()]);
        assert_eq!((windows.dimension(), windows.scales.len()), (384, 2));
        let query = QueryVector::pack(&a);
        assert!((query.cosine(&windows.codes[..384], windows.scales[0]) - exact).abs() < 0.01);
        assert!((query.cosine(&windows.codes[384..], windows.scales[1]) - 1.0).abs() < 0.01);
        let best = query.best_cosine(&windows.codes, &windows.scales);
        assert_eq!(best, Some(query.cosine(&windows.codes[384..], windows.scales[1])));
        assert_eq!(query.best_cosine(&[], &[]), None);
        let again = Windows::from_bytes(&windows.to_bytes(), windows.scales.clone());
        assert_eq!(again, windows);
        assert_eq!(Windows::pack(&windows.unpack()).codes, windows.codes);
        assert!((windows.mean().iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4);
    }

    #[test]
    fn nothing_is_packed_as_nothing() {
        assert_eq!(Windows::pack(&[]).dimension(), 0);
        assert_eq!(Windows::pack(&[vec![0.0; 4]]).codes, [0; 4]);
    }
}
