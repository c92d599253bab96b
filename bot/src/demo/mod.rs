//! The demo.
/// Runs the demo.
pub async fn run(_stop: tokio_util::sync::CancellationToken) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
