//! Writes metrics with their series.

use std::borrow::Cow;
use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use proxy_telemetry::HistogramSnapshot;

pub(super) type Labels = Vec<(&'static str, String)>;

pub(super) fn label(name: &'static str, value: &str) -> (&'static str, String) {
    (name, value.to_owned())
}

pub(super) fn error_label(error_type: Option<Cow<'static, str>>) -> Option<(&'static str, String)> {
    error_type.map(|error_type| ("error_type", error_type.into_owned()))
}

pub(super) fn numbers(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    series: &[(Labels, u64)],
) -> fmt::Result {
    each(encoder, name, help, None, MetricType::Gauge, series, |metric, value| metric.encode_gauge(value))
}

pub(super) fn counters(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    series: &[(Labels, u64)],
) -> fmt::Result {
    each(encoder, name, help, None, MetricType::Counter, series, |metric, value| {
        metric.encode_counter::<NoLabelSet, _, u64>(value, None)
    })
}

/// Sums of seconds.
pub(super) fn seconds(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    series: &[(Labels, f64)],
) -> fmt::Result {
    each(encoder, name, help, Some(&Unit::Seconds), MetricType::Counter, series, |metric, value| {
        metric.encode_counter::<NoLabelSet, _, u64>(value, None)
    })
}

pub(super) fn histograms(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    series: &[(Labels, HistogramSnapshot)],
) -> fmt::Result {
    each(encoder, name, help, Some(&Unit::Seconds), MetricType::Histogram, series, |metric, histogram| {
        let buckets: Vec<(f64, u64)> = histogram.buckets().collect();
        metric.encode_histogram::<NoLabelSet>(histogram.seconds(), histogram.count(), &buckets, None)
    })
}

/// Writes one metric with all its series. A metric without series is omitted.
fn each<T>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    kind: MetricType,
    series: &[(Labels, T)],
    write: impl Fn(&mut MetricEncoder, &T) -> fmt::Result,
) -> fmt::Result {
    if series.is_empty() {
        return Ok(());
    }
    let mut metric = encoder.encode_descriptor(name, help, unit, kind)?;
    for (labels, value) in series {
        if labels.is_empty() {
            write(&mut metric, value)?;
        } else {
            write(&mut metric.encode_family(labels)?, value)?;
        }
    }
    Ok(())
}
