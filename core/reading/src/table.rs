//! Reads lines of separated values (CSV, TSV). The first line names the columns.

use csv::{ReaderBuilder, StringRecord};
use nod_contract::wire::{Cut, Done, Failure};

use crate::sink::Sink;

pub(crate) fn read(bytes: &[u8], sink: &mut Sink<'_>) -> Result<Done, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| Failure::Broken)?;
    // A spreadsheet can state its separator in a line of its own.
    let text = match text.split_once('\n') {
        Some((first, rows)) if first.trim_start_matches('\u{FEFF}').starts_with("sep=") => rows,
        _ => text,
    };
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator(text))
        .from_reader(text.as_bytes());
    let (mut head, mut has_rows, mut cut) = (Vec::new(), false, None);
    for record in reader.records() {
        let cells = cells(&record.map_err(|_| Failure::Broken)?);
        if cells.iter().all(String::is_empty) {
            continue;
        }
        if head.is_empty() {
            head = cells;
            continue;
        }
        has_rows = true;
        if !sink.row(&head, cells) {
            cut = Some(Cut::Size);
            break;
        }
        if sink.is_late() {
            cut = Some(Cut::Time);
            break;
        }
    }
    if head.is_empty() {
        return Err(Failure::Empty);
    }
    if !has_rows && !sink.row(&[], head) {
        cut = Some(Cut::Size);
    }
    Ok(Done { cut, ..Done::default() })
}

/// Returns the cells, each as one line.
fn cells(record: &StringRecord) -> Vec<String> {
    record.iter().map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Returns what separates the names of the columns. Spreadsheets write a semicolon where the comma is decimal.
fn separator(text: &str) -> u8 {
    let mut is_quoted = false;
    let mut counts = [(b'\t', 0), (b';', 0), (b',', 0)];
    for byte in text.trim_start().bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => break,
            _ if is_quoted => {}
            _ => counts.iter_mut().filter(|(mark, _)| *mark == byte).for_each(|(_, count)| *count += 1),
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(b',', |(mark, _)| mark)
}

#[cfg(test)]
mod tests {
    use nod_contract::wire::Kind;

    use super::*;
    use crate::tests::{blocks, outline};

    #[test]
    fn rows_are_read_with_the_names_of_their_columns() {
        for (file, rows) in [
            ("Month,Sum\nMay,120\n", &["Month=May|Sum=120"][..]),
            ("\u{FEFF}Month;Sum\r\nMay;1,5\r\n", &["Month=May|Sum=1,5"]),
            ("Month\tSum\nMay\t1,5\n", &["Month=May|Sum=1,5"]),
            ("\"a, b\";c\n1;2", &["a, b=1|c=2"]),
            (
                "Name,Text\nBo,\"He said \"\"no\"\",\nthen left\"\n",
                &["Name=Bo|Text=He said \"no\", then left"],
            ),
            ("\n,\nMonth,Sum\n\nMay,120,late,paid\nJune\n", &["Month=May|Sum=120|=late|=paid", "Month=June"]),
            ("Month,Sum\n", &["=Month|=Sum"]),
            ("sep=;\r\nMonth;Sum\r\nMay;1,5\r\n", &["Month=May|Sum=1,5"]),
            ("only words", &["=only words"]),
        ] {
            assert_eq!(outline(Kind::Table, file.as_bytes()).unwrap(), rows, "{file:?}");
        }
    }

    #[test]
    fn table_without_text_gives_a_reason() {
        for (file, why) in
            [(&b",\n,,\n"[..], Failure::Empty), (b"", Failure::Empty), (b"a,\xFF", Failure::Broken)]
        {
            assert_eq!(outline(Kind::Table, file), Err(why));
        }
    }

    #[test]
    fn large_rows_are_text_and_long_tables_are_cut() {
        let wide = format!("Name,Text\nBo,{}\n", "word ".repeat(2_000));
        let read = outline(Kind::Table, wide.as_bytes()).unwrap();
        assert!(read[0].starts_with("Bo; word word") && read.concat().len() > 9_000);
        let long = format!("a,b\n{}", "1,2\n".repeat(10_000));
        let (rows, cut) = blocks(Kind::Table, long.as_bytes()).unwrap();
        assert_eq!((rows.len(), cut), (1_250, Some(Cut::Size)));
    }
}
