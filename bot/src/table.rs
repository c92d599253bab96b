//! Formats a table as lines of equal columns, for a fixed-width block.

#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(crate) fn cell(&mut self, text: String) {
        if let Some(row) = self.rows.last_mut() {
            row.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }

    /// Formats the lines; the first row is the head.
    pub(crate) fn to_aligned_text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(wide).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| format_row(row, &widths)).collect();
        if lines.len() > 1 {
            let rule = widths.iter().map(|w| "─".repeat(*w)).collect::<Vec<_>>().join("  ");
            lines.insert(1, rule);
        }
        lines.join("\n")
    }
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

fn format_row(row: &[String], widths: &[usize]) -> String {
    let padded = |(column, wide): (usize, &usize)| {
        let cell = row.get(column).map_or("", String::as_str);
        format!("{cell}{}", " ".repeat(wide.saturating_sub(width(cell))))
    };
    widths.iter().enumerate().map(padded).collect::<Vec<_>>().join("  ").trim_end().to_owned()
}
