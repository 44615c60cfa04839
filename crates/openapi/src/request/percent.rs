//! Percent-encoding.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What `allowReserved` leaves as it is: reserved characters that cannot end a value of a query.
const NOT_ALLOWED: &AsciiSet = &RESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

pub(super) fn encoded_where_needed(text: &str) -> String {
    utf8_percent_encode(text, NOT_ALLOWED).to_string()
}

/// The literal text of a path, which may be encoded already.
pub(super) fn encoded_literal(text: &str) -> String {
    const LITERAL: &AsciiSet = &NOT_ALLOWED.remove(b'%').remove(b'&').remove(b'=').remove(b'+').add(b'?');
    utf8_percent_encode(text, LITERAL).to_string()
}

/// A query as the description writes it.
pub(super) fn encoded_query(text: &str) -> String {
    const QUERY: &AsciiSet = &NOT_ALLOWED.remove(b'%').remove(b'&').remove(b'=').remove(b'+');
    utf8_percent_encode(text, QUERY).to_string()
}
