//! A linear layer, which takes nearly all of the time. Its weights are arranged so that one instruction multiplies a
//! number with the weights of several outputs. They stay packed, because reading larger weights from memory would take
//! longer than computing.

use crate::packed::{GROUP, ModelError, PackedTensors};

/// How many outputs are computed at a time.
const LANES: usize = 16;

type Lanes = [f32; LANES];

/// The weights of [`GROUP`] inputs for [`LANES`] outputs.
#[derive(Clone)]
struct WeightGroup {
    weights: [[i8; LANES]; GROUP],
    scales: Lanes,
}

pub(crate) struct Linear {
    /// All groups of the first outputs, then those of the next ones.
    groups: Vec<WeightGroup>,
    bias: Vec<Lanes>,
    inputs: usize,
}

impl Linear {
    pub(crate) fn unpack(
        tensors: &PackedTensors,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, ModelError> {
        let tensor = tensors.quantized(&format!("{name}.weight"), outputs, inputs)?;
        let bias = tensors.unpack(&format!("{name}.bias"), 1, outputs)?.as_chunks().0.to_vec();
        let mut groups = vec![WeightGroup { weights: [[0; LANES]; GROUP], scales: [0.0; LANES] }; tensor.len() / LANES];
        for (number, (scale, weights)) in tensor.into_iter().enumerate() {
            let (output, part) = (number / (inputs / GROUP), number % (inputs / GROUP));
            let group = &mut groups[output / LANES * (inputs / GROUP) + part];
            group.scales[output % LANES] = scale;
            for (own, weight) in group.weights.iter_mut().zip(weights) {
                own[output % LANES] = weight;
            }
        }
        Ok(Linear { groups, bias, inputs })
    }

    /// Adds the outputs of another layer with the same inputs.
    pub(crate) fn extend(&mut self, other: Linear) {
        self.groups.extend(other.groups);
        self.bias.extend(other.bias);
    }

    /// The outputs for each row of inputs. They do not depend on the other rows, to the bit.
    #[inline(always)]
    pub(crate) fn apply<const FUSED: bool, const ROWS: usize>(&self, inputs: &[f32]) -> Vec<f32> {
        let rows: Vec<&[f32]> = inputs.chunks_exact(self.inputs).collect();
        let width = self.bias.len() * LANES;
        let mut result = vec![0.0; rows.len() * width];
        let panels = self.groups.chunks_exact(self.inputs / GROUP).zip(&self.bias);
        for (number, (groups, bias)) in panels.enumerate() {
            let blocks = rows.chunks(ROWS).zip(result.chunks_mut(ROWS * width));
            for (rows, results) in blocks {
                // The unused part of the last block is computed too: that is faster than a loop without a fixed length.
                let block = std::array::from_fn(|row| rows[row.min(rows.len() - 1)]);
                let sums = multiply::<FUSED, ROWS>(groups, bias, block);
                for (sums, result) in sums.iter().zip(results.chunks_exact_mut(width)) {
                    result[number * LANES..][..LANES].copy_from_slice(sums);
                }
            }
        }
        result
    }
}

/// The sums stay in registers.
#[inline(always)]
fn multiply<const FUSED: bool, const ROWS: usize>(
    groups: &[WeightGroup],
    bias: &Lanes,
    rows: [&[f32]; ROWS],
) -> [Lanes; ROWS] {
    let mut sums = [*bias; ROWS];
    for (number, group) in groups.iter().enumerate() {
        let mut inputs = [&[0.0; GROUP]; ROWS];
        for (inputs, row) in inputs.iter_mut().zip(rows) {
            *inputs = &row.as_chunks().0[number];
        }
        let mut parts = [[0.0; LANES]; ROWS];
        for (input, weights) in group.weights.iter().enumerate() {
            let weights = weights.map(f32::from);
            for (part, inputs) in parts.iter_mut().zip(&inputs) {
                add_product::<FUSED>(part, &[inputs[input]; LANES], &weights);
            }
        }
        for (sum, part) in sums.iter_mut().zip(&parts) {
            add_product::<FUSED>(sum, part, &group.scales);
        }
    }
    sums
}

#[inline(always)]
fn add_product<const FUSED: bool>(sums: &mut Lanes, one: &Lanes, two: &Lanes) {
    for ((sum, one), two) in sums.iter_mut().zip(one).zip(two) {
        *sum = if FUSED { one.mul_add(*two, *sum) } else { one * two + *sum };
    }
}
