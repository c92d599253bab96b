//! Documents and mails that are made to harm their reader. A mail is generated from a seed: equal seeds give equal
//! bytes.

mod docx;
mod html;
mod letters;
mod names;
mod pdf;

use std::iter::repeat_n;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

pub use html::html_that_eats_memory;
use letters::Heads;
pub use letters::{html_mail, nested_mail};
pub use pdf::{locked_pdf, pdf_of, pdf_that_eats_memory, pdf_without_end};

/// The random numbers of a mail.
type Dice = ChaCha8Rng;

/// What is harmful in a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// HTML with nested tags.
    Nested,
    /// HTML with too much in its attributes.
    Attributes,
    /// HTML with nested tables.
    Tables,
    /// HTML with character references.
    Entities,
    /// Ten megabytes of HTML.
    Large,
    /// A PDF file of objects that exhaust memory.
    ObjectStreams,
    /// A PDF file that takes unlimited time.
    OpenArrays,
    /// A PDF file whose page tree contains itself.
    PageLoops,
    /// A PDF file that unpacks to far more than its size.
    PackedPages,
    /// A Word document that does the same.
    WordBomb,
    /// Nested parts.
    Parts,
    /// An attached mail.
    Mail,
    /// The sender's name.
    Sender,
    /// Thousands of recipients.
    Recipients,
    /// The subject.
    Subject,
    /// The names of files.
    FileNames,
    /// Bytes that are not valid text.
    Bytes,
}

/// The number of mails of each class in a hundred. One that takes unlimited time costs five seconds of computing, and
/// so do some with tables and tags: there are few of them, so a hundred mails take about a minute.
const HUNDRED: [(Class, usize); 17] = [
    (Class::Nested, 8),
    (Class::Attributes, 7),
    (Class::Tables, 7),
    (Class::Entities, 7),
    (Class::Large, 3),
    (Class::ObjectStreams, 6),
    (Class::OpenArrays, 2),
    (Class::PageLoops, 6),
    (Class::PackedPages, 6),
    (Class::WordBomb, 6),
    (Class::Parts, 4),
    (Class::Mail, 4),
    (Class::Sender, 8),
    (Class::Recipients, 4),
    (Class::Subject, 8),
    (Class::FileNames, 6),
    (Class::Bytes, 8),
];

/// A mail that is made to harm its reader.
#[derive(Debug, Clone)]
pub struct Mail {
    /// In which way it is harmful.
    pub class: Class,
    /// The mail as raw MIME.
    pub raw: Vec<u8>,
    /// The name of a file that is attached to it.
    pub file: Option<String>,
}

/// Generates `count` mails to this recipient, in an order that follows from the seed.
pub fn mails(count: usize, to: &str, seed: u64) -> impl Iterator<Item = Mail> {
    let hundred = HUNDRED.iter().flat_map(|(class, share)| repeat_n(*class, *share));
    let mut classes: Vec<Class> = hundred.cycle().take(count.next_multiple_of(100)).collect();
    classes.shuffle(&mut Dice::seed_from_u64(seed));
    (1..).zip(classes).take(count).map(move |(number, class)| mail(class, to, number, seed))
}

fn mail(class: Class, to: &str, number: u64, seed: u64) -> Mail {
    let dice = &mut Dice::seed_from_u64(seed.wrapping_add(number));
    let mut heads = Heads::new(to, number);
    let mut file = None;
    let mut with_file = |name: &str, bytes: &[u8], heads: &Heads| {
        file = Some(name.to_owned());
        heads.mail_with_file(name, bytes)
    };
    let raw = match class {
        Class::Nested => heads.above_html(&html::nested(dice)),
        Class::Attributes => heads.above_html(&html::attributes(dice)),
        Class::Tables => heads.above_html(&html::tables(dice)),
        Class::Entities => heads.above_html(&html::entities(dice)),
        Class::Large => heads.above_html(&html::large(dice)),
        Class::ObjectStreams => with_file("offer.pdf", &pdf::object_streams(dice), &heads),
        Class::OpenArrays => with_file("offer.pdf", &pdf::open_arrays(dice), &heads),
        Class::PageLoops => with_file("offer.pdf", &pdf::page_loops(dice), &heads),
        Class::PackedPages => with_file("offer.pdf", &pdf::packed_pages(dice), &heads),
        Class::WordBomb => with_file("offer.docx", &docx::bomb(dice), &heads),
        Class::Parts => letters::parts(dice, &heads),
        Class::Mail => {
            file = Some("mail.eml".to_owned());
            letters::with_malformed_attached_mail(dice, &heads, "mail.eml")
        }
        Class::Sender => {
            heads.from = names::sender(dice);
            heads.mail_with_body("text/plain; charset=utf-8", names::tricks(dice, 20_000).as_bytes())
        }
        Class::Recipients => {
            heads.to = names::recipients(dice);
            heads.above_html("<p>Hello, all of you.</p>")
        }
        Class::Subject => {
            heads.subject = names::subject(dice);
            heads.above_html("<p>Hello.</p>")
        }
        Class::FileNames => {
            file = Some("plan.txt".to_owned());
            letters::with_named_files(dice, &heads, "plan.txt")
        }
        Class::Bytes => letters::bytes(dice, &heads),
    };
    Mail { class, raw, file }
}
