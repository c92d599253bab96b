//! Detects answers in which a model claims that Nod did something. Such a claim needs a receipt.

/// Whether the text says, in first person or passive, that something was done, or looks like a receipt of Nod's.
#[must_use]
pub(crate) fn has_action_claim(text: &str) -> bool {
    if text.lines().any(|line| is_receipt_like(&normalized_words(line))) {
        return true;
    }
    let words = normalized_words(text);
    words.iter().enumerate().any(|(at, word)| {
        let nothing =
            words.get(at + 1).is_some_and(|next| ["nothing", "no", "none"].contains(&next.as_str()));
        let sent = is_action_verb(word) && is_claimed(&words[at.saturating_sub(4)..at]);
        !nothing && (sent || (is_calendar_verb(word) && ends_with_first_person(&words[..at])))
    })
}

fn normalized_words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('’', "'");
    let all = text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty());
    all.map(str::to_owned).collect()
}

/// Whether a line looks like a card after a decision.
fn is_receipt_like(line: &[String]) -> bool {
    let things = ["email", "mail", "message", "reply", "invitation", "event", "draft"];
    match line {
        [first, ..] if first == "sent" => true,
        [first, second, ..] if first == "approved" => second == "by",
        [first, second, ..] => {
            things.contains(&first.as_str()) && (second == "sent" || is_calendar_verb(second))
        }
        _ => false,
    }
}

/// Verbs for calendar changes.
fn is_calendar_verb(word: &str) -> bool {
    ["invited", "booked", "scheduled", "cancelled", "canceled", "created", "accepted", "declined"]
        .contains(&word)
}

/// "I (have) (just)".
fn ends_with_first_person(before: &[String]) -> bool {
    let filler = |word: &&String| ["have", "just", "also", "now", "already"].contains(&word.as_str());
    before.iter().rev().find(|word| !filler(word)).is_some_and(|word| ["i", "i've"].contains(&word.as_str()))
}

fn is_action_verb(word: &str) -> bool {
    ["sent", "emailed", "mailed", "forwarded"].contains(&word)
}

/// "I (have) (just) sent", "the mail was/has been sent", but not "nothing was sent", "Bo sent", "I have not sent".
fn is_claimed(before: &[String]) -> bool {
    let has = |words: &[&str]| before.iter().any(|w| words.contains(&w.as_str()));
    if has(&["not", "never", "nothing", "no", "didn't", "haven't", "wasn't", "isn't", "hasn't", "be", "once"])
    {
        return false;
    }
    let mine = has(&["i", "i've"]);
    let passive = has(&["was", "been", "is"]) && has(&["mail", "email", "message", "it", "reply"]);
    mine || passive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_claims_are_detected() {
        let table = [
            ("I've sent the mail to Bo.", true),
            ("I have just emailed Cho", true),
            ("Done: your email was sent.", true),
            ("It has been sent!", true),
            ("# Email sent · rev 1 · abcdef", true),
            ("So:\n**Approved by Ana Silva** 09:30 WET → done", true),
            ("Sent!", true),
            ("I've just invited Bo and Cho.", true),
            ("I have cancelled it", true),
            ("I see that Bo cancelled it.", false),
            ("I have not invited Bo", false),
            ("The mail that Bo sent is about lunch.", false),
            ("Nothing was sent.", false),
            ("I did not send it, so nothing was sent.", false),
            ("Nobody answered, so I sent nothing.", false),
            ("I sent no mail.", false),
            ("Bo sent you three mails yesterday", false),
            ("I have not sent it yet", false),
            ("It will be sent once you approve.", false),
            ("Your latest mail: “Lunch?”", false),
        ];
        for (text, wanted) in table {
            assert_eq!(has_action_claim(text), wanted, "{text}");
        }
    }
}
