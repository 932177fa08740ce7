//! Times for people.

use contextengine::transcript::Timestamp;

/// As in `2026-01-31 12:00 UTC`; the number where no calendar has it.
pub(crate) fn minute(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => {
            // The text is ISO 8601, in UTC.
            let text = time.to_string().replace('T', " ");
            format!("{} UTC", text.get(..16).unwrap_or(&text))
        }
        Err(_) => format!("{} ms after 1970", at.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_to_the_minute() {
        assert_eq!(minute(Timestamp(1_783_632_479_733)), "2026-07-09 21:27 UTC");
        assert_eq!(minute(Timestamp(i64::MAX)), "9223372036854775807 ms after 1970");
    }
}
