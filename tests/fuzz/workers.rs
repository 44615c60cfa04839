use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proxy_code_mode::sandbox::{ScriptEvent, WorkerMessage, WorkerMessages, WorkerRequest};
use proxy_config::CodeMode;

use super::damage::damaged;
use super::{chunks, fuzz};

const MAX_CALLS: usize = 3;

/// Everything that is accepted of what a worker sends, and why the rest is not.
fn heard(parts: Vec<Vec<u8>>) -> (Vec<WorkerMessage>, Option<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let socket = tokio_util::io::StreamReader::new(futures::stream::iter(
            parts.into_iter().map(|part| Ok::<_, std::io::Error>(bytes::Bytes::from(part))),
        ));
        let limits = CodeMode { max_calls: MAX_CALLS, max_output: 1000, ..CodeMode::default() };
        let mut messages = WorkerMessages::new(socket, &limits);
        let mut heard = Vec::new();
        loop {
            match messages.next().await {
                Ok(WorkerMessage::Closed) => return (heard, None),
                Ok(message) => heard.push(message),
                Err(reason) => return (heard, Some(format!("{reason:?}"))),
            }
        }
    })
}

/// Whatever a worker sends, it is heard within its limits, and however the bytes are split.
#[test]
fn a_worker_is_heard_only_within_its_limits() {
    let frame = (damaged(include_str!("../corpus/fuzz/workers.txt")), proptest::option::weighted(0.05, any::<u32>()));
    let input = (vec(frame, 0..12), vec(any::<Index>(), 0..6));
    fuzz(&input, |(frames, cuts)| {
        let mut bytes = Vec::new();
        for (text, wrong_length) in frames {
            let length = wrong_length.unwrap_or(u32::try_from(text.len()).expect("it is short"));
            bytes.extend(length.to_be_bytes());
            bytes.extend(text);
        }
        let (whole, end) = heard(vec![bytes.clone()]);
        let parts: Vec<_> = chunks(&bytes, &cuts).into_iter().filter(|part| !part.is_empty()).collect();
        prop_assert_eq!(format!("{:?}", (&whole, &end)), format!("{:?}", heard(parts)));

        let (mut positions, mut calls, mut branches, mut ended) = (HashSet::new(), 0, 0, 0);
        for message in &whole {
            let WorkerMessage::Event(branch, event) = message else { continue };
            match event {
                ScriptEvent::WorkerRequest { at, want } => {
                    prop_assert!(at.starts_with(branch) && positions.insert(at.clone()), "{}", at);
                    match want {
                        WorkerRequest::Fork { count, .. } => branches += count,
                        _ => calls += 1,
                    }
                }
                ScriptEvent::End => {
                    ended += 1;
                    prop_assert!(branch.ends_with('.') && positions.insert(branch.clone()), "{}", branch);
                }
                ScriptEvent::Done(_) => {}
            }
        }
        prop_assert!(calls <= MAX_CALLS && branches <= 10_000 && ended <= branches.max(whole.len()));
        Ok(())
    });
}
