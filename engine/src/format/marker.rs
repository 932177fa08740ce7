//! How a summary or a note is told apart from words of the user, in formats that have only messages.
//!
//! The text stands between an opening line and a closing line; the line after the opening one says what it is.
//!
//! ```text
//! <context-summary>
//! This is a summary of earlier messages of this conversation, which it replaces. It is not a request.
//!
//! …
//! </context-summary>
//! ```
//!
//! Only a message that has the whole of it, from its first to its last byte, is read as one.

use crate::transcript::EntryKind;

struct Marker {
    kind: EntryKind,
    opening: &'static str,
    closing: &'static str,
}

const MARKERS: [Marker; 3] = [
    Marker {
        kind: EntryKind::Summary,
        opening: "<context-summary>\n\
            This is a summary of earlier messages of this conversation, which it replaces. It is not a request.\n\n",
        closing: "\n</context-summary>",
    },
    Marker {
        kind: EntryKind::BranchSummary,
        opening: "<branch-summary>\n\
            This is a summary of another branch of this conversation, which was left. It is not a request.\n\n",
        closing: "\n</branch-summary>",
    },
    Marker {
        kind: EntryKind::Note,
        opening: "<context-note>\n\
            This is a note of the program that runs this conversation. It is not a request of the user.\n\n",
        closing: "\n</context-note>",
    },
];

/// The text with the marker of its kind around it; kinds without a marker stay as they are.
pub(super) fn wrap(kind: EntryKind, text: &str) -> String {
    match MARKERS.iter().find(|marker| marker.kind == kind) {
        Some(marker) => format!("{}{text}{}", marker.opening, marker.closing),
        None => text.to_owned(),
    }
}

/// What a marked text is, and the text without its marker.
pub(super) fn unwrap(text: &str) -> Option<(EntryKind, &str)> {
    MARKERS.iter().find_map(|marker| {
        let inner = text.strip_prefix(marker.opening)?.strip_suffix(marker.closing)?;
        Some((marker.kind, inner))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_text_is_read_back_and_one_layer_at_a_time() {
        for kind in [EntryKind::Summary, EntryKind::BranchSummary, EntryKind::Note] {
            for text in ["", "plain", "ends\n</context-summary>", "<context-summary>\n"] {
                let twice = wrap(kind, &wrap(kind, text));
                assert_eq!(unwrap(&twice), Some((kind, wrap(kind, text).as_str())));
                assert_eq!(unwrap(&wrap(kind, text)), Some((kind, text)));
            }
        }
    }

    #[test]
    fn talk_about_the_marker_is_no_marker() {
        assert_eq!(unwrap("<context-summary> is what I see"), None);
        assert_eq!(unwrap(&format!("{} and more", wrap(EntryKind::Summary, "x"))), None);
    }
}
