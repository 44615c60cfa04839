//! The functions between the linear layers. They are written so that the compiler computes several numbers at a time.

use crate::packed::{ModelError, PackedTensors};

/// Scales rows to mean 0 and variance 1, and then by learned numbers.
pub(crate) struct Norm {
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    pub(crate) fn unpack(tensors: &PackedTensors, name: &str, width: usize) -> Result<Self, ModelError> {
        let part = |part: &str| tensors.unpack(&format!("{name}.{part}"), 1, width);
        Ok(Norm { weights: part("weight")?, bias: part("bias")? })
    }

    #[inline(always)]
    pub(crate) fn apply(&self, rows: &mut [f32]) {
        const EPSILON: f32 = 1e-12;
        let width = self.weights.len() as f32;
        for row in rows.chunks_exact_mut(self.weights.len()) {
            let mean = sum(row, |x| x) / width;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / width;
            let factor = 1.0 / (variance + EPSILON).sqrt();
            for ((x, weight), bias) in row.iter_mut().zip(&self.weights).zip(&self.bias) {
                *x = (*x - mean) * factor * weight + bias;
            }
        }
    }
}

/// The sum of a function of each number, in sixteen parts at the same time.
#[inline(always)]
fn sum(numbers: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut parts = [0.0; 16];
    for chunk in numbers.as_chunks::<16>().0 {
        for (part, x) in parts.iter_mut().zip(chunk) {
            *part += term(*x);
        }
    }
    parts.iter().sum()
}

#[inline(always)]
pub(crate) fn add(sum: &mut [f32], more: &[f32]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

#[inline(always)]
pub(crate) fn softmax(scores: &mut [f32]) {
    let highest = scores.iter().copied().fold(f32::MIN, f32::max);
    for score in scores.iter_mut() {
        *score = exp(*score - highest);
    }
    let sum: f32 = scores.iter().sum();
    for score in scores {
        *score /= sum;
    }
}

#[inline(always)]
pub(crate) fn gelu(numbers: &mut [f32]) {
    for x in numbers {
        *x = 0.5 * *x * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// The error function; Abramowitz and Stegun, formula 7.1.26. The error is below 2e-7.
#[inline(always)]
fn erf(x: f32) -> f32 {
    const P: f32 = 0.327_591_1;
    const A: [f32; 5] = [0.254_829_6, -0.284_496_72, 1.421_413_8, -1.453_152_1, 1.061_405_4];
    let t = 1.0 / (1.0 + P * x.abs());
    let polynomial = ((((A[4] * t + A[3]) * t + A[2]) * t + A[1]) * t + A[0]) * t;
    (1.0 - polynomial * exp(-x * x)).copysign(x)
}

/// The exponential function of a number that is not positive: 2 to the power of a whole number, times a Taylor series. The
/// relative error is below 3e-7. Unlike that of the standard library it is no call of another function.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// A sum with it has no room for digits after the point, and its last bits are those of a whole number.
    const ROUND: f32 = 12_582_912.0;
    /// The natural logarithm of 2, in two parts of which the first has few digits, so that its multiples are exact.
    const LN_2: (f32, f32) = (0.693_359_4, -0.000_212_194_44);
    // Below this the result has no room in a normal number.
    let x = x.max(-87.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let whole = rounded - ROUND;
    let rest = x - whole * LN_2.0 - whole * LN_2.1;
    let series = (((((rest / 720.0 + 1.0 / 120.0) * rest + 1.0 / 24.0) * rest + 1.0 / 6.0) * rest + 0.5) * rest + 1.0)
        * rest
        + 1.0;
    series * f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0_f32.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_function_is_that_of_the_standard_library() {
        for step in 0..=86_900 {
            let x = -0.001 * step as f32;
            let (found, expected) = (exp(x), x.exp());
            assert!((found / expected - 1.0).abs() < 3e-7, "{x}: {found} instead of {expected}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::MIN) < 1e-37);
    }

    #[test]
    fn gelu_is_about_the_identity_above_and_about_nothing_below() {
        let mut numbers = [-10.0, -1.0, 0.0, 1.0, 10.0];
        gelu(&mut numbers);
        for (found, expected) in numbers.iter().zip([0.0, -0.158_655, 0.0, 0.841_345, 10.0]) {
            assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
        }
    }
}
