//! Counting for plugins.

use std::time::Instant;

use wasmtime::Trap;

use super::HostState;
use crate::plugin::bindings::contextengine::plugin::tokens::Host;
use crate::tokens::TokenCounter;

/// Bytes of a token to begin with, when a prefix is sought: English has about four.
const BYTES_PER_TOKEN: usize = 4;

impl HostState {
    /// Ends the call when its time is up. Wasm asks by itself; a long host function must.
    fn check_deadline(&self) -> wasmtime::Result<()> {
        if Instant::now() >= self.deadline { Err(Trap::Interrupt.into()) } else { Ok(()) }
    }
}

impl Host for HostState {
    fn count(&mut self, text: String) -> wasmtime::Result<u32> {
        Ok(self.counter.count(&text))
    }

    fn count_all(&mut self, texts: Vec<String>) -> wasmtime::Result<Vec<u32>> {
        let mut counts = Vec::with_capacity(texts.len());
        for text in &texts {
            self.check_deadline()?;
            counts.push(self.counter.count(text));
        }
        Ok(counts)
    }

    fn fit(&mut self, text: String, budget: u32) -> wasmtime::Result<u32> {
        let bytes = fit(&*self.counter, &text, budget, || self.check_deadline())?;
        Ok(u32::try_from(bytes).unwrap_or(u32::MAX))
    }
}

/// Bytes of the longest beginning that takes at most `budget` tokens. Looks at no more than a few times the answer,
/// however long the text is.
fn fit<E>(
    counter: &dyn TokenCounter,
    text: &str,
    budget: u32,
    mut check: impl FnMut() -> Result<(), E>,
) -> Result<usize, E> {
    let mut fits = |bytes: usize| {
        check()?;
        Ok(counter.count(&text[..bytes]) <= budget)
    };
    let mut low = 0;
    let mut high = text.floor_char_boundary((budget as usize).saturating_mul(BYTES_PER_TOKEN));
    while fits(high)? {
        low = high;
        if high == text.len() {
            return Ok(low);
        }
        high = text.ceil_char_boundary(high.saturating_mul(2).clamp(1, text.len()));
    }
    // `low` fits and `high` does not.
    loop {
        let middle = text.floor_char_boundary(low + (high - low) / 2);
        if middle <= low {
            // The character at `low` may be longer than half of what is left.
            let next = text.ceil_char_boundary(low + 1);
            if next >= high || !fits(next)? {
                return Ok(low);
            }
            low = next;
        } else if fits(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// One token a character.
    #[derive(Debug)]
    struct Characters;

    impl TokenCounter for Characters {
        fn name(&self) -> &'static str {
            "characters"
        }

        fn count(&self, text: &str) -> u32 {
            u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
        }
    }

    #[test]
    fn the_longest_fitting_prefix_ends_at_a_character() {
        let texts = ["", "a", "hello world", "äöü€😀😀😀", "😀a😀a", &"x€".repeat(100)];
        for text in texts {
            for budget in 0..=u32::try_from(text.chars().count()).unwrap_or(0) + 2 {
                let expected = text.char_indices().nth(budget as usize).map_or(text.len(), |(at, _)| at);
                let Ok(found) = fit(&Characters, text, budget, || Ok::<_, Infallible>(()));
                assert_eq!(found, expected, "{text:?} within {budget}");
            }
        }
    }
}
