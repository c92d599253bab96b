//! What a person reads in the pane before they have said anything.

/// What could be asked: what stands on the button, and what is then said.
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
