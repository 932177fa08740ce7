//! What the host found wrong with the last proposal, and what is done about it.

/// The host's defects, as far as this strategy can do something about them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Corrections {
    /// Names that the summary must hold (`lost-identifiers:a, b`).
    pub(crate) lost: Vec<String>,
    /// Headings that it must have (`missing-section:X`).
    pub(crate) headings: Vec<String>,
    /// How often it was too long (`over-target`).
    pub(crate) too_long: u32,
    /// How often it saved too little (`not-smaller`, `no-progress`).
    pub(crate) too_little: u32,
    /// All of them, for the model.
    pub(crate) words: Vec<String>,
}

impl Corrections {
    /// Reads the defects. What follows the first colon names what is meant.
    pub(crate) fn read(corrections: &[String]) -> Self {
        let mut read = Self::default();
        for correction in corrections {
            let (defect, rest) = correction.split_once(':').unwrap_or((correction, ""));
            // `over-target at position 3` names a place too.
            match defect.split_whitespace().next().unwrap_or_default() {
                "lost-identifiers" => {
                    let names = rest.split([',', ' ', '\n']).map(|name| name.trim_matches(['"', '\'', '`']));
                    read.lost.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
                }
                "missing-section" => {
                    let heading = rest.trim();
                    if heading.starts_with('#') && !heading.contains('\n') {
                        read.headings.push(heading.to_owned());
                    }
                }
                "over-target" => read.too_long += 1,
                "not-smaller" | "no-progress" => read.too_little += 1,
                _ => {}
            }
            read.words.push(crate::escape::one_line(correction, 400));
        }
        read
    }

    /// All that is missing are names, which can be put back without asking the model again.
    pub(crate) fn only_names(&self) -> bool {
        !self.lost.is_empty() && self.words.iter().all(|words| words.starts_with("lost-identifiers"))
    }

    /// A limit, a quarter less for each time that it was too long.
    pub(crate) fn tighten(&self, limit: u32) -> u32 {
        (0..self.too_long.min(8)).fold(limit, |limit, _| limit - limit / 4)
    }

    /// The recent tokens that are kept: half for each time that too little was saved.
    pub(crate) fn keep_less(&self, keep: u32) -> u32 {
        keep >> (self.too_little + self.too_long).min(31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defects_are_read_with_what_they_name() {
        let read = Corrections::read(&[
            "lost-identifiers: src/a.rs, 3f2a9c1".to_owned(),
            "missing-section: ## Next Steps".to_owned(),
            "over-target: 37 tokens would be left and at most 10 fit".to_owned(),
            "no-progress: 304 tokens would become 301".to_owned(),
            "split-group at position 3: it belongs".to_owned(),
        ]);
        assert_eq!(read.lost, ["src/a.rs", "3f2a9c1"]);
        assert_eq!(read.headings, ["## Next Steps"]);
        assert_eq!((read.tighten(1000), read.keep_less(1000)), (750, 250));
        assert_eq!(read.words.len(), 5);
        assert!(!read.only_names());
        assert!(Corrections::read(&["lost-identifiers: a/b.rs".to_owned()]).only_names());
    }
}
