//! `nod policy`: a tenant's own approval rules, set and shown by the administrator of this machine.

use std::path::Path;

use anyhow::Context;
use nod_contract::clock::Clock;
use nod_inbox::Settings;
use nod_requests::policy::{self, Policy, TenantPolicyStore};
use serde_json::json;

use crate::cli::print;
use crate::config::{self, Config};
use crate::database::{self, Database, DatabaseClock};

/// Replaces the tenant's rules with those of a file.
///
/// # Errors
/// If a rule is invalid, with every problem, or the database does not answer.
pub async fn set(config: &Config, file: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
    let rules = config::policy::read(&text)
        .map_err(|said| anyhow::anyhow!("{}: nothing changed:\n  {}", file.display(), said.join("\n  ")))?;
    let by = std::env::var("USER").unwrap_or_else(|_| "someone at the terminal".to_owned());
    let (own, empty) = with_tenant_policy(config, async |own, clock| {
        let set = own.set(&text, &rules, &by, clock.now()).await?;
        let policy = own.load_effective(&config.approvals.policy).await?;
        Ok((set, own.empty_lists(&policy).await?))
    })
    .await?;
    print(&match rules.len() {
        0 => "You have no rules of your own any more. The installation's rules apply.".to_owned(),
        n => format!(
            "{} set ({}). Requests that are already waiting keep their terms, except that a “never” and a \
             second person apply when they're approved.",
            if n == 1 { "1 rule is".to_owned() } else { format!("{n} rules are") },
            &own.digest[..6]
        ),
    });
    for list in empty {
        print(&format!(
            "I don't know anyone from {list} yet, so requests that need one of them are refused."
        ));
    }
    Ok(())
}

/// Prints the effective rules.
///
/// # Errors
/// If the database does not answer.
pub async fn show(config: &Config, as_json: bool) -> anyhow::Result<()> {
    let (own, policy) = with_tenant_policy(config, async |own, _| {
        Ok((own.load().await?, own.load_effective(&config.approvals.policy).await?))
    })
    .await?;
    let rules = policy::describe(&policy);
    if as_json {
        let own = own.map(|own| {
            json!({
                "text": own.text, "digest": own.digest, "set_by": own.set_by, "set_at": own.set_at,
            })
        });
        print(&format!("{:#}", json!({ "rules": rules, "own": own })));
        return Ok(());
    }
    print(&rules.join("\n"));
    print(&match own {
        None => "You have no rules of your own. Run nod policy set FILE to add some.".to_owned(),
        Some(own) => format!(
            "Of these, {} your own, set by {} on {} ({}):\n\n{}",
            match policy.rules.len() - config.approvals.policy.rules.len() {
                1 => "1 is".to_owned(),
                many => format!("{many} are"),
            },
            own.set_by,
            own.set_at.format("%a %-d %b %Y, %H:%M UTC"),
            &own.digest[..6],
            own.text.trim_end()
        ),
    });
    Ok(())
}

async fn with_tenant_policy<T>(
    config: &Config,
    work: impl AsyncFnOnce(&TenantPolicyStore, &DatabaseClock) -> sqlx::Result<T>,
) -> anyhow::Result<T> {
    let database = Database::open_or_join(config).await?;
    let done = async {
        database::migrate(&database.pool).await?;
        let clock = DatabaseClock::measured(&database.pool).await?;
        Ok(work(&TenantPolicyStore::new(database.pool.clone(), Settings::default().tenant), &clock).await?)
    };
    let done: anyhow::Result<T> = done.await;
    database.close().await;
    done
}

/// Returns the lists in the effective rules that contain no known person.
///
/// # Errors
/// If the database does not answer.
pub async fn find_empty_lists(pool: sqlx::PgPool, policy: &Policy) -> sqlx::Result<Vec<String>> {
    let own = TenantPolicyStore::new(pool, Settings::default().tenant);
    own.empty_lists(&own.load_effective(policy).await?).await
}
