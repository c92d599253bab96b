//! The key that seals tokens at rest: from the configuration, else from a file in the data folder that is
//! made once. Losing it means that everybody connects their accounts again.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nod_contract::ids::Ids;
use nod_store::vault::{Vault, VaultError};
use secrecy::SecretString;

use super::Config;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file could not be read or made.
    #[error("cannot read or make {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// What it says is no key.
    #[error("{from}: {error}")]
    Bad { from: String, error: VaultError },
}

/// Where the key is kept when the configuration has none.
#[must_use]
pub fn key_file(data_dir: &Path) -> PathBuf {
    data_dir.join("secrets.key")
}

impl Config {
    /// What seals tokens. Makes the key file, readable by its owner alone, where there is none yet.
    ///
    /// # Errors
    /// When the file cannot be read or made, or holds something else.
    pub fn vault(&self, ids: &dyn Ids) -> Result<Vault, KeyError> {
        if let Some(key) = &self.secrets.key {
            return Vault::new(key).map_err(|error| KeyError::Bad { from: "secrets.key".to_owned(), error });
        }
        let path = key_file(&self.data.dir);
        let text = read_or_make(&path, ids).map_err(|error| KeyError::File { path: path.clone(), error })?;
        Vault::new(&SecretString::from(text))
            .map_err(|error| KeyError::Bad { from: path.display().to_string(), error })
    }
}

/// Written whole under another name and then linked, so that of two first starts one key stays, and a crash
/// leaves none rather than half of one.
fn read_or_make(path: &Path, ids: &dyn Ids) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let draft = path.with_extension(format!("key.{}", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    writeln!(file, "{}", Vault::generate_key(ids))?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::read_to_string(path),
    }
}
