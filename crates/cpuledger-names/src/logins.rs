//! Users who are logged in, as uptime(1) counts them: sessions of systemd, or else entries of utmp(5).

use std::fs;

/// Sessions of systemd, one file each.
const SESSIONS: &str = "/run/systemd/sessions";

/// Where there is no systemd.
const UTMP: &str = "/run/utmp";

/// Users who are logged in; 0 where the machine keeps no count.
pub fn count() -> usize {
    match fs::read_dir(SESSIONS) {
        Ok(sessions) => {
            let texts = sessions.flatten().filter_map(|session| fs::read_to_string(session.path()).ok());
            texts.filter(|text| is_of_user(text)).count()
        }
        Err(_) => count_utmp(&fs::read(UTMP).unwrap_or_default()),
    }
}

/// Whether a session is of a user who has logged in, and not of a greeter or a service.
fn is_of_user(session: &str) -> bool {
    let class = session.lines().find_map(|line| line.strip_prefix("CLASS="));
    class.is_some_and(|class| class == "user" || class.starts_with("user-"))
}

/// Size of a record: the GNU C library has wide times in it on new architectures.
const RECORD_BYTES: usize = if cfg!(target_arch = "x86_64") { 384 } else { 400 };

/// `ut_type` of a login.
const USER_PROCESS: u16 = 7;

/// Where `ut_user` begins.
const USER_AT: usize = 44;

fn count_utmp(records: &[u8]) -> usize {
    let is_login =
        |record: &[u8]| u16::from_ne_bytes([record[0], record[1]]) == USER_PROCESS && record[USER_AT] != 0;
    records.chunks_exact(RECORD_BYTES).filter(|record| is_login(record)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_are_counted() {
        let record = |kind: u16, user: u8| {
            let mut record = vec![0; RECORD_BYTES];
            record[..2].copy_from_slice(&kind.to_ne_bytes());
            record[USER_AT] = user;
            record
        };
        // A boot, a login, one that is over, one without a name, and half a record.
        let records = [record(2, b'r'), record(7, b'u'), record(8, b'u'), record(7, 0), vec![7; 20]].concat();
        assert_eq!((count_utmp(&records), count_utmp(&[])), (1, 0));
    }

    #[test]
    fn sessions_of_users_are_counted() {
        assert!(is_of_user("UID=0\nCLASS=user\nSTATE=active\n") && is_of_user("CLASS=user-early\n"));
        assert!(!is_of_user("CLASS=manager\n") && !is_of_user("CLASS=greeter\n") && !is_of_user(""));
    }
}
