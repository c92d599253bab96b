//! The demo's data folder: deleted at each start, because the fakes start empty and would not know what the database
//! remembers. Never touches a folder that the demo did not create.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The file that marks the folder as the demo's.
const MARKER_FILE: &str = "thrown-away-by-nod-demo";
/// Where the database's files are if they must belong to a user other than root; the data folder then has a link to
/// them.
const ROOT_DATA_DIR: &str = "/var/lib/nod-postgres";

pub(super) struct DemoDataDir<'p>(&'p Path);

impl<'p> DemoDataDir<'p> {
    pub(super) fn new(path: &'p Path) -> Self {
        Self(path)
    }

    /// Deletes it and creates it empty.
    ///
    /// # Errors
    /// If another demo uses it, if the demo did not create it, or if it cannot be written.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        let path = self.0;
        if path.try_exists()? {
            if !self.is_demo_dir()? {
                bail!(
                    "{} wasn't created by the demo, so I'm leaving it alone. Move it away and try again",
                    path.display()
                );
            }
            self.check_unused()?;
            self.remove().with_context(|| format!("can't clear {}", path.display()))?;
        }
        fs::create_dir_all(path).with_context(|| format!("can't create {}", path.display()))?;
        fs::write(path.join(MARKER_FILE), "")?;
        Ok(())
    }

    /// Returns whether it has the mark or is empty.
    fn is_demo_dir(&self) -> io::Result<bool> {
        Ok(self.0.join(MARKER_FILE).try_exists()? || fs::read_dir(self.0)?.next().is_none())
    }

    fn check_unused(&self) -> anyhow::Result<()> {
        let path = self.0.join("nod.lock");
        if !path.try_exists()? {
            return Ok(());
        }
        match File::open(&path)?.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                let process = fs::read_to_string(&path).unwrap_or_default();
                bail!(
                    "the demo is already running (process {}). Use its page, or stop it first",
                    process.trim()
                )
            }
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    fn remove(&self) -> io::Result<()> {
        if let Some(files) = self.linked_dir() {
            fs::remove_dir_all(files)?;
        }
        fs::remove_dir_all(self.0)
    }

    fn linked_dir(&self) -> Option<PathBuf> {
        let target = fs::read_link(self.0.join("postgres")).ok()?;
        (target.parent() == Some(Path::new(ROOT_DATA_DIR)) && target.is_dir()).then_some(target)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn demo_dir_is_recreated() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("nod/demo");
        DemoDataDir::new(&path).clear().unwrap();
        fs::write(path.join("secrets.key"), "old").unwrap();
        fs::write(path.join("nod.lock"), "7").unwrap();
        DemoDataDir::new(&path).clear().unwrap();
        assert!(path.join(MARKER_FILE).exists() && !path.join("secrets.key").exists());
    }

    #[test]
    fn foreign_dir_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("thesis.txt"), "years of work").unwrap();
        let refused = DemoDataDir::new(root.path()).clear().unwrap_err();
        assert!(refused.to_string().contains("leaving it alone"), "{refused}");
        assert!(root.path().join("thesis.txt").exists());
    }

    #[test]
    fn a_running_demo_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("demo");
        DemoDataDir::new(&path).clear().unwrap();
        fs::write(path.join("nod.lock"), "4711").unwrap();
        let held = File::open(path.join("nod.lock")).unwrap();
        held.lock().unwrap();
        let refused = DemoDataDir::new(&path).clear().unwrap_err();
        assert!(refused.to_string().contains("process 4711"), "{refused}");
    }
}
