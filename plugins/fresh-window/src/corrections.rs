//! What the host found wrong with the last proposal, and what is done about it.

use contextengine_sdk::Position;

/// Defects that this strategy can do something about; the others are not made by it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Corrections {
    /// Names that the text must hold.
    pub(crate) names: Vec<String>,
    /// Headings that it must have.
    pub(crate) headings: Vec<String>,
    /// It was too long, or too little was saved: so often.
    too_much: u32,
    /// It says too little for what it stands for.
    pub(crate) too_little: bool,
    /// Positions that have to stay.
    pub(crate) keep: Vec<Position>,
}

impl Corrections {
    /// Reads the defects. What follows the first colon names what is meant.
    pub(crate) fn read(corrections: &[String]) -> Self {
        let mut read = Self::default();
        for correction in corrections {
            let (defect, rest) = correction.split_once(':').unwrap_or((correction, ""));
            let (defect, place) = defect.split_once(" at position ").unwrap_or((defect, ""));
            match defect.trim() {
                "lost-identifiers" => {
                    let names = rest.split(',').map(str::trim).filter(|name| !name.is_empty());
                    read.names.extend(names.map(str::to_owned));
                }
                "missing-section" => {
                    let heading = rest.trim().trim_start_matches(['#', ' ']);
                    if !heading.is_empty() && !heading.contains('\n') {
                        read.headings.push(heading.to_owned());
                    }
                }
                "over-target" | "not-smaller" | "no-progress" => read.too_much += 1,
                "too-small-for-fold" => read.too_little = true,
                "lost-pinned" | "lost-request" | "lost-in-flight" => read.keep.extend(place.trim().parse::<Position>()),
                _ => {}
            }
        }
        read
    }

    /// Too much was kept or said.
    pub(crate) fn must_do_with_less(&self) -> bool {
        self.too_much > 0
    }

    /// Half for each time that it was too much.
    pub(crate) fn tighten(&self, tokens: u32) -> u32 {
        tokens >> self.too_much.min(31)
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
            "over-target: 9 tokens would be left and at most 5 fit".to_owned(),
            "lost-request at position 5: it is the latest request".to_owned(),
            "too-small-for-fold: 20 tokens would stand for 20000".to_owned(),
            "split-group at position 1: x".to_owned(),
        ]);
        assert_eq!(read.names, ["src/a.rs", "3f2a9c1"]);
        assert_eq!(read.headings, ["Next Steps"]);
        assert_eq!((read.keep.as_slice(), read.too_little, read.tighten(1_000)), (&[5][..], true, 500));
    }
}
