//! Versions of the plugin API, and which of them fit together.

/// `major.minor.patch`, as a package of WIT has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

impl Version {
    /// Reads a version. A pre-release is none: it fits nothing but itself, so nothing can be promised of it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| {
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| number.parse::<u64>().ok()).flatten()
        });
        let (major, minor, patch) = (numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(Self { major, minor, patch })
    }

    /// A plugin of this version can be loaded by a host of that one: the same major version, or below 1 the same
    /// minor one. A newer plugin of the same line is fine as long as the functions that it calls are there.
    pub(super) fn serves_with(self, host: Self) -> bool {
        self.major == host.major && (self.major > 0 || self.minor == host.minor)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn versions_of_one_line_fit_together() {
        let fit = |plugin, host| Version::parse(plugin).unwrap().serves_with(Version::parse(host).unwrap());
        assert!(fit("0.1.0", "0.1.4"));
        assert!(fit("0.1.9", "0.1.0"));
        assert!(fit("1.3.0", "1.0.0"));
        assert!(!fit("0.2.0", "0.1.0"));
        assert!(!fit("1.0.0", "0.1.0"));
        assert!(!fit("2.0.0", "1.9.0"));
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in ["", "1", "1.0", "1.0.0.0", "1.0.x", "1.0.0-rc.1", "+1.0.0", "1..0", "99999999999999999999.0.0"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
