//! The protocol between Nod and the process that reads documents: JSON lines, and the bytes of a document after its
//! request. Both sides enforce the limits; neither opens a file or a socket here.

use serde::{Deserialize, Serialize};

/// The reader's version. A document that made one version fail is tried again with another. The last part is
/// incremented when a parser changes between two releases.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+2");
/// The longest request line, in bytes.
pub const MAX_REQUEST_BYTES: usize = 4 * 1024;
/// The largest document, in bytes: Gmail's largest mail in its encoded form.
pub const MAX_BYTES: usize = 40 * 1024 * 1024;
/// The longest line of an answer, in bytes.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
/// The longest text of one block, in bytes. As JSON it can be six times as long.
pub const MAX_TEXT_BYTES: usize = 8 * 1024;

/// How to read a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Pages of a PDF file.
    Pdf,
    /// A Word document.
    Docx,
    /// HTML in UTF-8, such as a mail's body.
    Html,
    /// An HTML file in UTF-8: its headings, text and tables.
    HtmlFile,
    /// Markdown in UTF-8.
    Markdown,
    /// Lines of separated values in UTF-8, such as CSV. The first line names the columns.
    Table,
    /// HTML of a calendar description, converted without emphasis marks.
    Description,
    /// HTML of a mail signature, converted without emphasis and list marks.
    Signature,
    /// A mail as it was sent.
    Mail,
    /// A mail draft.
    Draft,
}

impl Kind {
    /// Returns whether it is a file as people give it, and no part of a mail or an event.
    #[must_use]
    pub fn is_file(self) -> bool {
        matches!(self, Self::Pdf | Self::Docx | Self::HtmlFile | Self::Markdown | Self::Table)
    }
}

/// A request to read one document; its bytes follow the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// How to read it.
    pub kind: Kind,
    /// The document's name; never trusted.
    #[serde(default)]
    pub name: String,
    /// The number of bytes that follow.
    pub length: usize,
    /// The maximum number of pages to read.
    pub most_pages: usize,
    /// The maximum number of bytes of text to return.
    pub most_bytes_out: usize,
    /// The time limit in seconds. Half of it can be CPU time.
    pub seconds: u64,
}

/// What a reader reports before it reads anything: which forbidden operations it tried, and whether they failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: String,
    /// Allocating more memory than its limit failed.
    pub memory: bool,
    /// Opening a file was denied.
    pub files: bool,
    /// Opening a socket was denied.
    pub network: bool,
}

/// A piece of a document. Texts are concatenated unchanged: they contain their line ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "b", rename_all = "snake_case")]
pub enum Block {
    /// A heading.
    Heading {
        /// 1 for the top level.
        level: u8,
        /// Its text.
        text: String,
        /// The page that it is on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        page: Option<u32>,
    },
    /// Text.
    Text {
        /// The text itself.
        text: String,
        /// The page that it is on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        page: Option<u32>,
    },
    /// A row of a table.
    Row {
        /// The names of the columns.
        head: Vec<String>,
        /// The values of the columns.
        cells: Vec<String>,
    },
    /// A named value, such as a mail's subject.
    Field {
        /// Its name.
        name: String,
        /// Its value.
        text: String,
    },
}

impl Block {
    /// Returns the number of bytes of its text. What can be tiny counts for more, because as JSON it is longer.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Text { text, .. } => text.len(),
            Self::Heading { text, .. } => text.len() + 8,
            Self::Row { head, cells } => {
                head.iter().chain(cells).map(|text| text.len() + 1).sum::<usize>() + 8
            }
            Self::Field { name, text } => name.len() + text.len(),
        }
    }
}

/// The result of reading a document to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The number of pages in the document.
    #[serde(default)]
    pub pages: Option<usize>,
    /// The document's own title.
    #[serde(default)]
    pub title: Option<String>,
    /// Why something was left out, if it was.
    #[serde(default)]
    pub cut: Option<Cut>,
}

/// Why a document was read only in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Pages were left out.
    Pages,
    /// The text is longer than requested.
    Size,
    /// The time limit was reached.
    Time,
}

/// Why no text can be read from a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// A password is required.
    Locked,
    /// It has pages, but no text.
    Scan,
    /// It is damaged, or not of the type that it claims.
    Broken,
    /// Its end is missing.
    Truncated,
    /// It is empty.
    Empty,
    /// It decompresses to too much data.
    Large,
    /// Its type is not supported.
    Unknown,
}

/// One line of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// The first one.
    Hello {
        /// What the reader reports.
        hello: Hello,
    },
    /// The last one, if the document was read.
    Done {
        /// The result.
        done: Done,
    },
    /// The last one, if the document cannot be read.
    Failed {
        /// The reason.
        failed: Failure,
    },
    /// One of the lines before the last.
    Block(Block),
}
