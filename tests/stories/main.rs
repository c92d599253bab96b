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
mod allowed;
mod approvals;
mod attachments;
mod audit;
mod bad_input;
mod batch;
mod calendar;
mod catch_up;
mod changed;
mod changes;
mod clocks;
mod commands;
mod connect;
mod contract;
mod disconnect;
mod discord;
mod drafts;
mod embedded;
mod endings;
mod events;
mod faults;
mod files;
mod forms;
mod grants;
mod heard;
mod home;
mod hostile;
mod http;
mod injected;
mod kill;
mod lent;
mod letters;
mod lines;
mod long;
mod mail;
mod mailbox;
mod memory;
mod migrations;
mod models;
mod names;
mod one_connection;
mod pane;
mod people;
mod personal;
mod places;
mod policy;
mod private;
mod quota;
mod reading;
mod replies;
mod scope;
mod settings;
mod shared;
mod statements;
mod stop;
mod strangers;
mod streaming;
mod talk;
mod terminal;
mod tidy;
mod times;
mod two_people;
mod typed_yes;
mod undo;
mod unknown;
mod votes;
