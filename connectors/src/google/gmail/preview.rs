//! How a letter is shown before it is sent. The card names what Gmail adds and shows it only on demand: a signature,
//! because it is private to the person, and the answered mail, because it is long.

use nod_contract::address::sorted_addresses;
use nod_contract::tool::{ActionLabels, Preview, Summary, ToolError, join_emails};

use super::address::Recipient;
use super::outgoing_attachments::{self, OutgoingAttachment};
use super::outgoing_email::OutgoingEmail;

impl OutgoingEmail {
    pub(super) fn preview(
        &self,
        question: &str,
        words: ActionLabels,
        needs_to: bool,
    ) -> Result<Preview, ToolError> {
        let addresses = self.all_recipients().filter_map(|one| Recipient::parse(one).ok()).map(|r| r.address);
        let recipients: Vec<String> = addresses.collect();
        let to =
            if recipients.is_empty() { String::new() } else { format!(" to {}", join_emails(&recipients)) };
        let thing = format!("{}{to}", words.noun);
        let gist =
            Summary::from_title(&self.subject, "", |what| format!("{thing} {what}").trim_end().to_owned());
        Ok(Preview {
            summary: Some(gist),
            fields: self.fields(),
            body: Some(self.card_body()),
            trailing_text: self.appended_text().filter(|_| !self.forwards()),
            account: self.account().to_owned(),
            topic: Some(self.topic(&recipients)),
            recipients,
            form: self.form(needs_to),
            draft: self.draft.as_ref().map(|draft| draft.id.clone()),
            risks: self.risks(),
            ..Preview::new(self.payload()?, question, words)
        })
    }

    /// Returns what tells it from other mails: its subject, its thread and whom it reaches.
    fn topic(&self, recipients: &[String]) -> String {
        let subject = self.subject.trim().to_lowercase();
        let about = [subject, self.thread().unwrap_or_default().to_owned()];
        about.into_iter().chain(sorted_addresses(recipients)).collect::<Vec<_>>().join("\n")
    }

    /// Returns the person's own words; for a forward the whole text, because it is about the other mail.
    pub(super) fn card_body(&self) -> String {
        if self.forwards() { self.text() } else { self.body.clone() }
    }

    /// Returns everything but the text, in reading order.
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        let list = |some: &[String]| some.join(", ");
        let from = Recipient { name: self.name.clone(), address: self.from.clone() };
        let field = |name: &str, value: String| (name.to_owned(), value);
        let mut fields = vec![field("From", from.to_string())];
        fields.extend(self.account.iter().map(|account| field("Account", account.clone())));
        fields.extend(self.reply_to.iter().map(|to| field("Answers go to", to.clone())));
        fields.extend([
            field("To", list(&self.to)),
            field("Cc", list(&self.cc)),
            field("Bcc", list(&self.bcc)),
            field("Subject", self.subject.clone()),
        ]);
        if let Some(reply) = self.thread_reply() {
            let does = if reply.forwards { "forwards" } else { "answers" };
            fields.push(field("Thread", format!("{does} {}", reply.answers)));
        }
        let elsewhere = self.reply.as_ref().and_then(|reply| reply.reply_to.as_ref());
        fields.extend(elsewhere.map(|to| field("Goes to", format!("{to}, as that email asks"))));
        if self.signature.is_some() && !self.forwards() {
            fields.push(field("Signature", "yours from Gmail".to_owned()));
        }
        if let Some(quoted) = self.quoted.as_ref().filter(|_| !self.forwards()) {
            let long = quoted.text.chars().count();
            fields.push(field("Quotes", format!("{}, {long} characters", quoted.source_label)));
        }
        if !self.attachments.is_empty() {
            let names: Vec<String> = self.attachments.iter().map(outgoing_attachments::describe).collect();
            fields.push(field("Attached", names.join(", ")));
        }
        fields
    }

    fn risks(&self) -> Vec<String> {
        [self.reply_to_risk(), self.quote_risk(), self.attachment_risk(), self.formatting_risk()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns a risk line if the answered mail asks for answers to another address than its sender.
    fn reply_to_risk(&self) -> Option<String> {
        let elsewhere = self.reply.as_ref()?.reply_to.as_ref()?;
        Some(format!("Answers to this email go to {elsewhere}, not to its sender"))
    }

    /// Returns a risk line if recipients would read a quoted mail that they did not get.
    fn quote_risk(&self) -> Option<String> {
        let quoted = self.quoted.as_ref().filter(|_| !self.forwards())?;
        let own = [self.from.as_str(), self.account()];
        let people = quoted.people.iter().map(String::as_str).chain(own);
        let knows = |address: &str| people.clone().any(|one| one.eq_ignore_ascii_case(address));
        let addresses = self.all_recipients().filter_map(|one| Recipient::parse(one).ok()).map(|r| r.address);
        let others: Vec<String> = addresses.filter(|address| !knows(address)).collect();
        match &others[..] {
            [] => None,
            [one] => Some(format!("{one} wasn't on the email quoted below")),
            [first, more @ ..] => {
                Some(format!("{first} and {} more weren't on the email quoted below", more.len()))
            }
        }
    }

    fn attachment_risk(&self) -> Option<String> {
        let brought: Vec<&OutgoingAttachment> =
            self.attachments.iter().filter(|file| file.is_from_message()).collect();
        match &brought[..] {
            [] => None,
            [one] => Some(format!("{} came with an email, and I haven't opened it", one.name)),
            many => Some(format!("{} files came with an email, and I haven't opened them", many.len())),
        }
    }

    fn formatting_risk(&self) -> Option<String> {
        self.has_rich_formatting
            .then(|| "Formatting from Gmail will be lost. Send it there to keep it".to_owned())
    }

    /// Returns a label for the middle of a sentence: "“Running late” to bo@acme.test".
    pub(super) fn short_label(&self) -> String {
        let subject = if self.subject.is_empty() { "(no subject)" } else { &self.subject };
        let to = match &self.to[..] {
            [] => "no one yet".to_owned(),
            [one] => one.clone(),
            [first, more @ ..] => format!("{first} and {} more", more.len()),
        };
        format!("“{subject}” to {to}")
    }
}
