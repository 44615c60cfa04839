use proptest::prelude::*;
use proxy_identity::oauth::Challenge;

use super::damage::damaged_text;
use super::fuzz;

/// Whatever a server writes into `WWW-Authenticate`, what is read are scopes that can be asked for.
#[test]
fn challenges_are_read_or_ignored() {
    fuzz(&damaged_text(include_str!("../corpus/fuzz/challenges.txt")), |text| {
        let values: Vec<String> = text.lines().map(str::to_owned).collect();
        if let Some(challenge) = Challenge::find(&values) {
            for scope in challenge.scopes {
                prop_assert!(!scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'));
            }
        }
        Ok(())
    });
}
