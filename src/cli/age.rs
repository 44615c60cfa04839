//! Times for people.

/// A duration in its largest unit: `5 s`, `3 min`, `2 h`, `4 d`.
pub(super) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn an_age_has_one_unit() {
        let shown: Vec<String> = [5, 59, 185, 7380, 172_799, 352_800].into_iter().map(age).collect();
        assert_eq!(shown, ["5 s", "59 s", "3 min", "2 h", "47 h", "4 d"]);
    }
}
