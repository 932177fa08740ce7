use super::{Query, Term};

/// How often each term stands in a text.
pub(crate) fn occurrences<T: AsRef<str>>(query: &Query, words: &[T]) -> Vec<u32> {
    let count = |term: &Term| (0..words.len()).filter(|&at| term.stands_at(at, words)).count();
    query.terms.iter().map(|term| u32::try_from(count(term)).unwrap_or(u32::MAX)).collect()
}

/// Okapi BM25 with the constants of SQLite's FTS5: `k1` 1.2 and `b` 0.75.
#[derive(Debug)]
pub(crate) struct Scorer {
    texts: f32,
    average_words: f32,
    weights: Vec<f32>,
}

impl Scorer {
    /// `holding` is the number of texts that hold each term.
    #[allow(clippy::cast_precision_loss, reason = "scores are rough by nature")]
    pub(crate) fn new(texts: usize, words: usize, holding: &[usize]) -> Self {
        let texts = texts as f32;
        let weight = |&holding: &usize| {
            let holding = holding as f32;
            // As in FTS5: a word in more than half of the texts counts a little, not against.
            ((texts - holding + 0.5) / (holding + 0.5)).ln().max(1e-6)
        };
        let weights = holding.iter().map(weight).collect();
        Self { texts, average_words: words as f32 / texts.max(1.0), weights }
    }

    /// The score of a text.
    #[allow(clippy::cast_precision_loss, reason = "scores are rough by nature")]
    pub(crate) fn score(&self, words: usize, occurrences: &[u32]) -> f32 {
        if self.texts == 0.0 {
            return 0.0;
        }
        let length = 1.2 * (1.0 - 0.75 + 0.75 * words as f32 / self.average_words.max(1.0));
        let part = |(weight, &count): (&f32, &u32)| weight * (count as f32 * 2.2) / (count as f32 + length);
        self.weights.iter().zip(occurrences).map(part).sum()
    }
}
