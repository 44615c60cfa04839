//! Error messages without the password.

use std::error::Error as _;

use deadpool_postgres::PoolError;
use tokio_postgres::{Config, Error};

/// Formats errors of one connection, and removes its password from them.
pub(super) struct ErrorReporter {
    password: Option<String>,
}

impl ErrorReporter {
    pub(super) fn new(config: &Config) -> Self {
        let password = config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        ErrorReporter { password: password.filter(|password| !password.is_empty()) }
    }

    pub(super) fn of(&self, error: &Error) -> String {
        let text = match error.as_db_error() {
            Some(database) => {
                let detail = database.detail().map(|detail| format!("; {detail}")).unwrap_or_default();
                let hint = database.hint().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
                format!("PostgreSQL: {} [{}]{detail}{hint}", database.message(), database.code().code())
            }
            None => match error.source() {
                Some(source) => format!("PostgreSQL: {error}: {source}{}", advice(&source.to_string())),
                None => format!("PostgreSQL: {error}"),
            },
        };
        self.without_password(text)
    }

    pub(super) fn pool(&self, error: &PoolError) -> String {
        match error {
            PoolError::Backend(error) => self.of(error),
            PoolError::Timeout(_) => "PostgreSQL: the server did not respond in time".to_owned(),
            other => self.without_password(format!("PostgreSQL: {other}")),
        }
    }

    /// The error for a value that cannot be converted to JSON.
    pub(super) fn column(&self, name: &str, error: &Error) -> String {
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        self.without_password(format!("column `{name}`: {reason}"))
    }

    fn without_password(&self, text: String) -> String {
        match &self.password {
            Some(password) => text.replace(password.as_str(), "[password]"),
            None => text,
        }
    }
}

/// A hint for a failed connection.
fn advice(cause: &str) -> &'static str {
    if cause.contains("invalid peer certificate") && !cause.contains("not valid for name") {
        " (set `sslrootcert=FILE` in the connection string to the CA of the server's certificate)"
    } else if cause.contains("server does not support TLS") {
        " (use `sslmode=prefer` or `sslmode=disable` to connect without TLS)"
    } else {
        ""
    }
}
