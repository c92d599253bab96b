//! Does a model's answer claim that Nod did something? Then there must be a receipt.

/// Whether the text says, in the first person or the passive, that something went out.
#[must_use]
pub(crate) fn claims_a_deed(text: &str) -> bool {
    let words: Vec<String> = text
        .to_lowercase()
        .replace('’', "'")
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect();
    words.iter().enumerate().any(|(at, word)| {
        let nothing =
            words.get(at + 1).is_some_and(|next| ["nothing", "no", "none"].contains(&next.as_str()));
        is_deed(word) && !nothing && claimed(&words[at.saturating_sub(4)..at])
    })
}

fn is_deed(word: &str) -> bool {
    ["sent", "emailed", "mailed", "forwarded"].contains(&word)
}

/// "I (have) (just) sent", "the mail was/has been sent", but not "nothing was sent", "Bo sent", "I have not sent".
fn claimed(before: &[String]) -> bool {
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
    fn a_claim_of_a_deed_is_heard() {
        let table = [
            ("I've sent the mail to Bo.", true),
            ("I have just emailed Cho", true),
            ("Done: your email was sent.", true),
            ("It has been sent!", true),
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
            assert_eq!(claims_a_deed(text), wanted, "{text}");
        }
    }
}
