//! Documents and mails that are made to harm whoever reads them. A mail comes of a seed: the same one has the same bytes.

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
pub use pdf::{pdf_of, pdf_that_eats_memory, pdf_without_end};

/// What chance there is in a mail.
type Dice = ChaCha8Rng;

/// What harms in a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// HTML with marks in marks.
    Nested,
    /// HTML with too much in its marks.
    Attributes,
    /// HTML with tables in tables.
    Tables,
    /// HTML with letters by name.
    Entities,
    /// Ten megabytes of HTML.
    Large,
    /// A PDF file of objects that take all memory.
    ObjectStreams,
    /// A PDF file that takes all time.
    OpenArrays,
    /// A PDF file whose pages are in themselves.
    PageLoops,
    /// A PDF file that unpacks to too much.
    PackedPages,
    /// A Word document that does.
    WordBomb,
    /// Parts in parts.
    Parts,
    /// A mail that came as a file.
    Mail,
    /// Names of whoever wrote it.
    Sender,
    /// Thousands who got it too.
    Recipients,
    /// A subject.
    Subject,
    /// Names of files.
    FileNames,
    /// Bytes that are no text.
    Bytes,
}

/// How many of a hundred mails are of a class. One that takes all time costs five seconds of computing, and some of those
/// with tables and marks do: they are few, so that a hundred take about a minute.
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

/// A mail that is made to harm.
#[derive(Debug, Clone)]
pub struct Mail {
    /// How.
    pub class: Class,
    /// As it is sent.
    pub raw: Vec<u8>,
    /// A file that comes with it.
    pub file: Option<String>,
}

/// So many mails to somebody, in an order that the seed makes.
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
        heads.above_file(name, bytes)
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
            letters::with_mail(dice, &heads, "mail.eml")
        }
        Class::Sender => {
            heads.from = names::sender(dice);
            heads.above("text/plain; charset=utf-8", names::tricks(dice, 20_000).as_bytes())
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
