//! The model reproduces its reference vectors, and a damaged model is reported.

use std::sync::LazyLock;

use serde_json::Value;

use crate::{Encoder, ModelFiles};

static ENCODER: LazyLock<Encoder> = LazyLock::new(|| Encoder::new(ModelFiles::builtin()).unwrap());

fn reference() -> Value {
    serde_json::from_str(include_str!("../reference_vectors.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

fn dot(one: &[f32], two: &[f32]) -> f32 {
    one.iter().zip(two).map(|(one, two)| one * two).sum()
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{what}: {found} instead of {expected}");
    }
}

#[test]
fn tokens_vectors_and_similarities_are_those_of_the_reference() {
    let (encoder, reference) = (&*ENCODER, reference());
    let texts: Vec<&str> = reference["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for (text, expected) in texts.iter().zip(reference["token_ids"].as_array().unwrap()) {
        let tokens: Vec<u64> = encoder.tokens(text).into_iter().map(u64::from).collect();
        assert_eq!(Value::from(tokens), *expected, "{text}");
    }
    let vectors = encoder.embed(&texts);
    for ((vector, expected), text) in vectors.iter().zip(reference["first8"].as_array().unwrap()).zip(&texts) {
        assert_near(&vector[..8], &numbers(expected), 0.002, text);
    }
    for ((vector, expected), text) in vectors.iter().zip(reference["cosine"].as_array().unwrap()).zip(&texts) {
        let cosines: Vec<f32> = vectors.iter().map(|other| dot(vector, other)).collect();
        assert_near(&cosines, &numbers(expected), 0.005, text);
    }
}

#[test]
fn a_vector_is_the_same_to_the_bit_alone_and_among_others() {
    let encoder = &*ENCODER;
    let long = "a very long text ".repeat(100);
    let texts = ["send an e-mail", "which pods are crashing in production?", long.as_str(), "", "🦀🦀", "x"];
    let together = encoder.embed(&texts);
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(encoder.embed(&[*text])[0], *vector, "{text}");
        assert!(vector.iter().all(|number| number.is_finite()), "{text}");
    }
}

#[test]
fn every_text_has_tokens_and_no_text_too_many() {
    let encoder = &*ENCODER;
    assert_eq!(encoder.tokens(""), [101, 102]);
    assert_eq!(encoder.tokens("\u{0}\u{fffd}\u{200b} \n"), [101, 102]);
    assert_eq!(encoder.tokens("ÀÉÎ"), encoder.tokens("aei"));
    assert_eq!(encoder.tokens("send\u{b}mail\u{a0}now"), encoder.tokens("sendmail now"));
    assert_eq!(encoder.tokens(&"x".repeat(101)), [101, 100, 102]);
    let long = encoder.tokens(&"word ".repeat(10_000));
    assert_eq!((long.len(), long[255]), (256, 102));
    for (text, is_understood) in
        [("send mail", true), ("🦀🦀", false), ("使用必应搜索", false), ("", true), ("résumé 📄", true)]
    {
        assert_eq!(encoder.understands(text), is_understood, "{text}");
    }
}

#[test]
fn a_damaged_model_is_recognized() {
    let files = *ModelFiles::builtin();
    let check = |files: ModelFiles| Encoder::check(&files).map_err(|error| error.to_string());
    assert_eq!(check(files), Ok(()));
    let cut = &files.weights[..files.weights.len() - 1];
    let error = check(ModelFiles { weights: cut, ..files }).unwrap_err();
    assert!(error.contains("search model is damaged (tensor `layers.5.ln2.bias` is cut off)"), "{error}");
    assert!(error.contains("install the program again"), "{error}");
    assert!(check(ModelFiles { manifest: "{", ..files }).unwrap_err().contains("manifest"));
    assert!(check(ModelFiles { manifest: r#"{"tensors": []}"#, weights: &[], ..files }).is_err());
    assert!(check(ModelFiles { vocabulary: "a\nb\n", ..files }).unwrap_err().contains("2 tokens instead of 30522"));
    // Damage inside is found when the numbers are read.
    let mut weights = files.weights.to_vec();
    let scale = weights.len() - 2_000_000;
    weights[scale..].fill(0x7f);
    let damaged = ModelFiles { weights: Box::leak(weights.into_boxed_slice()), ..files };
    assert_eq!(check(damaged), Ok(()));
    let error = Encoder::new(&damaged).err().unwrap().to_string();
    assert!(error.contains("has impossible numbers"), "{error}");
}
