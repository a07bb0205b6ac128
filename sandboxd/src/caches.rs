//! Where the caches of package managers are in a sandbox: what is redirected, and to what.
//!
//! Caches lie in the home folder, which is read-only inside. So they are redirected by the tools' own variables to one place
//! inside, [`CACHE`]: by default a folder of the session's own; with `enableSharedBuildCache` the cache of the project's trust
//! domain, where all projects that the person trusts meet, and each other project is by itself. A cache that works read-only,
//! or whose place is part of what a build produces, is redirected only in the second case. Which and why: [`TABLE`], and
//! `docs/decisions/0061-build-caches.md`.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::launch::places::CACHE;
use crate::trust::Trust;
use crate::variables;

/// When a cache is redirected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always: the tool does not work with a cache that is read-only, or works better with an empty one.
    Always,
    /// With a shared cache only: read-only, the person's own is worth more than an empty one.
    Shared,
}

/// One cache.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// The variable that its tool reads.
    pub variable: &'static str,
    /// What stands before the path in its value.
    pub before: &'static str,
    /// Its folder in the place of caches.
    pub place: &'static str,
    /// Where it is otherwise, below the home folder. If a policy makes that writable it is not redirected.
    pub home: &'static str,
    /// When.
    pub when: When,
    /// Who needs it, and why then.
    pub remark: &'static str,
}

const fn cache(
    variable: &'static str,
    place: &'static str,
    home: &'static str,
    when: When,
    remark: &'static str,
) -> Cache {
    Cache {
        variable,
        before: "",
        place,
        home,
        when,
        remark,
    }
}

/// All caches. None is redirected by `XDG_CACHE_HOME`: below it lie things that are no cache to whoever misses them (browsers for
/// tests, models).
pub const TABLE: &[Cache] = &[
    cache(
        "npm_config_cache",
        "npm",
        ".npm",
        When::Always,
        "npm: `ci` and `install` fail when they cannot write",
    ),
    cache(
        "npm_config_devdir",
        "node-gyp",
        ".cache/node-gyp",
        When::Always,
        "node-gyp: headers are unpacked there; fails when it cannot write",
    ),
    cache(
        "npm_config_store_dir",
        "pnpm-store",
        ".local/share/pnpm/store",
        When::Always,
        "pnpm: `install` writes to its store, also when nothing is fetched",
    ),
    cache(
        "npm_config_cache_dir",
        "pnpm",
        ".cache/pnpm",
        When::Always,
        "pnpm: what it knows about packages; goes with its store",
    ),
    cache(
        "YARN_GLOBAL_FOLDER",
        "yarn",
        ".yarn/berry",
        When::Always,
        "Yarn 2 and later; not YARN_CACHE_FOLDER, which would hide a cache that is checked in. Yarn 1 takes a temporary folder",
    ),
    cache(
        "BUN_INSTALL_CACHE_DIR",
        "bun",
        ".bun/install/cache",
        When::Always,
        "bun: fails when it cannot write",
    ),
    cache(
        "DENO_DIR",
        "deno",
        ".cache/deno",
        When::Always,
        "deno: keeps what it compiles there",
    ),
    cache(
        "PIP_CACHE_DIR",
        "pip",
        ".cache/pip",
        When::Always,
        "pip: works without, and warns; with it wheels are built once",
    ),
    cache(
        "PIPENV_CACHE_DIR",
        "pipenv",
        ".cache/pipenv",
        When::Always,
        "pipenv: locks its cache",
    ),
    cache(
        "UV_CACHE_DIR",
        "uv",
        ".cache/uv",
        When::Always,
        "uv: locks its cache, and fails when it cannot write",
    ),
    cache(
        "CARGO_HOME",
        "cargo",
        ".cargo",
        When::Shared,
        "cargo: works read-only with what is there; another place loses configuration and rebuilds every dependency",
    ),
    cache(
        "SCCACHE_DIR",
        "sccache",
        ".cache/sccache",
        When::Always,
        "sccache: starts a server that writes",
    ),
    cache(
        "CCACHE_DIR",
        "ccache",
        ".cache/ccache",
        When::Always,
        "ccache: keeps statistics and results",
    ),
    cache(
        "GOCACHE",
        "go-build",
        ".cache/go-build",
        When::Always,
        "go: a build fails when it cannot keep its results",
    ),
    cache(
        "GOMODCACHE",
        "go-mod",
        "go/pkg/mod",
        When::Shared,
        "go: works read-only with the modules that are there",
    ),
    cache(
        "GRADLE_USER_HOME",
        "gradle",
        ".gradle",
        When::Always,
        "Gradle: does not start when it cannot lock",
    ),
    Cache {
        variable: "MAVEN_ARGS",
        before: "-Dmaven.repo.local=",
        place: "maven",
        home: ".m2/repository",
        when: When::Shared,
        remark: "Maven 3.9 and later: works read-only with what is there",
    },
    cache(
        "NUGET_PACKAGES",
        "nuget",
        ".nuget/packages",
        When::Shared,
        "NuGet: its path is written into the project's `obj` folder",
    ),
    cache(
        "NUGET_HTTP_CACHE_PATH",
        "nuget-http",
        ".local/share/NuGet/http-cache",
        When::Always,
        "NuGet: keeps what it fetches",
    ),
    cache(
        "COMPOSER_CACHE_DIR",
        "composer",
        ".cache/composer",
        When::Always,
        "Composer: works without, and warns",
    ),
    cache(
        "BUNDLE_USER_CACHE",
        "bundler",
        ".bundle/cache",
        When::Always,
        "Bundler: keeps what it fetches",
    ),
    cache(
        "PUB_CACHE",
        "pub",
        ".pub-cache",
        When::Shared,
        "Dart: its path is written into the project's package list",
    ),
];

/// Points the tools to the place of caches. `read_write` is what of the host may be written.
#[must_use]
pub fn redirected(environment: Vec<Vec<u8>>, read_write: &[Vec<u8>], shared: bool) -> Vec<Vec<u8>> {
    redirected_to(CACHE, environment, read_write, shared)
}

/// The same with another place of caches.
#[must_use]
pub fn redirected_to(
    caches: &str,
    mut environment: Vec<Vec<u8>>,
    read_write: &[Vec<u8>],
    shared: bool,
) -> Vec<Vec<u8>> {
    let home = variables::value_of(&environment, "HOME").map(|home| PathBuf::from(OsStr::from_bytes(home)));
    let is_writable = |place: &str| {
        let place = home.as_ref().map(|home| home.join(place));
        let place = place.map(|place| place.canonicalize().unwrap_or(place));
        place.is_some_and(|place| {
            let mut roots = read_write.iter().map(|root| Path::new(OsStr::from_bytes(root)));
            roots.any(|root| place.starts_with(root))
        })
    };
    for cache in TABLE {
        let applies = shared || (cache.when == When::Always && !is_writable(cache.home));
        if applies {
            variables::set(
                &mut environment,
                cache.variable,
                &format!("{}{caches}/{}", cache.before, cache.place),
            );
        }
    }
    environment
}

/// The folder name of the trust domain that a workspace of these folders (real paths) belongs to. What cannot be told to be
/// trusted is by itself.
#[must_use]
pub fn domain(roots: &[PathBuf], trust: &Trust) -> String {
    if !roots.is_empty() && roots.iter().all(|root| trust.contains(root) == Ok(true)) {
        return "trusted".to_owned();
    }
    let mut sorted: Vec<&PathBuf> = roots.iter().collect();
    sorted.sort();
    let mut hash = Sha256::new();
    for root in sorted {
        hash.update(root.as_os_str().as_bytes());
        hash.update([0]);
    }
    hash.finalize()
        .iter()
        .take(16)
        .fold("project-".to_owned(), |mut name, byte| {
            let _ = write!(name, "{byte:02x}");
            name
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn text(environment: &[Vec<u8>], name: &str) -> Option<String> {
        variables::value_of(environment, name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    #[test]
    fn the_table_says_each_thing_once_and_nothing_that_chooses_programs() {
        let variables: BTreeSet<_> = TABLE.iter().map(|cache| cache.variable).collect();
        let places: BTreeSet<_> = TABLE.iter().map(|cache| cache.place).collect();
        assert_eq!((variables.len(), places.len()), (TABLE.len(), TABLE.len()));
        for cache in TABLE {
            assert!(
                !cache.remark.is_empty() && !cache.place.contains(['/', '.']),
                "{}",
                cache.place
            );
            for never in ["PATH", "HOME", "LD_PRELOAD", "NODE_OPTIONS", "GOFLAGS", "MAVEN_OPTS"] {
                assert_ne!(cache.variable, never);
            }
        }
    }

    #[test]
    fn what_works_read_only_is_redirected_only_to_a_shared_cache() {
        let before = vec![
            b"HOME=/h".to_vec(),
            b"CARGO_HOME=/c".to_vec(),
            b"npm_config_cache=/n".to_vec(),
        ];
        let own = redirected(before.clone(), &[], false);
        assert_eq!(
            text(&own, "npm_config_cache").as_deref(),
            Some("/run/portcullis-cache/npm")
        );
        assert_eq!(text(&own, "CARGO_HOME").as_deref(), Some("/c"));
        assert_eq!(
            own.iter()
                .filter(|variable| variable.starts_with(b"npm_config_cache="))
                .count(),
            1
        );
        let shared = redirected(before, &[], true);
        assert_eq!(
            text(&shared, "CARGO_HOME").as_deref(),
            Some("/run/portcullis-cache/cargo")
        );
        assert_eq!(
            text(&shared, "MAVEN_ARGS").as_deref(),
            Some("-Dmaven.repo.local=/run/portcullis-cache/maven")
        );
        assert_eq!(shared.len(), TABLE.len() + 1);
    }

    #[test]
    fn a_cache_that_a_policy_makes_writable_stays_where_it_is() {
        let environment = || vec![b"HOME=/nonexistent/h".to_vec()];
        let own = redirected(environment(), &[b"/nonexistent/h/.npm".to_vec()], false);
        assert_eq!(text(&own, "npm_config_cache"), None);
        assert!(text(&own, "UV_CACHE_DIR").is_some());
        let shared = redirected(environment(), &[b"/nonexistent/h/.npm".to_vec()], true);
        assert!(text(&shared, "npm_config_cache").is_some());
    }

    #[test]
    fn trusted_projects_meet_and_others_are_by_themselves() {
        let keep = tempfile::tempdir().unwrap();
        let trust = Trust::open(keep.path().join("trust.json"));
        trust.set("/a", true).unwrap();
        trust.set("/b", true).unwrap();
        let of = |roots: &[&str]| domain(&roots.iter().map(PathBuf::from).collect::<Vec<_>>(), &trust);
        assert_eq!(
            (of(&["/a"]), of(&["/a", "/b"])),
            ("trusted".to_owned(), "trusted".to_owned())
        );
        let others = [of(&["/c"]), of(&["/d"]), of(&["/a", "/c"]), of(&[]), of(&["/a/b"])];
        assert!(others.iter().all(|name| name.starts_with("project-")));
        assert_eq!(others.iter().collect::<BTreeSet<_>>().len(), others.len());
        assert_eq!(of(&["/a", "/c"]), of(&["/c", "/a"]));
        // A list that cannot be read trusts nothing.
        std::fs::write(keep.path().join("broken"), "{").unwrap();
        let broken = Trust::open(keep.path().join("broken"));
        assert_ne!(domain(&[PathBuf::from("/a")], &broken), "trusted");
    }
}
