//! The forward pass: tokens in, one vector per text out.

use super::matrix::{MatrixView, multiply};
use super::packed::{ModelError, ModelFiles, PackedTensor, PackedTensors};
use super::tokenizer::{self, MAX_TOKENS, VOCABULARY, WordPieces, is_mostly_unknown};

/// The length of a vector.
const WIDTH: usize = 384;
/// The width of the inner layer after attention.
const INNER: usize = 1_536;
const HEAD: usize = 32;
const HEADS: usize = WIDTH / HEAD;

/// How many tokens are computed at a time. Several texts together need less time than one after the other.
const BATCH_TOKENS: usize = 256;

/// The unpacked model. Word embeddings stay packed, because a text uses few of them.
pub(super) struct Encoder {
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

struct Linear {
    weights: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
}

struct Norm {
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl Encoder {
    /// Checks that all parts of the model are there, without reading its numbers.
    pub(super) fn check(files: &ModelFiles) -> Result<(), ModelError> {
        tokenizer::check(files.vocabulary)?;
        let tensors = PackedTensors::locate(files)?;
        tensors.get("w.weight", VOCABULARY, WIDTH)?;
        if tensors.layers() == 0 { Err(ModelError("it has no layers".to_owned())) } else { Ok(()) }
    }

    pub(super) fn new(files: &ModelFiles) -> Result<Self, ModelError> {
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
            norm: Norm::unpack(&tensors, "ln")?,
            layers: (0..tensors.layers()).map(|layer| Layer::unpack(&tensors, layer)).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn tokens(&self, text: &str) -> Vec<u32> {
        self.pieces.tokens(text)
    }

    /// Whether the model knows enough of a text to compare it with others.
    pub(super) fn understands(&self, text: &str) -> bool {
        !is_mostly_unknown(&self.tokens(text))
    }

    /// One vector of length 1 per text. It does not depend on the other texts.
    pub(super) fn embed<T: AsRef<str>>(&self, texts: &[T]) -> Vec<Vec<f32>> {
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

    fn run(&self, texts: &[Vec<u32>], vectors: &mut Vec<Vec<f32>>) {
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
            layer.apply(&mut states, texts);
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
            let more = linear(part, WIDTH, WIDTH)?;
            attention.weights.extend(more.weights);
            attention.bias.extend(more.bias);
        }
        Ok(Layer {
            attention,
            attention_output: linear("o", WIDTH, WIDTH)?,
            attention_norm: Norm::unpack(tensors, &name("ln1"))?,
            inner: linear("i", WIDTH, INNER)?,
            output: linear("u", INNER, WIDTH)?,
            output_norm: Norm::unpack(tensors, &name("ln2"))?,
        })
    }

    fn apply(&self, states: &mut [f32], texts: &[Vec<u32>]) {
        let attended = self.attention_output.apply(&attend(&self.attention.apply(states), texts));
        add(states, &attended);
        self.attention_norm.apply(states);
        let mut inner = self.inner.apply(states);
        inner.iter_mut().for_each(|x| *x = gelu(*x));
        add(states, &self.output.apply(&inner));
        self.output_norm.apply(states);
    }
}

/// Attention of each token to all tokens of its text.
fn attend(projected: &[f32], texts: &[Vec<u32>]) -> Vec<f32> {
    const STRIDE: usize = 3 * WIDTH;
    let scale = 1.0 / (HEAD as f32).sqrt();
    let mut result = vec![0.0; projected.len() / 3];
    let mut scores = Vec::new();
    let mut first = 0;
    for count in texts.iter().map(Vec::len) {
        let own = &projected[first * STRIDE..(first + count) * STRIDE];
        let part = |at: usize| MatrixView::of(&own[at..], count, HEAD, STRIDE);
        for head in 0..HEADS {
            let at = head * HEAD;
            let (query, key, value) = (part(at), part(WIDTH + at), part(2 * WIDTH + at));
            scores.clear();
            scores.resize(count * count, 0.0);
            multiply(scale, query, key.transposed(), 0.0, &mut scores, count);
            scores.chunks_exact_mut(count).for_each(softmax);
            let weights = MatrixView::of(&scores, count, count, count);
            multiply(1.0, weights, value, 0.0, &mut result[first * WIDTH + at..], WIDTH);
        }
        first += count;
    }
    result
}

impl Linear {
    fn unpack(tensors: &PackedTensors, name: &str, inputs: usize, outputs: usize) -> Result<Self, ModelError> {
        let weights = tensors.unpack(&format!("{name}.weight"), outputs, inputs)?;
        Ok(Linear { weights, bias: tensors.unpack(&format!("{name}.bias"), 1, outputs)?, inputs })
    }

    fn apply(&self, states: &[f32]) -> Vec<f32> {
        let (count, outputs) = (states.len() / self.inputs, self.bias.len());
        let mut result = self.bias.repeat(count);
        let states = MatrixView::of(states, count, self.inputs, self.inputs);
        let weights = MatrixView::of(&self.weights, outputs, self.inputs, self.inputs);
        multiply(1.0, states, weights.transposed(), 1.0, &mut result, outputs);
        result
    }
}

impl Norm {
    fn unpack(tensors: &PackedTensors, name: &str) -> Result<Self, ModelError> {
        let part = |part: &str| tensors.unpack(&format!("{name}.{part}"), 1, WIDTH);
        Ok(Norm { weights: part("weight")?, bias: part("bias")? })
    }

    /// Normalizes each state to mean 0 and variance 1.
    fn apply(&self, states: &mut [f32]) {
        const EPSILON: f32 = 1e-12;
        for state in states.chunks_exact_mut(WIDTH) {
            let mean = state.iter().sum::<f32>() / WIDTH as f32;
            let variance = state.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / WIDTH as f32;
            let factor = 1.0 / (variance + EPSILON).sqrt();
            for ((x, weight), bias) in state.iter_mut().zip(&self.weights).zip(&self.bias) {
                *x = (*x - mean) * factor * weight + bias;
            }
        }
    }
}

fn add(sum: &mut [f32], more: &[f32]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

fn softmax(scores: &mut [f32]) {
    let highest = scores.iter().copied().fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - highest).exp();
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function; Abramowitz and Stegun, formula 7.1.26. The error is below 2e-7.
fn erf(x: f32) -> f32 {
    const P: f32 = 0.327_591_1;
    const A: [f32; 5] = [0.254_829_6, -0.284_496_72, 1.421_413_8, -1.453_152_1, 1.061_405_4];
    let t = 1.0 / (1.0 + P * x.abs());
    let polynomial = ((((A[4] * t + A[3]) * t + A[2]) * t + A[1]) * t + A[0]) * t;
    (1.0 - polynomial * (-x * x).exp()).copysign(x)
}
