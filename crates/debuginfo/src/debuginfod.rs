// SPDX-License-Identifier: MIT
//! Debug files from debuginfod servers, fetched by `curl` into the cache that other clients have, too.

use crate::elf::hex;
use crate::leftover;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// Servers to ask for what this machine does not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Servers {
    /// Their addresses: http, https or file.
    pub urls: Vec<String>,
    /// Where fetched files are kept, in a folder for each build-id.
    pub cache: PathBuf,
    /// Seconds without progress after which a server is given up.
    pub patience: u32,
}

/// For so long nobody is asked again for a file that no server had.
const MISS: Duration = Duration::from_secs(600);
/// What `curl` says where the server has no such file.
const HTTP_ERROR: i32 = 22;
const NO_SUCH_FILE: i32 = 37;

impl Servers {
    /// DEBUGINFOD_URLS, DEBUGINFOD_CACHE_PATH and DEBUGINFOD_TIMEOUT.
    pub fn from_env() -> Servers {
        let var = |name: &str| std::env::var(name).unwrap_or_default();
        let folder = |name: &str| Some(PathBuf::from(var(name))).filter(|p| p.is_absolute());
        let home = || Some(folder("HOME")?.join(".cache"));
        let usual = || folder("XDG_CACHE_HOME").or_else(home);
        let cache = folder("DEBUGINFOD_CACHE_PATH");
        let cache = cache.or_else(|| Some(usual()?.join("debuginfod_client")));
        let urls = var("DEBUGINFOD_URLS");
        Servers {
            urls: urls.split_whitespace().map(str::to_owned).collect(),
            cache: cache.unwrap_or_default(),
            patience: var("DEBUGINFOD_TIMEOUT").parse().unwrap_or(90),
        }
    }

    /// Is there one to ask?
    pub(crate) fn any(&self) -> bool {
        !self.urls.is_empty()
    }

    /// The debug file of a build-id, if it was fetched before.
    pub(crate) fn cached(&self, id: &[u8]) -> Option<PathBuf> {
        let path = self.place(id)?;
        let length = std::fs::metadata(&path).ok()?.len();
        (length > 0).then_some(path)
    }

    /// The same, asking each server in turn.
    pub(crate) fn fetch(&self, id: &[u8]) -> Option<PathBuf> {
        if let Some(path) = self.cached(id) {
            return Some(path);
        }
        let path = self.place(id)?;
        if !self.any() || is_recent(&path) {
            return None;
        }
        std::fs::create_dir_all(path.parent()?).ok()?;
        let mut everybody = true;
        for url in &self.urls {
            match self.ask(url, id, &path) {
                Some(0) => return Some(path),
                Some(HTTP_ERROR | NO_SUCH_FILE) => {}
                _ => everybody = false,
            }
        }
        if everybody {
            let _ = std::fs::write(&path, b"");
        }
        None
    }

    fn place(&self, id: &[u8]) -> Option<PathBuf> {
        let known = id.len() > 1 && !self.cache.as_os_str().is_empty();
        known.then(|| self.cache.join(hex(id)).join("debuginfo"))
    }

    /// What `curl` ended with; the file is whole, or not there.
    fn ask(&self, url: &str, id: &[u8], path: &Path) -> Option<i32> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let part = path.with_extension(format!("{}.{number}", std::process::id()));
        let url = format!(
            "{}/buildid/{}/debuginfo",
            url.trim_end_matches('/'),
            hex(id)
        );
        let patience = self.patience.max(1).to_string();
        let mut curl = Command::new("curl");
        // Nobody's .curlrc, and no other protocols.
        curl.args(["--disable", "--silent", "--fail", "--location"])
            .args([
                "--proto",
                "=http,https,file",
                "--connect-timeout",
                &patience,
            ])
            .args(["--speed-limit", "1024", "--speed-time", &patience])
            .arg("--output")
            .arg(&part)
            .args(["--url", &url])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let _part = leftover::path(&part);
        let (mut child, _running) = leftover::spawn(&mut curl).ok()?;
        let said = child.wait().ok()?.code();
        let done = said == Some(0) && std::fs::rename(&part, path).is_ok();
        if !done {
            let _ = std::fs::remove_file(&part);
        }
        said.filter(|code| *code != 0 || done)
    }
}

/// Whether the servers were asked a short while ago, in vain.
fn is_recent(path: &Path) -> bool {
    let written = std::fs::metadata(path).and_then(|m| m.modified());
    let age = written.map(|w| SystemTime::now().duration_since(w).unwrap_or_default());
    age.is_ok_and(|age| age < MISS)
}
