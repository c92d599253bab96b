//! The state of a vote, as a pure function of the votes.

use super::Voter;

/// The state of a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// At least one voter has not answered.
    Open,
    /// All have answered, and no time suits all.
    NoneSuits,
    /// The earliest time that suits everybody.
    Agreed(usize),
}

/// Computes the state. Choices are ordered by time; the index after the last means "none of these".
pub(super) fn stand(voters: &[Voter], choices: usize) -> Stand {
    if voters.is_empty() || voters.iter().any(|voter| voter.choices.is_empty()) {
        return Stand::Open;
    }
    let suits_all = |choice: &usize| voters.iter().all(|voter| voter.choices.contains(choice));
    (0..choices).find(suits_all).map_or(Stand::NoneSuits, Stand::Agreed)
}

/// Returns the names of the voters whom a choice suits.
pub(super) fn who(voters: &[Voter], choice: usize) -> Vec<&str> {
    voters.iter().filter(|voter| voter.choices.contains(&choice)).map(|voter| voter.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nod_contract::ids::PersonId;

    fn stands(votes: &[&[usize]]) -> Stand {
        let voter = |choices: &&[usize]| Voter {
            person: PersonId(uuid::Uuid::nil()),
            name: String::new(),
            address: String::new(),
            choices: choices.to_vec(),
        };
        stand(&votes.iter().map(voter).collect::<Vec<_>>(), 3)
    }

    #[test]
    fn the_earliest_that_suits_everybody_is_taken_once_everybody_answered() {
        assert_eq!(stands(&[&[1], &[]]), Stand::Open);
        assert_eq!(stands(&[&[2, 1], &[1, 2], &[0, 1, 2]]), Stand::Agreed(1));
        assert_eq!(stands(&[&[0], &[1]]), Stand::NoneSuits);
        // "None of these" is not a time, even if all voters choose it.
        assert_eq!(stands(&[&[3], &[3]]), Stand::NoneSuits);
        assert_eq!(stands(&[]), Stand::Open);
    }
}
