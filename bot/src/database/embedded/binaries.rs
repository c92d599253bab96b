//! Finds PostgreSQL's programs on this machine. Installs nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{EmbeddedError, MIN_MAJOR_VERSION};

/// A folder with `postgres` and `initdb` of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    pub(super) dir: PathBuf,
    pub(super) major: u32,
}

impl Binaries {
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Returns the programs that can run data of version `needed`, or of any version if there is no data yet.
pub(super) fn find(needed: Option<u32>) -> Result<Binaries, EmbeddedError> {
    let found = candidates(std::env::var_os("PG_BIN"), std::env::var_os("PATH"), Path::new("/"));
    let mut others = Vec::new();
    for folder in found {
        let Some(major) = postgres_major_version(&folder) else { continue };
        if major >= MIN_MAJOR_VERSION && needed.is_none_or(|n| n == major) {
            return Ok(Binaries { dir: folder, major });
        }
        others.push(major);
    }
    Err(match needed.filter(|_| !others.is_empty()) {
        Some(data) => EmbeddedError::VersionMismatch { data, here: others },
        None => EmbeddedError::NoBinaries { too_old: others },
    })
}

/// Returns the candidate folders, best first: `PG_BIN`, the search path, then the packages' folders.
fn candidates(pg_bin: Option<OsString>, path: Option<OsString>, root: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = pg_bin.map(PathBuf::from).into_iter().collect();
    all.extend(path.iter().flat_map(std::env::split_paths));
    for (parent, prefix, below) in [
        ("usr/lib/postgresql", "", "bin"),
        ("usr", "pgsql-", "bin"),
        ("opt/homebrew/opt", "postgresql", "bin"),
        ("usr/local/opt", "postgresql", "bin"),
        ("Applications/Postgres.app/Contents/Versions", "", "bin"),
    ] {
        all.extend(newest_first(&root.join(parent), prefix).into_iter().map(|p| p.join(below)));
    }
    // A link in /usr/local/bin leads to the folder that has the server's other files.
    let mut seen = Vec::new();
    for folder in all {
        let Ok(postgres) = folder.join("postgres").canonicalize() else { continue };
        let Some(real) = postgres.parent().map(Path::to_owned) else { continue };
        if real.join("initdb").exists() && !seen.contains(&real) {
            seen.push(real);
        }
    }
    seen
}

fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let number = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let digits: String = name.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u32>().unwrap_or_default()
    };
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.filter(|e| e.file_name().to_string_lossy().starts_with(prefix)).map(|e| e.path()).collect();
    found.sort_by_key(|path| std::cmp::Reverse(number(path)));
    found
}

/// `postgres (PostgreSQL) 15.18 (Debian …)` → 15.
fn postgres_major_version(folder: &Path) -> Option<u32> {
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let after = text.split("(PostgreSQL) ").nth(1)?;
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn install_fake(folder: &Path) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        for name in ["postgres", "initdb"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        folder.canonicalize().unwrap()
    }

    #[test]
    fn the_operators_choice_comes_first_and_newer_packages_before_older() {
        let root = tempfile::tempdir().unwrap();
        let old = install_fake(&root.path().join("usr/lib/postgresql/9/bin"));
        let new = install_fake(&root.path().join("usr/lib/postgresql/16/bin"));
        let brew = install_fake(&root.path().join("opt/homebrew/opt/postgresql@17/bin"));
        let own = install_fake(&root.path().join("own"));
        let on_path = install_fake(&root.path().join("path"));
        std::fs::create_dir_all(root.path().join("opt/homebrew/opt/node/bin")).unwrap();
        let path = std::env::join_paths([Path::new("/nowhere"), &on_path]).unwrap();
        let found = candidates(Some(own.clone().into()), Some(path), root.path());
        assert_eq!(found, [own, on_path, new, old, brew]);
    }

    #[test]
    fn a_link_on_the_path_leads_to_the_real_folder() {
        let root = tempfile::tempdir().unwrap();
        let real = install_fake(&root.path().join("usr/lib/postgresql/16/bin"));
        let links = root.path().join("links");
        std::fs::create_dir(&links).unwrap();
        std::os::unix::fs::symlink(real.join("postgres"), links.join("postgres")).unwrap();
        assert_eq!(candidates(None, Some(links.into()), root.path()), [real]);
    }
}
