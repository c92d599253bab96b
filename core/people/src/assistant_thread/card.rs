//! What a person reads in the assistant thread before they write anything.

/// Returns the suggested prompts: the button's label, and the message that it sends.
pub(super) fn prompts(viewing: bool) -> Vec<(String, String)> {
    let channel: &[(&str, &str)] = match viewing {
        true => &[("Summarise this channel", "Summarise the channel I'm looking at.")],
        false => &[],
    };
    let always = [
        ("What's new in my email?", "What's new in my email?"),
        ("Write an email", "Help me write an email. Ask me who it's for and what it's about."),
        ("What can you do?", "help"),
    ];
    let owned = |(title, message): &(&str, &str)| ((*title).to_owned(), (*message).to_owned());
    channel.iter().chain(&always).map(owned).collect()
}
