//! What a surface keeps for each row of limits.

use std::sync::OnceLock;

use super::listing::Listing;

/// One value for each row, made when a client of that row first needs it.
#[derive(Debug)]
pub(super) struct PerRow<T>(OnceLock<Box<[OnceLock<T>]>>);

impl<T> Default for PerRow<T> {
    fn default() -> Self {
        PerRow(OnceLock::new())
    }
}

impl<T> PerRow<T> {
    pub(super) fn get_or_init(&self, count: usize, index: usize, make: impl FnOnce() -> T) -> Option<&T> {
        let cells = self.0.get_or_init(|| (0..count).map(|_| OnceLock::new()).collect());
        Some(cells.get(index)?.get_or_init(make))
    }

    /// The values that were made, with their positions.
    pub(super) fn made(&self) -> impl Iterator<Item = (usize, &T)> {
        let cells = self.0.get().into_iter().flatten().enumerate();
        cells.filter_map(|(index, cell)| Some((index, cell.get()?)))
    }
}

/// The listed tools for the clients of one row and revision.
#[derive(Debug, Default)]
pub(super) struct RowListing {
    /// `None` if they get what all clients get.
    pub(super) listing: Option<Listing>,
    /// How many tools differ from the published ones.
    pub(super) lowered: usize,
    /// The memory of the tools that differ.
    pub(super) bytes: usize,
}
