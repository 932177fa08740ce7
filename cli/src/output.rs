//! Printing: reports and sessions to standard output, remarks to standard error.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthChar as _;

use crate::failure::Failure;
use crate::harmless;

/// Where a report goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    Output,
    /// Standard error: standard output is taken by the session.
    Aside,
}

/// Prints a report. A reader that went away, as `head` does, is no failure.
pub(crate) fn print(text: &str, to: To) -> Result<(), Failure> {
    let printed = match to {
        To::Output => write_all(&mut io::stdout().lock(), text.as_bytes()),
        To::Aside => write_all(&mut io::stderr().lock(), text.as_bytes()),
    };
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error, "the report")),
        _ => Ok(()),
    }
}

/// Writes a session to standard output. Here a reader that went away is a failure: it has half a session.
pub(crate) fn print_session(bytes: &[u8]) -> Result<(), Failure> {
    write_all(&mut io::stdout().lock(), bytes).map_err(|error| failed(error, "the session to standard output"))
}

fn failed(error: io::Error, what: &str) -> Failure {
    Failure::File(anyhow::Error::new(error).context(format!("cannot write {what}")))
}

fn write_all(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// Says something that is worth knowing and stops nothing.
pub(crate) fn warn(text: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr(), "ctxe: {}", harmless::text(text));
}

/// A table without frames; the named columns are numbers and stand to the right. On a terminal no line is longer than
/// the terminal is wide.
pub(crate) fn table(header: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(Cell::new));
    table.add_rows(rows);
    for column in right {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let width = table.width().map(usize::from);
    let lines: Vec<String> = table.lines().map(|line| fit(line.trim_end(), width)).collect();
    lines.join("\n")
}

/// As much of a line as fits so many columns.
fn fit(line: &str, width: Option<usize>) -> String {
    let columns = |text: &str| text.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
    let Some(width) = width.filter(|width| columns(line) > *width) else {
        return line.to_owned();
    };
    let mut left = width.saturating_sub(1);
    let fits = |c: &char| {
        let taken = c.width().unwrap_or(0);
        let fits = taken <= left;
        left = left.saturating_sub(taken);
        fits
    };
    let mut cut: String = line.chars().take_while(fits).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_the_width_in_columns() {
        assert_eq!(fit("abcdef", None), "abcdef");
        assert_eq!(fit("abcdef", Some(6)), "abcdef");
        assert_eq!(fit("abcdef", Some(5)), "abcd…");
        assert_eq!(fit("日本語", Some(5)), "日本…");
        assert_eq!(fit("日本語", Some(4)), "日…");
        assert_eq!(fit("abc", Some(0)), "…");
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let rows = vec![vec!["a".to_owned(), "1".to_owned()], vec!["bcd".to_owned(), "1,000".to_owned()]];
        assert_eq!(table(&["what", "tokens"], &[1], rows), " what  tokens\n a          1\n bcd    1,000");
    }
}
