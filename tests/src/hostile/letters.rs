//! Mails as they are sent.

/// So many mails, each in the one before.
#[must_use]
pub fn nested_mail(depth: usize) -> Vec<u8> {
    format!("{}Subject: inmost\r\n\r\nx", "Content-Type: message/rfc822\r\n\r\n".repeat(depth)).into_bytes()
}

/// A mail of one person to another, in a thread, with this as its HTML.
#[must_use]
pub fn html_mail(to: &str, from: &str, id: &str, answers: &str, html: &str) -> Vec<u8> {
    let lines = [
        format!("From: {from}"),
        format!("To: {to}"),
        "Subject: Plan".to_owned(),
        format!("Message-ID: <{id}>"),
        format!("In-Reply-To: <{answers}>"),
        format!("References: <{answers}>"),
        "Date: Fri, 6 Mar 2026 09:00:00 +0000".to_owned(),
        "MIME-Version: 1.0".to_owned(),
        "Content-Type: text/html; charset=utf-8".to_owned(),
        String::new(),
        html.to_owned(),
    ];
    lines.join("\r\n").into_bytes()
}
