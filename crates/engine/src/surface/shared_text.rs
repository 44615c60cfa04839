//! Texts of lists, shared by all surfaces whose lists are equal: a script that reads the client makes a surface for each
//! name, and most of them list the same.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;

/// The texts in use, by their hashes. A `Weak` keeps the small box alive, but not the text in it.
static IN_USE: LazyLock<Mutex<HashMap<u64, Weak<Box<str>>>>> = LazyLock::new(Mutex::default);

#[derive(Clone, Debug)]
pub(crate) struct SharedText(Arc<Box<str>>);

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let hash = hasher.finish();
        let mut in_use = IN_USE.lock();
        if let Some(known) = in_use.get(&hash).and_then(Weak::upgrade).filter(|known| ***known == *text) {
            return SharedText(known);
        }
        in_use.retain(|_, text| text.strong_count() > 0);
        let text = Arc::new(text.into_boxed_str());
        in_use.insert(hash, Arc::downgrade(&text));
        SharedText(text)
    }
}

impl SharedText {
    /// The part of its size that falls to each of those who share it.
    pub(crate) fn share(&self) -> usize {
        self.len() / Arc::strong_count(&self.0)
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_kept_once_and_let_go_with_their_last_user() {
        let text = "the list of a test of its own".to_owned();
        let (one, other) = (SharedText::from(text.clone()), SharedText::from(text.clone()));
        assert_eq!((&*one, one.as_ptr()), (text.as_str(), other.as_ptr()));
        assert_eq!(one.share(), text.len() / 2);
        let kept = Arc::downgrade(&one.0);
        drop((one, other));
        assert!(kept.upgrade().is_none());
        assert_eq!(&*SharedText::from(text.clone()), text);
    }
}
