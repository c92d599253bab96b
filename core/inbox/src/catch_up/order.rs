//! Which channels are read, and in which order: where somebody most likely waits for an answer comes first.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::sql::KnownChannel;
use nod_contract::chat::ListedChannel;

/// A channel that is to be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToRead {
    pub(super) channel: String,
    pub(super) threads: Vec<String>,
}

/// Returns the channels to read: DM channels, then those with the latest conversations, then those in which nobody has
/// addressed Nod. A channel without new posts is read only if it has conversations, for the edits of their messages.
pub(super) fn in_order(listed: Vec<ListedChannel>, known: Vec<KnownChannel>) -> Vec<ToRead> {
    let mut known: HashMap<String, KnownChannel> =
        known.into_iter().map(|known| (known.channel.clone(), known)).collect();
    let mut ranked = Vec::new();
    for ListedChannel { channel, is_dm, may_have_posts, threads } in listed {
        let known = known.remove(&channel);
        let has_conversations = known.as_ref().is_some_and(|known| known.has_conversations);
        let is_dm = is_dm || known.as_ref().is_some_and(|known| known.is_dm);
        if may_have_posts || has_conversations {
            let last = known.and_then(|known| known.last_thread_at);
            ranked.push(((!is_dm, !has_conversations, Reverse(last)), ToRead { channel, threads }));
        }
    }
    // DM channels that the platform does not list.
    ranked.extend(known.into_values().filter(|known| known.is_dm).map(|known| {
        let rank = (false, !known.has_conversations, Reverse(known.last_thread_at));
        (rank, ToRead { channel: known.channel, threads: Vec::new() })
    }));
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, channel)| channel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use nod_contract::clock::Timestamp;

    fn list_channel(channel: &str, is_dm: bool, may_have_posts: bool) -> ListedChannel {
        ListedChannel { channel: channel.to_owned(), is_dm, may_have_posts, threads: Vec::new() }
    }

    fn know_channel(channel: &str, is_dm: bool, hours: Option<i64>) -> KnownChannel {
        KnownChannel {
            channel: channel.to_owned(),
            is_dm,
            has_conversations: hours.is_some(),
            last_thread_at: hours.map(|hours| Timestamp::default() + TimeDelta::hours(hours)),
        }
    }

    #[test]
    fn who_waits_for_an_answer_comes_first_and_what_is_quiet_is_not_read() {
        let all = in_order(
            vec![
                list_channel("never addressed", false, true),
                list_channel("long ago", false, true),
                list_channel("quiet", false, false),
                list_channel("quiet, with conversations", false, false),
                list_channel("of late", false, true),
                list_channel("quiet, without one", false, false),
                list_channel("new dm", true, true),
            ],
            vec![
                know_channel("long ago", false, Some(1)),
                know_channel("quiet, with conversations", false, Some(2)),
                know_channel("of late", false, Some(3)),
                know_channel("quiet, without one", false, None),
                know_channel("dm", true, Some(1)),
            ],
        );
        let order: Vec<&str> = all.iter().map(|channel| channel.channel.as_str()).collect();
        assert_eq!(
            order,
            ["dm", "new dm", "of late", "quiet, with conversations", "long ago", "never addressed"]
        );
    }
}
