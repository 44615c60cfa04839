use proptest::prelude::*;
use proptest::sample::Index;
use proxy_base::seal::{Purpose, Sealer};

use super::fuzz;

/// A handle opens for its owner and purpose as it was sealed, and never after a change.
#[test]
fn changed_handles_do_not_open() {
    let sealer = Sealer::new().unwrap();
    let input = (".{0,40}", proptest::collection::vec(any::<u8>(), 0..200), any::<Index>(), any::<char>());
    fuzz(&input, |(owner, content, at, other)| {
        let sealed = sealer.seal(Purpose::Cursor, &owner, &content).unwrap();
        prop_assert_eq!(sealer.open(Purpose::Cursor, &owner, &sealed), Some(content));
        prop_assert_eq!(sealer.open(Purpose::Cursor, &format!("{owner}x"), &sealed), None);
        let mut changed: Vec<char> = sealed.chars().collect();
        let position = at.index(changed.len());
        changed[position] = other;
        let changed: String = changed.into_iter().collect();
        if changed != sealed {
            prop_assert_eq!(sealer.open(Purpose::Cursor, &owner, &changed), None);
        }
        Ok(())
    });
}
