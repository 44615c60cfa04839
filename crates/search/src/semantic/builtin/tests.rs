//! The model's vectors match the reference.

use proxy_sentence_encoder::{Encoder, ModelFiles};
use serde_json::Value;

use crate::semantic::fusion::{Fusion, Nearness};
use crate::semantic::segments::segments;
use crate::words::score::Scored;

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

fn dot(one: &[f32], two: &[f32]) -> f32 {
    one.iter().zip(two).map(|(one, two)| one * two).sum()
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }
}

#[test]
fn a_query_of_several_parts_is_compared_and_fused_as_in_the_reference() {
    let reference: Value =
        serde_json::from_str(include_str!("../../../../sentence-encoder/reference_vectors.json")).unwrap();
    let texts: Vec<&str> = reference["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let encoder = Encoder::new(ModelFiles::builtin()).unwrap();
    let (tools, query) = (encoder.embed(&texts[..10]), texts[19]);
    let parts = segments(query);
    assert_eq!(Value::from(parts.clone()), reference["segments_of_last_query"]);
    let (whole, parts) = (&encoder.embed(&[query])[0], encoder.embed(&parts));
    let dense: Vec<f32> = tools
        .iter()
        .map(|tool| 0.5 * dot(tool, whole) + 0.5 * parts.iter().map(|part| dot(tool, part)).fold(-1.0, f32::max))
        .collect();
    let dense_of_reference = numbers(&reference["dense_scores_last_query"]);
    assert_near(&dense, &dense_of_reference, 0.005);
    let words = [Scored { tool: 9, score: 9.7 }, Scored { tool: 2, score: 3.1 }];
    let fusion = Fusion { meaning_weight: 0.7, nearness: Nearness::Cosine(-1.0) };
    let mut fused = fusion.fuse(&words, &dense_of_reference, None);
    fused.sort_by_key(|ranked| ranked.tool);
    let fused: Vec<f32> = fused.iter().map(|ranked| ranked.score).collect();
    assert_near(&fused, &numbers(&reference["fuse_example"]["fused"]), 0.0001);
}
