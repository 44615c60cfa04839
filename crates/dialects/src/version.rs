//! Bounds on a client's version, such as `>=1.2 <2`.

use std::cmp::Ordering;

/// Which versions of a client a row is about. Versions are compared by their numbers; what follows them (`-beta.1`) does not
/// count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionBounds(Vec<Bound>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    comparison: Comparison,
    version: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, PartialEq, Eq)]
pub struct VersionError;

impl VersionBounds {
    /// Reads bounds that are separated by spaces.
    ///
    /// # Errors
    /// If a bound does not begin with `<`, `<=`, `>` or `>=`, followed by a version.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let bounds: Option<Vec<Bound>> = text.split_whitespace().map(Bound::parse).collect();
        match bounds {
            Some(bounds) if !bounds.is_empty() => Ok(VersionBounds(bounds)),
            _ => Err(VersionError),
        }
    }

    /// Whether every version is within the bounds.
    pub fn is_any(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a version is within the bounds. A version without numbers is within none.
    pub fn contain(&self, version: &str) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let Some(version) = numbers(version) else { return false };
        self.0.iter().all(|bound| {
            let order = compare(&version, &bound.version);
            match bound.comparison {
                Comparison::Less => order == Ordering::Less,
                Comparison::LessOrEqual => order != Ordering::Greater,
                Comparison::Greater => order == Ordering::Greater,
                Comparison::GreaterOrEqual => order != Ordering::Less,
            }
        })
    }
}

impl Bound {
    fn parse(text: &str) -> Option<Self> {
        let operators = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let (comparison, version) = operators
            .into_iter()
            .find_map(|(operator, comparison)| Some((comparison, text.strip_prefix(operator)?)))?;
        Some(Bound { comparison, version: numbers(version)? })
    }
}

/// The numbers at the beginning of a version: `1.2.3-beta.4` has 1, 2 and 3.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let version = version.trim().trim_start_matches('v');
    let end = version.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(version.len());
    let numbers: Vec<u64> = version[..end].split('.').map_while(|part| part.parse().ok()).collect();
    if numbers.is_empty() { None } else { Some(numbers) }
}

/// A missing number counts as 0: `1.2` equals `1.2.0`.
fn compare(one: &[u64], other: &[u64]) -> Ordering {
    let length = one.len().max(other.len());
    let at = |version: &[u64], index: usize| version.get(index).copied().unwrap_or(0);
    (0..length)
        .map(|index| at(one, index).cmp(&at(other, index)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_their_numbers() {
        let bounds = VersionBounds::parse(">=1.9 <2").unwrap();
        for version in ["1.9", "1.9.0", "v1.10.3", "1.99.0-beta.7", "1.9+build"] {
            assert!(bounds.contain(version), "{version}");
        }
        for version in ["1.8.9", "2", "2.0.0-rc.1", "", "next"] {
            assert!(!bounds.contain(version), "{version}");
        }
        assert!(VersionBounds::default().contain(""));
        for text in ["", "1.2", "=1", ">", "> 1"] {
            assert_eq!(VersionBounds::parse(text), Err(VersionError), "{text}");
        }
    }
}
