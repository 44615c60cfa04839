//! Which traces are sampled.

use proxy_config::TraceSampler;
use proxy_model::TraceId;

/// A sampler of OpenTelemetry with its ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampler {
    pub(super) kind: TraceSampler,
    /// The share of traces that a sampler with a ratio samples.
    pub(super) ratio: f64,
}

impl Sampler {
    /// Decides about a trace. `parent` is whether the parent is sampled, if there is one whose word counts.
    pub(super) fn samples(self, id: TraceId, parent: Option<bool>) -> bool {
        use TraceSampler::{
            AlwaysOff, AlwaysOn, ParentBasedAlwaysOff, ParentBasedAlwaysOn, ParentBasedTraceIdRatio, TraceIdRatio,
        };
        match (self.kind, parent) {
            (ParentBasedAlwaysOn | ParentBasedAlwaysOff | ParentBasedTraceIdRatio, Some(parent)) => parent,
            (AlwaysOn | ParentBasedAlwaysOn, _) => true,
            (AlwaysOff | ParentBasedAlwaysOff, _) => false,
            (TraceIdRatio | ParentBasedTraceIdRatio, _) => is_within(self.ratio, id),
        }
    }
}

/// Whether a trace is within a share of all traces. The same trace is within the same share everywhere: the SDKs of
/// OpenTelemetry compute it in the same way.
fn is_within(ratio: f64, TraceId(id): TraceId) -> bool {
    let [.., a, b, c, d, e, f, g, h] = id;
    // 63 bits are exact enough: the rounding error is less than 1e-12.
    let number = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
    ratio >= 1.0 || (number as f64) < ratio * (1_u64 << 63) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(first: u8) -> TraceId {
        let mut id = [7; 16];
        id[8] = first;
        TraceId(id)
    }

    #[test]
    fn a_ratio_takes_its_share_of_all_traces() {
        let sampler = |ratio| Sampler { kind: TraceSampler::TraceIdRatio, ratio };
        let share = |ratio| (0..=255).filter(|first| sampler(ratio).samples(id(*first), None)).count();
        assert_eq!([share(0.0), share(0.25), share(0.5), share(1.0)], [0, 64, 128, 256]);
    }

    #[test]
    fn a_parent_decides_only_for_samplers_that_follow_it() {
        let decides = |name: &str, parent| {
            let (_, kind) = proxy_config::TRACE_SAMPLERS.into_iter().find(|(known, _)| *known == name).unwrap();
            Sampler { kind, ratio: 0.0 }.samples(id(9), parent)
        };
        for (name, without, sampled, not_sampled) in [
            ("always_on", true, true, true),
            ("always_off", false, false, false),
            ("traceidratio", false, false, false),
            ("parentbased_always_on", true, true, false),
            ("parentbased_always_off", false, true, false),
            ("parentbased_traceidratio", false, true, false),
        ] {
            let found = (decides(name, None), decides(name, Some(true)), decides(name, Some(false)));
            assert_eq!(found, (without, sampled, not_sampled), "{name}");
        }
    }
}
