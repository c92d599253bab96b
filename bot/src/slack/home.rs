//! A user's home page: cards one below the other, as a view. Pure.

use nod_contract::card::Card;
use serde_json::{Value, json};

use super::{limits, render};

/// Returns the view. Cards that do not fit are counted at its end.
#[must_use]
pub(super) fn view(page: &[Card]) -> Value {
    let mut blocks: Vec<Value> = Vec::new();
    let mut shown = 0;
    for card in page {
        let more = render::blocks(card);
        // Room for the dividers, and for the line about the missing cards.
        if blocks.len() + more.len() + 2 > limits::VIEW_BLOCKS {
            break;
        }
        if shown > 0 {
            blocks.push(json!({"type": "divider"}));
        }
        blocks.extend(more);
        shown += 1;
    }
    if shown < page.len() {
        let left = format!("… ({} more)", page.len() - shown);
        blocks.push(json!({"type": "section", "text": {"type": "plain_text", "text": left}}));
    }
    make_action_ids_unique(&mut blocks);
    json!({"type": "home", "blocks": blocks})
}

/// The buttons of several cards are in one view, in which action ids must be unique.
fn make_action_ids_unique(blocks: &mut [Value]) {
    let elements = blocks.iter_mut().filter(|block| block["type"] == "actions");
    let buttons = elements.flat_map(|block| block["elements"].as_array_mut().into_iter().flatten());
    for (at, button) in buttons.enumerate() {
        if let Some(id) = button["action_id"].as_str().map(|id| format!("{id}:{at}")) {
            button["action_id"] = id.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use nod_contract::card::{OnClick, Style};

    use super::*;

    #[test]
    fn a_page_of_many_cards_stays_a_view() {
        let card = Card::from_markdown("text").with_title("Title").with_button(
            "Open",
            Style::Plain,
            OnClick::Link("https://a.test".into()),
        );
        let view = view(&vec![card; 80]);
        let blocks = view["blocks"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert!(blocks.len() <= limits::VIEW_BLOCKS, "{}", blocks.len());
        let last = blocks.last().map(|block| block["text"]["text"].to_string());
        assert!(last.is_some_and(|text| text.contains("more)")));
        let mut ids: Vec<String> = blocks
            .iter()
            .flat_map(|block| block["elements"].as_array().into_iter().flatten())
            .filter_map(|button| button["action_id"].as_str().map(str::to_owned))
            .collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }
}
