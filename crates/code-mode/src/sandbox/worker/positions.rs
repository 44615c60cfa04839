//! The positions of a branch's requests (see the messages of the protocol). They depend on the script alone, and not on
//! the order in which answers arrive.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers the requests of one branch.
#[derive(Debug, Default)]
pub(super) struct Positions {
    branch: String,
    next: AtomicUsize,
}

impl Positions {
    /// For the branch `index` of the `parallel` at a position.
    pub(super) fn of_branch(position: &str, index: usize) -> Self {
        Positions { branch: format!("{position}.{index}."), next: AtomicUsize::new(0) }
    }

    /// The position of the branch's next request.
    pub(super) fn next(&self) -> String {
        format!("{}{}", self.branch, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// What all positions of the branch start with.
    pub(super) fn branch(&self) -> &str {
        &self.branch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_depend_on_the_branch_and_on_nothing_else() {
        let script = Positions::default();
        assert_eq!(script.next(), "0");
        let fork = script.next();
        let branches = [0, 1].map(|index| Positions::of_branch(&fork, index));
        assert_eq!(branches[1].next(), "1.1.0");
        assert_eq!(branches[0].next(), "1.0.0");
        assert_eq!(branches[1].next(), "1.1.1");
        assert_eq!(script.next(), "2");
    }
}
