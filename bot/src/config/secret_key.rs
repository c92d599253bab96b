//! The key that encrypts tokens at rest: from the configuration, else from a file in the data folder that is created
//! once. If it is lost, all users must connect their accounts again.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nod_contract::ids::Ids;
use nod_store::vault::{Vault, VaultError};
use secrecy::SecretString;

use super::Config;

/// Why no key is available.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file could not be read or created.
    #[error("can't read or create {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// Its content is not a key.
    #[error("{from}: {error}")]
    Invalid { from: String, error: VaultError },
}

/// Returns the path of the key file, used if the configuration has no key.
#[must_use]
pub fn key_file(data_dir: &Path) -> PathBuf {
    data_dir.join("secrets.key")
}

impl Config {
    /// Returns the vault that encrypts tokens. Creates the key file, readable only by its owner, if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be read or created, or contains something else.
    pub fn vault(&self, ids: &dyn Ids) -> Result<Vault, KeyError> {
        if let Some(key) = &self.secrets.key {
            return Vault::new(key)
                .map_err(|error| KeyError::Invalid { from: "secrets.key".to_owned(), error });
        }
        let path = key_file(&self.data.dir);
        let text =
            read_or_create(&path, ids).map_err(|error| KeyError::File { path: path.clone(), error })?;
        Vault::new(&SecretString::from(text))
            .map_err(|error| KeyError::Invalid { from: path.display().to_string(), error })
    }
}

/// Written completely under another name and then linked, so if two processes start first, one key wins, and a crash
/// leaves no file rather than half of one.
fn read_or_create(path: &Path, ids: &dyn Ids) -> io::Result<String> {
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
