//! How large a schema becomes in a check. A reference is as large as what it refers to, so a few lines of nested
//! alternatives can become millions of schemas.
//!
//! What is counted follows from how the library works:
//!
//! - It compiles each part once and follows references while it checks: a part that is referred to twice is checked
//!   twice. So a part is as large as all parts that it applies, counted once for each way to them.
//! - If parts refer to each other in a circle, it checks each of them once for each object or array of the value. So the
//!   parts of a circle count once together, and recursive schemas are not larger than they look.
//! - For texts and numbers it does not remember what it has checked. They have no parts, so this is counted apart, without
//!   the schemas for parts of the value.
//! - If a circle stays at the same value, or contains schemas with an `$id`, it takes every way through the circle. So
//!   these ways are counted one by one.

use super::references::{Part, SchemaGraph};

/// The maximum size of an expanded schema, in schemas.
pub(super) const MAX_EXPANDED: usize = 100_000;
/// The maximum length of a chain of references and alternatives for the same value: each takes some kilobytes of stack
/// where the library compiles `unevaluatedProperties`.
pub(super) const MAX_CHAIN: usize = 100;

/// Checks that a schema is not too large. Fails with the reason.
pub(super) fn check(graph: &SchemaGraph) -> Result<(), String> {
    let too_large = || Err(format!("it expands to more than {MAX_EXPANDED} schemas when references are followed"));
    if graph.parts.len() > MAX_EXPANDED {
        return too_large();
    }
    let everywhere = |part: &Part| part.same_value.iter().chain(&part.below).copied().collect::<Vec<_>>();
    let at_one_value = |part: &Part| part.same_value.clone();
    let (whole, one_value) = (circles(graph, everywhere), circles(graph, at_one_value));
    if whole.max_size.max(one_value.max_size) > MAX_EXPANDED
        || has_more_ways(graph, &one_value.in_circles, at_one_value)
        || graph.has_resources && has_more_ways(graph, &[0], everywhere)
    {
        return too_large();
    }
    if one_value.max_chain > MAX_CHAIN {
        return Err(format!("it has a chain of more than {MAX_CHAIN} references or alternatives for one value"));
    }
    Ok(())
}

/// The sizes of parts, where the parts of a circle are one.
#[derive(Default)]
struct Circles {
    max_size: usize,
    max_chain: usize,
    in_circles: Vec<usize>,
}

/// Finds the circles (strongly connected components, by Tarjan) and adds up sizes. Without recursion: chains of references
/// are as long as the schema.
fn circles(graph: &SchemaGraph, applied: impl Fn(&Part) -> Vec<usize>) -> Circles {
    const UNSEEN: usize = usize::MAX;
    let count = graph.parts.len();
    let (mut order, mut low, mut on_stack) = (vec![UNSEEN; count], vec![0; count], vec![false; count]);
    // By part, once its circle is complete.
    let (mut size, mut chain) = (vec![0_usize; count], vec![0_usize; count]);
    let (mut stack, mut seen, mut found) = (Vec::new(), 0, Circles::default());
    for start in 0..count {
        if order[start] != UNSEEN {
            continue;
        }
        let mut calls: Vec<(usize, Vec<usize>, usize)> = Vec::new();
        let mut entered = Some(start);
        loop {
            if let Some(part) = entered.take() {
                (order[part], low[part], on_stack[part]) = (seen, seen, true);
                seen += 1;
                stack.push(part);
                calls.push((part, applied(&graph.parts[part]), 0));
            }
            let Some((part, targets, next)) = calls.last_mut() else { break };
            if let Some(&target) = targets.get(*next) {
                *next += 1;
                if order[target] == UNSEEN {
                    entered = Some(target);
                } else if on_stack[target] {
                    low[*part] = low[*part].min(order[target]);
                }
                continue;
            }
            let part = *part;
            calls.pop();
            if let Some((caller, ..)) = calls.last() {
                low[*caller] = low[*caller].min(low[part]);
            }
            if low[part] != order[part] {
                continue;
            }
            let first = stack.iter().rposition(|&member| member == part).unwrap_or(0);
            let members = stack.split_off(first);
            let outside = |target: &usize| !on_stack[*target];
            let targets = || members.iter().flat_map(|&member| applied(&graph.parts[member]));
            let own_size =
                targets().filter(outside).fold(members.len(), |sum, target| sum.saturating_add(size[target]));
            let own_chain = members.len() + targets().filter(outside).map(|target| chain[target]).max().unwrap_or(0);
            let is_circle = members.len() > 1 || targets().any(|target| target == part);
            for &member in &members {
                (size[member], chain[member]) = (own_size, own_chain);
            }
            for &member in &members {
                on_stack[member] = false;
            }
            found.max_size = found.max_size.max(own_size);
            found.max_chain = found.max_chain.max(own_chain);
            if is_circle {
                found.in_circles.extend(members);
            }
        }
    }
    found
}

/// Whether there are more than [`MAX_EXPANDED`] ways from the starts, together; a way ends where it would close a circle.
fn has_more_ways(graph: &SchemaGraph, starts: &[usize], applied: impl Fn(&Part) -> Vec<usize>) -> bool {
    let mut on_way = vec![false; graph.parts.len()];
    let mut ways = 0;
    for &start in starts {
        let mut calls = vec![(start, applied(&graph.parts[start]))];
        on_way[start] = true;
        while let Some((part, targets)) = calls.last_mut() {
            let Some(target) = targets.pop() else {
                on_way[*part] = false;
                calls.pop();
                continue;
            };
            ways += 1;
            if ways > MAX_EXPANDED {
                return true;
            }
            if !on_way[target] {
                on_way[target] = true;
                calls.push((target, applied(&graph.parts[target])));
            }
        }
    }
    false
}
