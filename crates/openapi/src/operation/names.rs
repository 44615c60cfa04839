//! Names of tools: valid for all clients, and unique in the order of the description.

use crate::unique_names::UniqueNames;

/// What the most restrictive clients take.
const MAX_LENGTH: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    taken: UniqueNames,
}

impl ToolNames {
    /// The name for an operation, which no other operation gets.
    pub(crate) fn name(&mut self, operation_id: Option<&str>, method: &str, path: &str) -> String {
        let of_id = operation_id.map(speakable).unwrap_or_default();
        let base = if of_id.is_empty() { speakable(&format!("{}_{path}", method.to_ascii_lowercase())) } else { of_id };
        self.taken.unique(&base, MAX_LENGTH)
    }
}

/// The letters, digits, `-` and `_` of a text, with one `_` for everything between them.
fn speakable(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || character == '-' || character == '_' {
            name.push(character);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    name.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique_in_order() {
        let mut names = ToolNames::default();
        assert_eq!(names.name(Some("listPets"), "GET", "/pets"), "listPets");
        assert_eq!(names.name(Some("repos/list-for-org"), "GET", "/x"), "repos_list-for-org");
        assert_eq!(names.name(None, "GET", "/users/{id}/posts"), "get_users_id_posts");
        assert_eq!(names.name(Some("получить"), "DELETE", "/users/{id}"), "delete_users_id", "unspeakable");
        assert_eq!(names.name(Some(""), "GET", "/"), "get");
        assert_eq!(names.name(Some("listPets"), "GET", "/other"), "listPets_2");
        assert_eq!(names.name(Some("listPets"), "GET", "/third"), "listPets_3");
        assert_eq!(names.name(Some("listPets_2"), "GET", "/fourth"), "listPets_2_2");
        let long = "a".repeat(200);
        assert_eq!(names.name(Some(&long), "GET", "/"), "a".repeat(64));
        assert_eq!(names.name(Some(&long), "GET", "/"), format!("{}_2", "a".repeat(62)));
    }
}
