//! What a value may be: text of 1 byte to 64 KiB. One newline at its end is not part of it.

use proxy_model::Secret;

pub(super) const MAX_BYTES: usize = 64 << 10;
/// The newline at the end.
pub(super) const MAX_END: usize = 2;

enum ValueProblem {
    Empty,
    TooLong,
    NotText,
}

pub(super) fn of_file(bytes: Vec<u8>) -> Result<Secret, &'static str> {
    value(bytes).map_err(|problem| match problem {
        ValueProblem::Empty => "it is empty",
        ValueProblem::TooLong => "it is larger than 64 KiB",
        ValueProblem::NotText => "it is not UTF-8",
    })
}

pub(super) fn of_output(bytes: Vec<u8>) -> Result<Secret, &'static str> {
    value(bytes).map_err(|problem| match problem {
        ValueProblem::Empty => "printed nothing",
        ValueProblem::TooLong => "printed more than 64 KiB",
        ValueProblem::NotText => "printed something that is not UTF-8",
    })
}

fn value(bytes: Vec<u8>) -> Result<Secret, ValueProblem> {
    // The error of `String::from_utf8` holds the bytes.
    let mut text = String::from_utf8(bytes).map_err(|_| ValueProblem::NotText)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    match text.len() {
        0 => Err(ValueProblem::Empty),
        length if length > MAX_BYTES => Err(ValueProblem::TooLong),
        _ => Ok(Secret::new(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_newline_at_the_end_is_not_part_of_a_value() {
        for (bytes, expected) in [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), (" a ${B} ", " a ${B} ")]
        {
            assert_eq!(of_file(bytes.into()).unwrap().reveal(), expected);
        }
    }

    #[test]
    fn a_value_is_text_of_1_byte_to_64_kib() {
        assert_eq!(of_file(vec![b'a'; MAX_BYTES]).unwrap().reveal().len(), MAX_BYTES);
        assert_eq!(of_file(vec![b'a'; MAX_BYTES + 1]), Err("it is larger than 64 KiB"));
        for empty in ["", "\n", "\r\n"] {
            assert_eq!(of_output(empty.into()), Err("printed nothing"));
        }
        assert_eq!(of_output(vec![b'a', 0xff]), Err("printed something that is not UTF-8"));
    }
}
