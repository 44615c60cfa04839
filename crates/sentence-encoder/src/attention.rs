//! Attention of each token to all tokens of its text.

use crate::activation::softmax;

/// How many numbers of a state belong to one head.
const HEAD: usize = 32;

/// For each token the values of all tokens of its text, weighted by how well its query fits their keys. `projected` has
/// query, key and value of each token, `width` numbers each.
#[inline(always)]
pub(crate) fn attend(projected: &[f32], width: usize, texts: &[Vec<u32>]) -> Vec<f32> {
    let heads = width / HEAD;
    let mut result = vec![0.0; projected.len() / 3];
    let (mut inputs, mut outputs) = (projected.as_chunks::<HEAD>().0, result.as_chunks_mut::<HEAD>().0);
    for count in texts.iter().map(Vec::len) {
        let (own_inputs, own_outputs);
        (own_inputs, inputs) = inputs.split_at(count * 3 * heads);
        (own_outputs, outputs) = outputs.split_at_mut(count * heads);
        let mut scores = vec![0.0; count];
        for head in 0..heads {
            // The parts of all tokens, one after the other.
            let part = |kind: usize| own_inputs[kind * heads + head..].iter().step_by(3 * heads);
            for (query, output) in part(0).zip(own_outputs[head..].iter_mut().step_by(heads)) {
                for (score, key) in scores.iter_mut().zip(part(1)) {
                    *score = dot(query, key) / (HEAD as f32).sqrt();
                }
                softmax(&mut scores);
                for (value, weight) in part(2).zip(&scores) {
                    for (sum, value) in output.iter_mut().zip(value) {
                        *sum += weight * value;
                    }
                }
            }
        }
    }
    result
}

#[inline(always)]
fn dot(one: &[f32; HEAD], two: &[f32; HEAD]) -> f32 {
    let mut products = [0.0; HEAD];
    for ((product, one), two) in products.iter_mut().zip(one).zip(two) {
        *product = one * two;
    }
    sum(&products)
}

/// Adds one half to the other, until there is only one number.
#[inline(always)]
fn sum(numbers: &[f32; HEAD]) -> f32 {
    let mut sums = *numbers;
    for half in [16, 8, 4, 2, 1] {
        for at in 0..half {
            sums[at] += sums[at + half];
        }
    }
    sums[0]
}
