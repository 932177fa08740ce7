//! A key that is used and never shown.

use std::fmt;

/// A secret, such as the key of a provider. No format shows it; only the code that sends it can read it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why there is no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The variable is not set.
    #[error(
        "the environment variable `{name}` is not set; set it to the API key, or name another one as `api_key_env`"
    )]
    Unset {
        /// Its name.
        name: String,
    },
    /// The variable is there and holds nothing.
    #[error("the environment variable `{name}` is empty; it has to hold the API key")]
    Empty {
        /// Its name.
        name: String,
    },
    /// It holds what cannot be part of a header.
    #[error("{origin} holds a character that no API key has, such as a line break")]
    Unprintable {
        /// Where it came from.
        origin: String,
    },
}

impl Secret {
    /// A secret of which the program knows the value. Space around it is taken off.
    ///
    /// # Errors
    ///
    /// It is empty, or it has a character that cannot be sent.
    pub fn new(value: &str) -> Result<Self, SecretError> {
        Self::checked(value, "the API key")
            .map_err(|error| error.unwrap_or(SecretError::Empty { name: "API key".into() }))
    }

    /// The value of an environment variable. Space around it is taken off, as files that set one often end in a break.
    ///
    /// # Errors
    ///
    /// The variable is not set, is empty, or holds what cannot be sent. No error shows the value.
    pub fn from_env(name: &str) -> Result<Self, SecretError> {
        // A name with `=` or NUL would panic in some systems; such a variable cannot be set.
        let possible = !name.is_empty() && !name.contains(['=', '\0']);
        let value = possible.then(|| std::env::var_os(name)).flatten();
        let value = value.ok_or_else(|| SecretError::Unset { name: name.to_owned() })?;
        let origin = format!("the environment variable `{name}`");
        let value = value.into_string().map_err(|_| SecretError::Unprintable { origin: origin.clone() })?;
        Self::checked(&value, &origin).map_err(|error| error.unwrap_or(SecretError::Empty { name: name.to_owned() }))
    }

    /// `Err(None)` for an empty value.
    fn checked(value: &str, origin: &str) -> Result<Self, Option<SecretError>> {
        let value = value.trim();
        if value.is_empty() {
            return Err(None);
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Some(SecretError::Unprintable { origin: origin.to_owned() }));
        }
        Ok(Self(value.to_owned()))
    }

    /// The value of a header, which is checked by who makes it.
    #[cfg(feature = "providers")]
    pub(super) fn header(value: &str) -> Self {
        Self(value.to_owned())
    }

    /// The value, for who sends it.
    #[cfg(feature = "providers")]
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crate::redact::MASK)
    }
}
