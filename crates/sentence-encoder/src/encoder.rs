//! The forward pass: tokens in, one vector per text out.

use crate::activation::{Norm, add, gelu};
use crate::attention::attend;
use crate::linear::Linear;
use crate::packed::{ModelError, ModelFiles, PackedTensor, PackedTensors};
use crate::tokenizer::{self, MAX_TOKENS, VOCABULARY, WordPieces, is_mostly_unknown};

/// The length of a vector.
const WIDTH: usize = 384;
/// The width of the inner layer after attention.
const INNER: usize = 1_536;

/// How many tokens are computed at a time. Several texts together need less time than one after the other.
const BATCH_TOKENS: usize = 256;

/// The unpacked model. Word embeddings stay packed, because a text uses few of them.
pub struct Encoder {
    pieces: WordPieces,
    words: PackedTensor,
    /// The embeddings of the positions, to which that of the only token type is added.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Query, key and value, one after the other.
    attention: Linear,
    attention_output: Linear,
    attention_norm: Norm,
    inner: Linear,
    output: Linear,
    output_norm: Norm,
}

impl Encoder {
    /// Checks that all parts of the model are there, without reading its numbers.
    pub fn check(files: &ModelFiles) -> Result<(), ModelError> {
        tokenizer::check(files.vocabulary)?;
        let tensors = PackedTensors::locate(files)?;
        tensors.get("w.weight", VOCABULARY, WIDTH)?;
        if tensors.layers() == 0 { Err(ModelError("it has no layers".to_owned())) } else { Ok(()) }
    }

    pub fn new(files: &ModelFiles) -> Result<Self, ModelError> {
        let tensors = PackedTensors::locate(files)?;
        let mut positions = tensors.unpack("pos.weight", MAX_TOKENS, WIDTH)?;
        let types = tensors.unpack("tt.weight", 2, WIDTH)?;
        for position in positions.chunks_exact_mut(WIDTH) {
            add(position, &types[..WIDTH]);
        }
        Ok(Encoder {
            pieces: WordPieces::new(files.vocabulary)?,
            words: tensors.get("w.weight", VOCABULARY, WIDTH)?,
            positions,
            norm: Norm::unpack(&tensors, "ln", WIDTH)?,
            layers: (0..tensors.layers()).map(|layer| Layer::unpack(&tensors, layer)).collect::<Result<_, _>>()?,
        })
    }

    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.pieces.tokens(text)
    }

    /// Whether the model knows enough of a text to compare it with others.
    pub fn understands(&self, text: &str) -> bool {
        !is_mostly_unknown(&self.tokens(text))
    }

    /// One vector of length 1 per text. It does not depend on the other texts.
    pub fn embed<T: AsRef<str>>(&self, texts: &[T]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut batch: Vec<Vec<u32>> = Vec::new();
        let mut size = 0;
        for text in texts {
            let tokens = self.tokens(text.as_ref());
            if size + tokens.len() > BATCH_TOKENS {
                self.run(&batch, &mut vectors);
                batch.clear();
                size = 0;
            }
            size += tokens.len();
            batch.push(tokens);
        }
        self.run(&batch, &mut vectors);
        vectors
    }

    /// Computes with the widest instructions that the processor has.
    #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "instructions that not every processor has"))]
    fn run(&self, texts: &[Vec<u32>], vectors: &mut Vec<Vec<f32>>) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has these instructions.
                return unsafe { self.run_with_avx512(texts, vectors) };
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                // SAFETY: the processor has these instructions.
                return unsafe { self.run_with_avx2(texts, vectors) };
            }
        }
        // A register holds four of the sixteen numbers that are computed at a time.
        const FUSED: bool = cfg!(target_arch = "aarch64");
        self.run_with::<FUSED, { if FUSED { 6 } else { 3 } }>(texts, vectors);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn run_with_avx512(&self, texts: &[Vec<u32>], vectors: &mut Vec<Vec<f32>>) {
        self.run_with::<true, 12>(texts, vectors);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn run_with_avx2(&self, texts: &[Vec<u32>], vectors: &mut Vec<Vec<f32>>) {
        self.run_with::<true, 6>(texts, vectors);
    }

    /// Compiled once for each set of instructions, with everything that it calls. `FUSED`: a product and a sum are one
    /// instruction. `ROWS`: how many tokens a linear layer multiplies at a time, as many as its sums have room in registers.
    #[inline(always)]
    fn run_with<const FUSED: bool, const ROWS: usize>(&self, texts: &[Vec<u32>], vectors: &mut Vec<Vec<f32>>) {
        let count: usize = texts.iter().map(Vec::len).sum();
        let mut states = Vec::with_capacity(count * WIDTH);
        for tokens in texts {
            for (token, position) in tokens.iter().zip(self.positions.chunks_exact(WIDTH)) {
                self.words.unpack_row(*token as usize, &mut states);
                let begin = states.len() - WIDTH;
                add(&mut states[begin..], position);
            }
        }
        self.norm.apply(&mut states);
        for layer in &self.layers {
            layer.apply::<FUSED, ROWS>(&mut states, texts);
        }
        let mut rest = states.as_slice();
        for tokens in texts {
            let (own, others) = rest.split_at(tokens.len() * WIDTH);
            let mut sum = vec![0.0; WIDTH];
            own.chunks_exact(WIDTH).for_each(|state| add(&mut sum, state));
            let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            sum.iter_mut().for_each(|x| *x /= length);
            vectors.push(sum);
            rest = others;
        }
    }
}

impl Layer {
    fn unpack(tensors: &PackedTensors, number: usize) -> Result<Self, ModelError> {
        let name = |part: &str| format!("layers.{number}.{part}");
        let linear = |part: &str, inputs: usize, outputs: usize| Linear::unpack(tensors, &name(part), inputs, outputs);
        let mut attention = linear("q", WIDTH, WIDTH)?;
        for part in ["k", "v"] {
            attention.extend(linear(part, WIDTH, WIDTH)?);
        }
        Ok(Layer {
            attention,
            attention_output: linear("o", WIDTH, WIDTH)?,
            attention_norm: Norm::unpack(tensors, &name("ln1"), WIDTH)?,
            inner: linear("i", WIDTH, INNER)?,
            output: linear("u", INNER, WIDTH)?,
            output_norm: Norm::unpack(tensors, &name("ln2"), WIDTH)?,
        })
    }

    #[inline(always)]
    fn apply<const FUSED: bool, const ROWS: usize>(&self, states: &mut [f32], texts: &[Vec<u32>]) {
        let projected = self.attention.apply::<FUSED, ROWS>(states);
        let attended = attend(&projected, WIDTH, texts);
        add(states, &self.attention_output.apply::<FUSED, ROWS>(&attended));
        self.attention_norm.apply(states);
        let mut inner = self.inner.apply::<FUSED, ROWS>(states);
        gelu(&mut inner);
        add(states, &self.output.apply::<FUSED, ROWS>(&inner));
        self.output_norm.apply(states);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "instructions that not every processor has"))]
    fn every_set_of_instructions_computes_the_same() {
        let encoder = Encoder::new(ModelFiles::builtin()).unwrap();
        let texts = ["send an e-mail to everybody in the team", "x"].map(|text| encoder.tokens(text));
        let (mut expected, mut found) = (Vec::new(), vec![Vec::new()]);
        encoder.run(&texts, &mut expected);
        encoder.run_with::<false, 3>(&texts, &mut found[0]);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            found.push(Vec::new());
            // SAFETY: the processor has these instructions.
            unsafe { encoder.run_with_avx2(&texts, &mut found[1]) };
        }
        for found in found.concat().concat().chunks(2 * WIDTH) {
            for (found, expected) in found.iter().zip(expected.concat()) {
                assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
            }
        }
    }
}
