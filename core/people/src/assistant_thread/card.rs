//! What a person reads in the assistant thread before they write anything.

/// Returns the suggested prompts: the button's label, and the message that it sends.
pub(super) fn prompts(viewing: bool) -> Vec<(String, String)> {
    let channel: &[(&str, &str)] = match viewing {
        true => &[("Sum up this channel", "Summarise the channel I am looking at.")],
        false => &[],
    };
    let always = [
        ("What is new in my mail?", "What is new in my mail?"),
        ("Write a mail", "Help me write a mail. Ask me to whom and about what."),
        ("What can you do?", "help"),
    ];
    let owned = |(title, message): &(&str, &str)| ((*title).to_owned(), (*message).to_owned());
    channel.iter().chain(&always).map(owned).collect()
}
