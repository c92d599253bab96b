//! What is said between Nod and the process that reads documents: JSON lines, and the bytes of a document after its
//! request. Bounds are kept on both sides; neither side opens anything here.

use serde::{Deserialize, Serialize};

/// Which reader an answer came from: what broke one is tried again by another. The last part rises with each change of a
/// parser between two versions.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+1");
/// Longest request line, in bytes.
pub const MOST_REQUEST: usize = 4 * 1024;
/// Largest document, in bytes: Gmail's largest mail as it is written.
pub const MOST_BYTES: usize = 40 * 1024 * 1024;
/// Longest line of an answer, in bytes.
pub const MOST_LINE: usize = 64 * 1024;
/// Longest text of one block, in bytes: written as JSON it may be six times as long.
pub const MOST_TEXT: usize = 8 * 1024;

/// How a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Pages of a PDF file.
    Pdf,
    /// A Word document.
    Docx,
    /// HTML in UTF-8, such as a mail's body.
    Html,
    /// The same without marks, as calendars have it.
    Description,
    /// The same without marks and lists, as it stands below letters.
    Signature,
    /// A mail as it was sent.
    Mail,
    /// A mail that is being written.
    Draft,
}

/// One document that is to be read; its bytes follow the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// How.
    pub kind: Kind,
    /// What it is called; never believed.
    #[serde(default)]
    pub name: String,
    /// Bytes that follow.
    pub length: usize,
    /// Pages that are read.
    pub most_pages: usize,
    /// Bytes of text that are given back.
    pub most_bytes_out: usize,
    /// How long it may take. Half of it may be computing time.
    pub seconds: u64,
}

/// What a reader says of itself before it reads anything: what it tried and could not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: String,
    /// Taking more memory than it is given was refused.
    pub memory: bool,
    /// Opening a file was refused.
    pub files: bool,
    /// Opening a socket was refused.
    pub network: bool,
}

/// A piece of a document. Texts follow one another as they stand: line ends are in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "b", rename_all = "snake_case")]
pub enum Block {
    /// A heading.
    Heading {
        /// 1 for the highest.
        level: u8,
        /// Its words.
        text: String,
        /// Where it stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        page: Option<u32>,
    },
    /// Text.
    Text {
        /// Its words.
        text: String,
        /// Where it stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        page: Option<u32>,
    },
    /// A row of a table.
    Row {
        /// What its columns are called.
        head: Vec<String>,
        /// What it holds.
        cells: Vec<String>,
    },
    /// A named value, such as a mail's subject.
    Field {
        /// What it is called.
        name: String,
        /// What it is.
        text: String,
    },
}

impl Block {
    /// Bytes of its words.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Heading { text, .. } | Self::Text { text, .. } => text.len(),
            Self::Row { head, cells } => head.iter().chain(cells).map(String::len).sum(),
            Self::Field { name, text } => name.len() + text.len(),
        }
    }
}

/// How a document was read to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Pages that it has.
    #[serde(default)]
    pub pages: Option<usize>,
    /// What it calls itself.
    #[serde(default)]
    pub title: Option<String>,
    /// What was left out, and why.
    #[serde(default)]
    pub cut: Option<Cut>,
}

/// Why not all of a document was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Pages were left out.
    Pages,
    /// There is more text than was asked for.
    Size,
    /// There was no time for the rest.
    Time,
}

/// Why a document has no words for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// A password is needed.
    Locked,
    /// There are pages and no text.
    Scan,
    /// It is not what it claims to be, or is damaged.
    Broken,
    /// It holds nothing.
    Empty,
    /// It unpacks to too much.
    Large,
    /// It is of a kind that is not read.
    Unknown,
}

/// One line of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// The first one.
    Hello {
        /// See there.
        hello: Hello,
    },
    /// The last one of a document that was read.
    Done {
        /// See there.
        done: Done,
    },
    /// The last one of a document that cannot be read.
    Failed {
        /// Why.
        failed: Failure,
    },
    /// One of the lines before the last.
    Block(Block),
}
