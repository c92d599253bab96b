//! The contract with a store of vectors, kept by each implementation: the one in memory, Qdrant on the fake, and Qdrant on
//! a live server if `NOD_QDRANT__URL` names one (with its key in `NOD_QDRANT__API_KEY`). The live server keeps two small
//! collections, of tenants that exist nowhere else.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod contract;
mod failures;
mod memory;
mod qdrant;

/// Plays stories of the contract on each implementation, and others on those that keep points: the other one reads rows,
/// which are of one version and of no space.
macro_rules! on_each_store {
    ($($story:ident),* $(,)?; keeping points: $($points_story:ident),* $(,)?) => {
        mod in_memory { $(
            #[tokio::test]
            async fn $story() {
                let memory = crate::memory::Memory::start().await;
                crate::contract::$story(&memory).await;
                memory.finish().await;
            }
        )* }

        on_qdrant!($($story,)* $($points_story,)*);
    };
}

macro_rules! on_qdrant {
    ($($story:ident),* $(,)?) => {
        mod on_the_fake { $(
            #[tokio::test]
            async fn $story() {
                let fake = crate::qdrant::FakeQdrant::start().await;
                crate::contract::$story(&fake).await;
                fake.finish();
            }
        )* }

        #[tokio::test]
        async fn live_qdrant_keeps_the_contract() {
            let Some(live) = qdrant::open_live() else { return };
            $(
                println!("{}", stringify!($story));
                contract::$story(&live).await;
            )*
        }
    };
}

on_each_store!(
    points_put_twice_are_there_once,
    another_tenants_points_are_never_found,
    only_readers_find_a_point,
    other_documents_are_not_found,
    a_point_is_found_at_once_and_gone_at_once,
    a_leg_without_a_hit_is_empty,
    the_best_window_counts,
    scores_are_those_of_a_plain_loop,
    chunks_are_counted,
    groups_are_counted,
    many_points_are_all_stored,
    a_vector_of_another_dimension_is_refused,
    what_was_never_prepared_is_empty;
    keeping points:
    a_new_version_stands_beside_the_old_one,
    versions_are_counted,
    words_alone_are_a_space_too,
    a_wrong_dimension_writes_nothing,
    preparing_twice_keeps_the_points,
    earlier_spaces_are_cleared,
);
