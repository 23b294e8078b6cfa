//! How a program that is linked statically looks up users, groups and hosts.

#[cfg(target_env = "gnu")]
use std::ffi::{CStr, c_char, c_int};

/// What is looked up, and the services of glibc that a static program has within itself.
#[cfg(target_env = "gnu")]
const WITHIN: [(&CStr, &CStr); 5] = [
    (c"passwd", c"files"),
    (c"group", c"files"),
    (c"initgroups", c"files"),
    (c"services", c"files"),
    (c"hosts", c"files dns"),
];

#[cfg(target_env = "gnu")]
unsafe extern "C" {
    /// Of <nss.h>: overrides the line of a database in /etc/nsswitch.conf. Returns 0, or -1 with errno.
    fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
}

/// To be called by a static program before it looks up any name. /etc/nsswitch.conf may name services that glibc loads from the machine, such as
/// systemd or sss. They work with the glibc that they were built for, and a static program has another one: it might crash.
#[cfg(target_env = "gnu")]
pub fn use_files_only() {
    for (database, services) in WITHIN {
        // SAFETY: both are strings with a NUL at their end, which are never freed. Nothing has been looked up, and there is no other thread.
        let result = unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
        // It refuses unknown databases only, and a test goes through all of these.
        debug_assert_eq!(result, 0, "{database:?}");
    }
}

/// Other C libraries load nothing.
#[cfg(not(target_env = "gnu"))]
pub fn use_files_only() {}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_knows_every_database() {
        use_files_only();
        // SAFETY: strings with a NUL at their end.
        let unknown = unsafe { __nss_configure_lookup(c"nothing".as_ptr(), c"files".as_ptr()) };
        assert_eq!(unknown, -1);
    }
}
