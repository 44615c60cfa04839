//! The files of the model, and the numbers in them. Matrices are packed: 4 or 8 bits per number, with common scales.

use std::collections::HashMap;

use serde::Deserialize;

/// How many columns of a row have a common scale with 4 bits per number.
pub(crate) const GROUP: usize = 32;

/// Why the model cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the built-in search model is damaged ({0}); install the program again")]
pub struct ModelError(pub(crate) String);

/// The files as they are in the program.
#[derive(Clone, Copy, Debug)]
pub struct ModelFiles {
    /// The name, type, shape and place of each tensor, as JSON.
    pub manifest: &'static str,
    pub weights: &'static [u8],
    /// One token per line.
    pub vocabulary: &'static str,
}

impl ModelFiles {
    /// The model that is part of the program. A static, because every crate that uses a constant has a copy of it.
    pub fn builtin() -> &'static Self {
        static FILES: ModelFiles = ModelFiles {
            manifest: include_str!("../model/manifest.json"),
            weights: include_bytes!("../model/model.bin"),
            vocabulary: include_str!("../model/vocab.txt"),
        };
        &FILES
    }
}

#[derive(Deserialize)]
struct Manifest {
    tensors: Vec<(String, NumberFormat, Vec<usize>, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum NumberFormat {
    F32,
    /// One `f32` scale per row, then the numbers.
    I8,
    /// One `f16` scale per 32 columns of a row, then two numbers per byte, the low half first.
    Q4,
}

/// The tensors by name.
pub(crate) struct PackedTensors(HashMap<String, PackedTensor>);

/// A tensor whose bytes are all there.
#[derive(Clone, Copy)]
pub(crate) struct PackedTensor {
    format: NumberFormat,
    rows: usize,
    columns: usize,
    scales: &'static [u8],
    numbers: &'static [u8],
}

impl PackedTensors {
    /// Finds the tensors without reading their numbers.
    pub(crate) fn locate(files: &ModelFiles) -> Result<Self, ModelError> {
        let manifest: Manifest = serde_json::from_str(files.manifest)
            .map_err(|error| ModelError(format!("its manifest cannot be read: {error}")))?;
        let mut tensors = HashMap::new();
        let mut end = 0;
        for (name, format, shape, offset) in manifest.tensors {
            let wrong = |problem: &str| ModelError(format!("tensor `{name}` {problem}"));
            let (rows, columns) = match shape[..] {
                [columns] => (1, columns),
                [rows, columns] => (rows, columns),
                _ => return Err(wrong("has an unknown shape")),
            };
            let (scale_bytes, number_bytes) = match format {
                NumberFormat::F32 => (0, rows * columns * 4),
                NumberFormat::I8 => (rows * 4, rows * columns),
                NumberFormat::Q4 if columns % GROUP == 0 => (rows * (columns / GROUP) * 2, rows * columns / 2),
                NumberFormat::Q4 => return Err(wrong("has an unknown shape")),
            };
            let last = offset + scale_bytes + number_bytes;
            let bytes = files.weights.get(offset..last).ok_or_else(|| wrong("is cut off"))?;
            let (scales, numbers) = bytes.split_at(scale_bytes);
            end = end.max(last);
            tensors.insert(name, PackedTensor { format, rows, columns, scales, numbers });
        }
        if end != files.weights.len() {
            return Err(ModelError(format!("{} bytes of weights instead of {end}", files.weights.len())));
        }
        Ok(PackedTensors(tensors))
    }

    /// A tensor of this shape.
    pub(crate) fn get(&self, name: &str, rows: usize, columns: usize) -> Result<PackedTensor, ModelError> {
        let found = self.0.get(name).ok_or_else(|| ModelError(format!("tensor `{name}` is missing")))?;
        if (found.rows, found.columns) != (rows, columns) {
            return Err(ModelError(format!("tensor `{name}` has another shape")));
        }
        Ok(*found)
    }

    /// The numbers of a tensor of this shape.
    pub(crate) fn unpack(&self, name: &str, rows: usize, columns: usize) -> Result<Vec<f32>, ModelError> {
        let tensor = self.get(name, rows, columns)?;
        let mut numbers = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            tensor.unpack_row(row, &mut numbers);
        }
        if numbers.iter().any(|number| is_impossible(*number)) {
            return Err(ModelError(format!("tensor `{name}` has impossible numbers")));
        }
        Ok(numbers)
    }

    /// The groups of all rows of a tensor with 4 bits per number, one row after the other: the scale of each, and its numbers
    /// without it.
    pub(crate) fn quantized(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Vec<(f32, [i8; GROUP])>, ModelError> {
        let tensor = self.get(name, rows, columns)?;
        if tensor.format != NumberFormat::Q4 {
            return Err(ModelError(format!("tensor `{name}` has another format")));
        }
        let groups = tensor.scales.as_chunks().0.iter().zip(tensor.numbers.as_chunks::<{ GROUP / 2 }>().0);
        let groups: Vec<_> = groups.map(|(scale, bytes)| (read_scale(*scale), half_bytes(bytes))).collect();
        if groups.iter().any(|(scale, _)| is_impossible(*scale)) {
            return Err(ModelError(format!("tensor `{name}` has impossible numbers")));
        }
        Ok(groups)
    }

    /// How many layers the model has.
    pub(crate) fn layers(&self) -> usize {
        (0..).take_while(|layer| self.0.contains_key(&format!("layers.{layer}.q.weight"))).count()
    }
}

impl PackedTensor {
    /// Appends the numbers of a row.
    pub(crate) fn unpack_row(&self, row: usize, numbers: &mut Vec<f32>) {
        match self.format {
            NumberFormat::F32 => {
                let bytes = &self.numbers[row * self.columns * 4..][..self.columns * 4];
                numbers.extend(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
            NumberFormat::I8 => {
                let scale =
                    self.scales[row * 4..].first_chunk::<4>().map_or(f32::NAN, |bytes| f32::from_le_bytes(*bytes));
                let bytes = &self.numbers[row * self.columns..][..self.columns];
                numbers.extend(bytes.iter().map(|byte| f32::from(byte.cast_signed()) * scale));
            }
            NumberFormat::Q4 => {
                let scales = &self.scales[row * (self.columns / GROUP) * 2..][..self.columns / GROUP * 2];
                let bytes = &self.numbers[row * self.columns / 2..][..self.columns / 2];
                for (scale, group) in scales.as_chunks().0.iter().zip(bytes.as_chunks::<{ GROUP / 2 }>().0) {
                    let scale = read_scale(*scale);
                    numbers.extend(half_bytes(group).map(|number| f32::from(number) * scale));
                }
            }
        }
    }
}

/// Whether a number is damaged: most likely it is none or a huge one then.
fn is_impossible(number: f32) -> bool {
    !number.is_finite() || number.abs() > 1e6
}

fn half_bytes(bytes: &[u8; GROUP / 2]) -> [i8; GROUP] {
    std::array::from_fn(|at| ((bytes[at / 2] >> (at % 2 * 4)) & 15).cast_signed() - 8)
}

fn read_scale(bytes: [u8; 2]) -> f32 {
    half_to_f32(u16::from_le_bytes(bytes))
}

/// Converts a number of the IEEE 754 format `binary16`.
fn half_to_f32(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = ((half >> 10) & 0x1f, f32::from(half & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(i32::from(exponent) - 15),
    }
}
