//! How secrets are written into records: they show themselves nowhere else.

/// For `#[serde(with = "...")]`.
pub(crate) mod secret {
    use serde::{Deserialize, Deserializer, Serializer};

    use proxy_model::Secret;

    pub(crate) fn serialize<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.reveal())
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

/// For `#[serde(with = "...")]`.
pub(crate) mod optional_secret {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use proxy_model::Secret;

    pub(crate) fn serialize<S: Serializer>(secret: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
        secret.as_ref().map(Secret::reveal).serialize(serializer)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
    }
}
