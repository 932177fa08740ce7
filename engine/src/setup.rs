//! Everything that an operator decides, in one value: who owns what, how much room there is, when to compact.

use std::fmt;
use std::str::FromStr;

use crate::compaction::Window;
use crate::plan::SummaryGate;
use crate::services::model::ModelService;
use crate::slots::Slots;

/// What an engine works by. Made by hand or from a configuration, and put in force as a whole.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Setup {
    /// Who owns what.
    pub slots: Slots,
    /// How much room there is.
    pub window: Window,
    /// From how many tokens on the host compacts by itself.
    pub threshold: Threshold,
    /// Tokens that a compaction should leave; [`Window::target`] if not given.
    pub target: Option<u32>,
    /// Tokens of recent entries that strategies are asked to leave alone, as the wish `keep_recent` of a request.
    pub keep_recent: Option<u32>,
    /// What is asked of summaries.
    pub gate: SummaryGate,
    /// The model that plugins may be granted.
    pub model: Option<ModelService>,
}

impl Setup {
    /// What is in force before anything is installed: nobody owns anything, and no window is known.
    pub(crate) fn nothing() -> Self {
        Self::new(Slots::default(), Window::new(u32::MAX))
    }

    /// Tokens that a compaction should leave.
    pub fn target(&self) -> u32 {
        self.target.unwrap_or_else(|| self.window.target())
    }

    /// These owners and this window, and the defaults for the rest.
    pub fn new(slots: Slots, window: Window) -> Self {
        Self {
            slots,
            window,
            threshold: Threshold::default(),
            target: None,
            keep_recent: None,
            gate: SummaryGate::default(),
            model: None,
        }
    }
}

/// From how many tokens on a session is compacted: those of the entries and the overhead, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Threshold {
    /// The window less the reserve: what a request may hold. Pi's rule.
    #[default]
    WindowLessReserve,
    /// A share of the window, in percent, 1 to 100.
    Percent(u8),
    /// So many tokens.
    Tokens(u32),
}

impl Threshold {
    /// In tokens, for a window. Never more than what a request may hold.
    pub fn tokens(self, window: Window) -> u32 {
        let most = window.tokens.saturating_sub(window.reserve);
        match self {
            Threshold::WindowLessReserve => most,
            Threshold::Percent(percent) => {
                let share = u64::from(window.tokens) * u64::from(percent) / 100;
                u32::try_from(share).unwrap_or(u32::MAX).min(most)
            }
            Threshold::Tokens(tokens) => tokens.min(most),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threshold::WindowLessReserve => f.write_str("window - reserve"),
            Threshold::Percent(percent) => write!(f, "{percent}%"),
            Threshold::Tokens(tokens) => write!(f, "{tokens}"),
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain: String = text.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
        if plain == "window-reserve" {
            return Ok(Threshold::WindowLessReserve);
        }
        let percent = plain.strip_suffix('%').map(str::parse::<u8>);
        match percent {
            Some(Ok(percent @ 1..=100)) => return Ok(Threshold::Percent(percent)),
            Some(_) => return Err(format!("`{text}` is no share; write 1% to 100%")),
            None => {}
        }
        plain.parse().map(Threshold::Tokens).map_err(|_| {
            format!(
                "`{text}` is no threshold; write \"window - reserve\", a share like \"75%\", or tokens like 150_000"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_as_they_are_written() {
        for threshold in [Threshold::WindowLessReserve, Threshold::Percent(75), Threshold::Tokens(150_000)] {
            assert_eq!(threshold.to_string().parse(), Ok(threshold));
        }
        assert_eq!("150_000".parse(), Ok(Threshold::Tokens(150_000)));
        for wrong in ["", "0%", "101%", "-1", "half", "window"] {
            assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_threshold_is_beyond_what_a_request_may_hold() {
        let window = Window::new(100_000).with_reserve(10_000);
        assert_eq!(Threshold::WindowLessReserve.tokens(window), 90_000);
        assert_eq!(Threshold::Percent(75).tokens(window), 75_000);
        assert_eq!(Threshold::Percent(100).tokens(window), 90_000);
        assert_eq!(Threshold::Tokens(u32::MAX).tokens(window), 90_000);
    }
}
