//! Sizes and times as people write them: `64 MiB`, `2 min`.

use std::time::Duration;

/// Units of sizes, the largest first, in bytes.
const SIZES: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Units of times, the largest first, in milliseconds.
const TIMES: [(&str, u64); 4] = [("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads `64 MiB`, `1.5 MiB`, `500 kB` or `4096 B` as bytes.
pub(super) fn size(text: &str) -> Option<u64> {
    read(text, &SIZES)
}

/// Reads `2 min`, `1.5 s` or `250 ms`.
pub(super) fn time(text: &str) -> Option<Duration> {
    read(text, &TIMES).map(Duration::from_millis)
}

/// The shortest way to write so many bytes.
pub(super) fn size_text(bytes: u64) -> String {
    write(bytes, &SIZES)
}

/// The shortest way to write a time. Parts of a millisecond are left out.
pub(super) fn time_text(time: Duration) -> String {
    write(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), &TIMES)
}

/// A number, at most three digits behind its point, and a unit.
fn read(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..end].replace('_', ""), text[end..].trim());
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    let (whole, part) = number.split_once('.').unwrap_or((&number, "0"));
    if whole.is_empty() || part.is_empty() || part.len() > 3 {
        return None;
    }
    let thousandths: u64 = format!("{part:0<3}").parse().ok()?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(*factor)?;
    let part = factor.checked_mul(thousandths)?;
    // Half a byte or half a millisecond is not a whole number of anything.
    if !part.is_multiple_of(1_000) {
        return None;
    }
    whole.checked_add(part / 1_000)
}

fn write(amount: u64, units: &[(&str, u64)]) -> String {
    let binary_or_one = |name: &str| !matches!(name, "GB" | "MB" | "kB");
    let fits = units.iter().find(|(name, factor)| binary_or_one(name) && amount > 0 && amount.is_multiple_of(*factor));
    match fits {
        Some((name, factor)) => format!("{} {name}", amount / factor),
        None => format!("{amount} {}", units.last().map_or("", |(name, _)| name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_as_they_are_written() {
        for (text, bytes) in [
            ("64 MiB", 64 << 20),
            ("64MiB", 64 << 20),
            ("64 mib", 64 << 20),
            ("1.5 KiB", 1536),
            ("500 kB", 500_000),
            ("4_096 B", 4096),
            ("0 B", 0),
            ("2 GiB", 2 << 30),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in
            ["", "MiB", "64", "64 M", "-1 MiB", "1.5 B", "1. MiB", ".5 MiB", "1.2345 MiB", "99999999999 GiB", "1e3 B"]
        {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(time("2 min"), Some(Duration::from_secs(120)));
        assert_eq!(time("1.5s"), Some(Duration::from_millis(1_500)));
        assert_eq!(time("250 ms"), Some(Duration::from_millis(250)));
        assert_eq!(time("2 minutes"), None);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for bytes in [0, 1, 1_000, 1 << 10, 1536, 64 << 20, 3 << 30, 12_345_678_901] {
            assert_eq!(size(&size_text(bytes)), Some(bytes));
        }
        for millis in [0, 1, 250, 1_000, 90_000, 120_000, 3_600_000] {
            let duration = Duration::from_millis(millis);
            assert_eq!(time(&time_text(duration)), Some(duration));
        }
        assert_eq!((size_text(64 << 20), time_text(Duration::from_secs(120))), ("64 MiB".into(), "2 min".into()));
    }
}
