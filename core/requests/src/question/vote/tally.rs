//! The state of a vote, as a pure function of the votes.

use super::Voter;

/// The state of a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VoteStanding {
    /// At least one voter has not answered.
    Open,
    /// All have answered, and no time suits all.
    NoCommonTime,
    /// The earliest time that suits everybody.
    Agreed(usize),
}

/// Computes the state. Choices are ordered by time; the index after the last means "none of these".
pub(super) fn tally(voters: &[Voter], choices: usize) -> VoteStanding {
    if voters.is_empty() || voters.iter().any(|voter| voter.choices.is_empty()) {
        return VoteStanding::Open;
    }
    let suits_all = |choice: &usize| voters.iter().all(|voter| voter.choices.contains(choice));
    (0..choices).find(suits_all).map_or(VoteStanding::NoCommonTime, VoteStanding::Agreed)
}

/// Returns the names of the voters whom a choice suits.
pub(super) fn voters_for(voters: &[Voter], choice: usize) -> Vec<&str> {
    voters.iter().filter(|voter| voter.choices.contains(&choice)).map(|voter| voter.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nod_contract::ids::PersonId;

    fn tally_of(votes: &[&[usize]]) -> VoteStanding {
        let voter = |choices: &&[usize]| Voter {
            person: PersonId(uuid::Uuid::nil()),
            name: String::new(),
            email: String::new(),
            choices: choices.to_vec(),
        };
        tally(&votes.iter().map(voter).collect::<Vec<_>>(), 3)
    }

    #[test]
    fn earliest_common_time_wins_once_everybody_voted() {
        assert_eq!(tally_of(&[&[1], &[]]), VoteStanding::Open);
        assert_eq!(tally_of(&[&[2, 1], &[1, 2], &[0, 1, 2]]), VoteStanding::Agreed(1));
        assert_eq!(tally_of(&[&[0], &[1]]), VoteStanding::NoCommonTime);
        // "None of these" is not a time, even if all voters choose it.
        assert_eq!(tally_of(&[&[3], &[3]]), VoteStanding::NoCommonTime);
        assert_eq!(tally_of(&[]), VoteStanding::Open);
    }
}
