//! Where in the script something happens: a counter for each line of control, and within the n-th thing of one a line for
//! each branch. The same script gives the same positions, whatever order answers come in.

use std::cell::{Cell, RefCell};

#[derive(Debug, Default)]
pub(super) struct Line {
    prefix: String,
    next: Cell<usize>,
}

thread_local! {
    static CURRENT: RefCell<Option<std::rc::Rc<Line>>> = const { RefCell::new(None) };
}

impl Line {
    /// The position of the next thing on the current line.
    pub(super) fn position() -> String {
        CURRENT.with_borrow_mut(|current| {
            let line = current.get_or_insert_default();
            let number = line.next.replace(line.next.get() + 1);
            format!("{}{number}", line.prefix)
        })
    }

    /// How many forks lead to the current line.
    pub(super) fn depth() -> usize {
        CURRENT.with_borrow(|current| current.as_ref().map_or(0, |line| line.prefix.matches('.').count() / 2))
    }

    /// The line of a branch of what happens at a position.
    pub(super) fn branch(position: &str, number: usize) -> Self {
        Line { prefix: format!("{position}.{number}."), next: Cell::new(0) }
    }

    /// What all its positions begin with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Goes on with another line until `work` returns.
    pub(super) fn on<T>(line: &std::rc::Rc<Line>, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(std::rc::Rc::clone(line)));
        let result = work();
        CURRENT.set(before);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_depend_on_the_line_and_on_nothing_else() {
        assert_eq!(Line::position(), "0");
        let fork = Line::position();
        let lines: Vec<_> = (0..2).map(|number| std::rc::Rc::new(Line::branch(&fork, number))).collect();
        assert_eq!(Line::on(&lines[1], Line::position), "1.1.0");
        assert_eq!(Line::on(&lines[0], Line::position), "1.0.0");
        assert_eq!(Line::on(&lines[1], Line::position), "1.1.1");
        assert_eq!(Line::position(), "2");
    }
}
