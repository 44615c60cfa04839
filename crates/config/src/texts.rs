//! The texts of all files of a config, by which a reload notices a change.

use std::path::PathBuf;

use super::files::ConfigFiles;
use super::sections::server::{env_files, secret_files};
use super::syntax::sources::fingerprint;
use super::syntax::substitute::VariableLookup;

/// Every file that a config is read from, including missing files, because creating one may fix the config.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigTexts {
    /// The config files, and the files of variables that they name. `None` if a file cannot be read. And the files of single
    /// values, of which not the text is kept but a digest.
    pub files: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// The folders in which `include` looks for files.
    pub folders: Vec<PathBuf>,
}

impl ConfigTexts {
    pub fn read(paths: &[PathBuf], environment: &VariableLookup) -> Self {
        let mut config = ConfigFiles::new(environment);
        paths.iter().for_each(|path| config.add(path));
        let named = env_files(&config.document, environment).into_iter().map(|file| {
            let bytes = file.is_file().then(|| std::fs::read(&file).ok()).flatten();
            (file, bytes)
        });
        let texts = config.read.texts.into_iter().map(|(file, text)| (file, text.map(String::into_bytes)));
        let secrets = secret_files(&config.document, environment).into_iter().map(|file| {
            let state = fingerprint(&file);
            (file, Some(state))
        });
        ConfigTexts { files: texts.chain(named).chain(secrets).collect(), folders: config.read.folders }
    }
}
