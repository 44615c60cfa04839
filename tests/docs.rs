//! Every code block of the documents is checked.
