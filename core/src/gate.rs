//! The gate: may this call run, must a person be asked, or is it refused? One pure function, tested by a
//! table.

use crate::privacy::Provenance;
use crate::tool::{Reach, ToolSpec};

/// What the gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// Do it now.
    Run,
    /// Ask first, for these reasons.
    Ask(Vec<&'static str>),
    /// Never; the reason is for the model.
    Refuse(&'static str),
}

/// Decides on a call. `standing` says whether the run's person may use Nod at all (a member of the
/// organisation). Outside text in view makes no difference yet to what asks, since everything that reaches
/// others asks; it is said among the reasons.
#[must_use]
pub fn decide(spec: &ToolSpec, member: bool, provenance: &Provenance) -> Gate {
    if !member {
        return Gate::Refuse("this person may not use tools here");
    }
    match spec.reach {
        Reach::Reads | Reach::OwnAccount => Gate::Run,
        Reach::Others => {
            let mut why = vec!["it reaches somebody else"];
            if provenance.is_outside() {
                why.push("this run has read text from outside");
            }
            Gate::Ask(why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn spec(reach: Reach) -> ToolSpec {
        ToolSpec { name: "t", description: "", parameters: Value::Null, reach, provider: None, doing: "" }
    }

    #[test]
    fn whatever_reaches_somebody_else_asks() {
        let ours = Provenance::Ours;
        let mail = Provenance::outside("mail from x@y.test");
        let others = "it reaches somebody else";
        let outside = "this run has read text from outside";
        let stranger = Gate::Refuse("this person may not use tools here");
        let table = [
            (Reach::Reads, true, &ours, Gate::Run),
            (Reach::Reads, true, &mail, Gate::Run),
            (Reach::OwnAccount, true, &ours, Gate::Run),
            (Reach::OwnAccount, true, &mail, Gate::Run),
            (Reach::Others, true, &ours, Gate::Ask(vec![others])),
            (Reach::Others, true, &mail, Gate::Ask(vec![others, outside])),
            (Reach::Reads, false, &ours, stranger.clone()),
            (Reach::Others, false, &ours, stranger),
        ];
        for (reach, member, provenance, wanted) in table {
            assert_eq!(decide(&spec(reach), member, provenance), wanted, "{reach:?} {member} {provenance:?}");
        }
    }
}
