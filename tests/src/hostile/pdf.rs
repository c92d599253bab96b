//! Hostile PDF files.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rand::Rng;

use super::Dice;

/// A small file that exhausts memory: 2,000 objects that all are one array of 500,000 elements.
#[must_use]
pub fn pdf_that_eats_memory() -> Vec<u8> {
    packed_objects(2_000, &format!("[{}]", "0 ".repeat(500_000)))
}

/// 100,000 objects that all are one array that is never closed: days of computing.
#[must_use]
pub fn pdf_without_end() -> Vec<u8> {
    packed_objects(100_000, &format!("[{}", "0 ".repeat(200_000)))
}

/// One array in thousands of objects.
pub(super) fn object_streams(dice: &mut Dice) -> Vec<u8> {
    let (objects, elements) = (dice.random_range(500..3_000), dice.random_range(200_000..500_000));
    packed_objects(objects, &format!("[{}]", "0 ".repeat(elements)))
}

/// The same with arrays that are not closed: its reader computes until its time limit.
pub(super) fn open_arrays(dice: &mut Dice) -> Vec<u8> {
    let (objects, elements) = (dice.random_range(50_000..100_000), dice.random_range(100_000..200_000));
    packed_objects(objects, &format!("[{}", "0 ".repeat(elements)))
}

/// Page trees that contain themselves, or declare more pages than exist.
pub(super) fn page_loops(dice: &mut Dice) -> Vec<u8> {
    let count = dice.random_range(-1_000_000_000..1_000_000_000);
    let kids = "2 0 R 3 0 R ".repeat(dice.random_range(1..2_000));
    let page = match dice.random_range(0..3) {
        0 => "<< /Type /Page /Parent 3 0 R /Contents 3 0 R /Resources 3 0 R >>",
        1 => "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 3 0 R] /Count 2 >>",
        _ => "3 0 R",
    };
    pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {count} /Parent 2 0 R >>"),
        page.to_owned(),
    ])
}

/// Pages that unpack to a thousand times their size.
pub(super) fn packed_pages(dice: &mut Dice) -> Vec<u8> {
    let words = ["(x) Tj ", "q ", "[[[[ ", "        "][dice.random_range(0..4)];
    let (size, pages) = (dice.random_range(1..12) << 20, dice.random_range(1..20));
    let content = zlib(words.repeat(size / words.len()).as_bytes());
    let hex: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
    let kids = "3 0 R ".repeat(pages);
    pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {pages} >>"),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << >> >>".to_owned(),
        format!(
            "<< /Length {} /Filter [/ASCIIHexDecode /FlateDecode] >>\nstream\n{hex}>\nendstream",
            hex.len() + 1
        ),
    ])
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).and_then(|()| packed.finish()).unwrap_or_else(|e| panic!("{e}"))
}

/// A PDF file with an object stream in which all `count` objects are the same.
fn packed_objects(count: usize, object: &str) -> Vec<u8> {
    let index: String = (0..count).map(|n| format!("{} 0 ", n + 10)).collect();
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [] /Count 0 >>".to_owned(),
        format!(
            "<< /Type /ObjStm /N {count} /First {} /Length {} >>\nstream\n{index}{object}\nendstream",
            index.len(),
            index.len() + object.len() + 1,
        ),
    ];
    pdf(&objects)
}

/// A PDF file that is locked with a password.
#[must_use]
pub fn locked_pdf() -> Vec<u8> {
    let key = "00".repeat(32);
    let lock = format!("<< /Filter /Standard /V 1 /R 2 /P -4 /O <{key}> /U <{key}> >>");
    let objects = page_objects("The offer ends on Friday.").into_iter().chain([lock]).collect::<Vec<_>>();
    pdf_with(&objects, "/Encrypt 6 0 R /ID [<00> <00>]")
}

/// A PDF file of one page with this text.
#[must_use]
pub fn pdf_of(words: &str) -> Vec<u8> {
    pdf(&page_objects(words))
}

fn page_objects(words: &str) -> [String; 5] {
    let content = format!("BT /F1 12 Tf 72 720 Td ({words}) Tj ET");
    [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ]
}

fn pdf(objects: &[String]) -> Vec<u8> {
    pdf_with(objects, "")
}

fn pdf_with(objects: &[String], trailer: &str) -> Vec<u8> {
    let (mut file, mut places) = (String::from("%PDF-1.5\n"), String::new());
    for (at, object) in objects.iter().enumerate() {
        places.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let (table, size) = (file.len(), objects.len() + 1);
    file.push_str(&format!("xref\n0 {size}\n0000000000 65535 f \n{places}"));
    file.push_str(&format!("trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{table}\n%%EOF\n"));
    file.into_bytes()
}
