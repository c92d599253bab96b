//! The stories: each describes in a few lines what people do, and asserts what they then read.

#![allow(clippy::unwrap_used, clippy::large_futures)]

/// Plays stories on every chat platform: one function, which gets the platform.
macro_rules! on_each_platform {
    ($($story:ident),* $(,)?) => { $(
        mod $story {
            use nod_tests::chat::Platform;

            #[tokio::test]
            async fn on_slack() {
                super::$story(Platform::Slack).await;
            }

            #[tokio::test]
            async fn on_discord() {
                super::$story(Platform::Discord).await;
            }
        }
    )* };
}

mod abilities;
mod account_linking;
mod approvals;
mod assistant_thread;
mod attachments;
mod audit;
mod bad_input;
mod batch;
mod calendar;
mod catch_up;
mod clocks;
mod co_approval;
mod commands;
mod connect;
mod consistency;
mod contract;
mod crash;
mod delegated_access;
mod disconnect;
mod discord;
mod drafts;
mod embedded;
mod event_changes;
mod event_times;
mod events;
mod faults;
mod feedback;
mod files;
mod forms;
mod grants;
mod hello;
mod home;
mod hostile;
mod http;
mod ingest;
mod knowledge;
mod knowledge_access;
mod knowledge_meaning;
mod knowledge_menu;
mod knowledge_qdrant;
mod knowledge_search;
mod knowledge_web;
mod leases;
mod listed_mail;
mod lists;
mod long_answers;
mod mail;
mod mail_replies;
mod mailbox;
mod memory;
mod message_edits;
mod migrations;
mod models;
mod oauth_scopes;
mod offers;
mod one_connection;
mod organise_mail;
mod outgoing_mail;
mod outsiders;
mod plans;
mod policy;
mod privacy;
mod privacy_by_tool;
mod prompt_injection;
mod rate_limits;
mod reading;
mod receipts;
mod recipient_names;
mod regressions;
mod request_summaries;
mod settings;
mod sharing;
mod statements;
mod stop;
mod streaming;
mod talk;
mod task_bad_input;
mod task_menu;
mod task_questions;
mod task_queue;
mod tasks;
mod tasks_said;
mod tenants;
mod terminal;
mod thread_context;
mod tidy;
mod typed_yes;
mod undo;
mod unknown_outcome;
mod unreachable_channels;
mod votes;
