//! What manages a process, by its cgroups: systemd, LXC, Docker.
//!
//! systemd answers such questions from the path alone, as sd_pid_get_unit(3) describes; so do we, without its library.

use super::cgroup::find;

/// The innermost LXC container.
pub fn lxc(text: &[u8]) -> Option<&[u8]> {
    // LXC 4, 3.1 and 3.0.
    let marks: [&[u8]; 3] = [b"lxc.payload.", b"lxc.payload/", b"lxc/"];
    let (mark, at) = marks.into_iter().find_map(|mark| Some((mark, find(text, mark)?)))?;
    let mut name = text[at + mark.len()..].split(|&byte| byte == b'\n').next()?;
    while let Some(at) = find(name, mark) {
        name = &name[at + mark.len()..];
    }
    name.split(|&byte| byte == b'/').next().filter(|name| !name.is_empty())
}

/// The first 12 digits of the Docker container.
pub fn docker(text: &[u8]) -> Option<&[u8]> {
    const DIGITS: usize = 64;
    const SHOWN: usize = 12;
    // Cgroups 2 and 1.
    let marks: [&[u8]; 2] = [b"/docker-", b"/docker/"];
    let (mark, at) = marks.into_iter().find_map(|mark| Some((mark, find(text, mark)?)))?;
    let name = &text[at + mark.len()..];
    let digits = name.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
    (digits == DIGITS).then(|| &name[..SHOWN])
}

/// The path without that of the container we are in, which ends where the first process has its own scope.
pub fn below_root<'a>(path: &'a [u8], of_init: &[u8]) -> &'a [u8] {
    let ends: [&[u8]; 3] = [b"/init.scope", b"/system.slice", b"/system"];
    let root = ends.into_iter().find_map(|end| of_init.strip_suffix(end)).unwrap_or(of_init);
    match path.strip_prefix(root) {
        Some(rest) if rest.starts_with(b"/") && root != b"/" => rest,
        _ => path,
    }
}

/// The innermost slice; of what is in none, that of the root.
pub fn slice(path: &[u8]) -> &[u8] {
    let slices = components(path).take_while(|name| is_slice(name));
    slices.last().map_or(b"-.slice", unescaped)
}

/// The unit of the system's manager.
pub fn unit(path: &[u8]) -> Option<&[u8]> {
    unit_of(components(path).find(|name| !is_slice(name))?)
}

/// That unit or, of what is in none, the slice.
pub fn unit_or_slice(path: &[u8]) -> &[u8] {
    unit(path).unwrap_or_else(|| slice(path))
}

/// The unit of the user's manager.
pub fn user_unit(path: &[u8]) -> Option<&[u8]> {
    let mut below = components(path).skip_while(|name| is_slice(name));
    let manager = unescaped(below.next()?);
    let is_manager = manager.starts_with(b"user@") && manager.ends_with(b".service");
    if !is_manager && session_of(manager).is_none() {
        return None;
    }
    unit_of(below.find(|name| !is_slice(name))?)
}

/// The session of a login.
pub fn session(path: &[u8]) -> Option<&[u8]> {
    session_of(unit(path)?)
}

/// The number of the user whose slice it is in.
pub fn owner(path: &[u8]) -> Option<u32> {
    let digits = slice(path).strip_prefix(b"user-")?.strip_suffix(b".slice")?;
    let is_decimal = digits.iter().all(u8::is_ascii_digit) && (digits == b"0" || !digits.starts_with(b"0"));
    // These two mean no user.
    let number: u32 = str::from_utf8(digits).ok().filter(|_| is_decimal)?.parse().ok()?;
    (number != u32::MAX && number != 0xffff).then_some(number)
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}

/// A name that a kernel file could have begins with an underscore that is no part of it.
fn unescaped(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"_").unwrap_or(name)
}

/// A name of a unit without the escapes of systemd.unit(5): `\x2d` is a dash.
pub fn unescaped_unit(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.strip_prefix(b"x").and_then(|digits| str::from_utf8(digits.get(..2)?).ok());
        let escaped = digits.filter(|_| byte == b'\\').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        text.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    text
}

fn is_slice(name: &[u8]) -> bool {
    is_unit(name) && unescaped(name).ends_with(b".slice")
}

fn unit_of(name: &[u8]) -> Option<&[u8]> {
    (is_unit(name) && !is_slice(name)).then(|| unescaped(name))
}

/// The types of units that have a cgroup or could have one, by systemd.unit(5).
const UNIT_TYPES: [&[u8]; 11] = [
    b".service",
    b".socket",
    b".target",
    b".device",
    b".mount",
    b".automount",
    b".swap",
    b".timer",
    b".path",
    b".slice",
    b".scope",
];

/// Whether it is the name of a unit: what is before the type is not empty, of certain characters, and no template.
fn is_unit(name: &[u8]) -> bool {
    const LONGEST: usize = 255;
    let name = unescaped(name);
    let Some(stem) = UNIT_TYPES.iter().find_map(|end| name.strip_suffix(*end)) else { return false };
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(byte);
    let is_template = stem.first() == Some(&b'@') || stem.last() == Some(&b'@');
    !stem.is_empty() && name.len() <= LONGEST && stem.iter().all(is_allowed) && !is_template
}

fn session_of(unit: &[u8]) -> Option<&[u8]> {
    let name = unit.strip_prefix(b"session-")?.strip_suffix(b".scope")?;
    (!name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Option<&[u8]>) -> &str {
        bytes.map_or("-", |bytes| str::from_utf8(bytes).expect("ASCII"))
    }

    #[test]
    fn units_are_where_systemd_puts_them() {
        for (path, expected) in [
            ("/", ["-.slice", "-", "-", "-"]),
            ("/init.scope", ["-.slice", "init.scope", "-", "-"]),
            ("/system.slice/a.service", ["system.slice", "a.service", "-", "-"]),
            ("/system.slice/system-x.slice/x@1.service/sub", ["system-x.slice", "x@1.service", "-", "-"]),
            ("/user.slice/user-1000.slice/session-3.scope", ["user-1000.slice", "session-3.scope", "-", "3"]),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/b.service",
                ["user-1000.slice", "user@1000.service", "b.service", "-"],
            ),
            ("/system.slice/_cpu.service", ["system.slice", "cpu.service", "-", "-"]),
            ("/taskmanager/x", ["-.slice", "-", "-", "-"]),
            ("/system.slice/x@.service", ["system.slice", "-", "-", "-"]),
            ("/system.slice/a b.service", ["system.slice", "-", "-", "-"]),
        ] {
            let bytes = path.as_bytes();
            let found =
                [text(Some(slice(bytes))), text(unit(bytes)), text(user_unit(bytes)), text(session(bytes))];
            assert_eq!(found, expected, "{path}");
        }
        assert_eq!(owner(b"/user.slice/user-1000.slice/session-3.scope"), Some(1000));
        for path in [
            "/user.slice/user-.slice",
            "/user.slice/user-01.slice",
            "/system.slice",
            "/user.slice/user-65535.slice",
        ] {
            assert_eq!(owner(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn our_own_root_is_left_out() {
        assert_eq!(
            below_root(b"/docker/x/system.slice/a.service", b"/docker/x/init.scope"),
            b"/system.slice/a.service"
        );
        assert_eq!(below_root(b"/system.slice/a.service", b"/init.scope"), b"/system.slice/a.service");
        assert_eq!(below_root(b"/system.slice/a.service", b"/"), b"/system.slice/a.service");
        assert_eq!(below_root(b"/dockerx", b"/docker/init.scope"), b"/dockerx");
    }

    #[test]
    fn containers_are_known_by_their_paths() {
        for (line, name) in [
            ("1:pids:/lxc.payload.web/a\n0::/\n", "web"),
            ("1:pids:/lxc/outer/lxc/inner/sub\n", "inner"),
            ("1:pids:/lxc.payload/old\n", "old"),
            ("1:pids:/\n", "-"),
            ("1:pids:/lxc/\n", "-"),
        ] {
            assert_eq!(text(lxc(line.as_bytes())), name, "{line}");
        }
        let digits = "0123456789abcdef".repeat(4);
        assert_eq!(
            text(docker(format!("0::/system.slice/docker-{digits}.scope\n").as_bytes())),
            "0123456789ab"
        );
        assert_eq!(text(docker(format!("1:pids:/docker/{digits}\n").as_bytes())), "0123456789ab");
        assert_eq!(text(docker(b"1:pids:/docker/0123\n")), "-");
    }
}
