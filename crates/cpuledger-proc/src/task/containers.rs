//! Which containers a cgroup is in, by its path: what runtimes call the directories that they make.

use super::units::unescaped_unit;

/// What made a container, as far as the path says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Runtime {
    /// An id of 64 digits that does not say whose it is.
    Any,
    /// Docker: `docker-ID.scope`, `docker/ID`.
    Docker,
    /// containerd: `cri-containerd-ID.scope`, `nerdctl-ID.scope`.
    Containerd,
    /// CRI-O: `crio-ID.scope`.
    Crio,
    /// Podman: `libpod-ID.scope`.
    Podman,
    /// LXC and its managers: `lxc.payload.NAME`.
    Lxc,
    /// systemd-nspawn: `machine-NAME.scope`, `systemd-nspawn@NAME.service`.
    Nspawn,
}

/// A container in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// What made it.
    pub runtime: Runtime,
    /// Its id: 64 digits, or the name of an LXC or nspawn container.
    pub id: Vec<u8>,
    /// The length of the path up to the end of its directory.
    pub end: usize,
}

const ID_DIGITS: usize = 64;

/// Digits of an id where it stands for a name.
pub const SHORT_ID_DIGITS: usize = 12;

/// Containers within each other that are looked for.
pub const MOST_NESTED: usize = 4;

/// The containers of a path, from the outermost inwards, at most [`MOST_NESTED`].
pub fn containers(path: &[u8]) -> Vec<Container> {
    let mut found: Vec<Container> = Vec::new();
    let (mut begin, mut parent): (usize, &[u8]) = (0, b"");
    for name in path.split(|&byte| byte == b'/') {
        let end = begin + name.len();
        begin = end + 1;
        if let Some((runtime, id)) = container(parent, name)
            && found.last().is_none_or(|last| last.id != id)
        {
            found.push(Container { runtime, id, end });
            if found.len() == MOST_NESTED {
                break;
            }
        }
        parent = name;
    }
    found
}

/// The container that a directory in this parent is of.
fn container(parent: &[u8], name: &[u8]) -> Option<(Runtime, Vec<u8>)> {
    if let Some(name) = name.strip_prefix(b"lxc.payload.") {
        return (!name.is_empty()).then(|| (Runtime::Lxc, name.to_vec()));
    }
    if matches!(parent, b"lxc" | b"lxc.payload") && !name.is_empty() {
        return Some((Runtime::Lxc, name.to_vec()));
    }
    if let Some(name) = nspawn(name) {
        return Some((Runtime::Nspawn, name));
    }
    let stem = name.strip_suffix(b".scope").unwrap_or(name);
    let (before, id) = stem.split_at_checked(stem.len().checked_sub(ID_DIGITS)?)?;
    if !is_id(id) {
        return None;
    }
    let runtime = match before {
        b"" if parent == b"docker" => Runtime::Docker,
        b"" | b"libpod-payload-" => Runtime::Any,
        b"docker-" => Runtime::Docker,
        b"crio-" => Runtime::Crio,
        b"libpod-" => Runtime::Podman,
        b"cri-containerd-" | b"nerdctl-" => Runtime::Containerd,
        // `kubepods-….slice:cri-containerd:ID`, by a runtime that does not ask systemd.
        _ if before.ends_with(b":cri-containerd:") => Runtime::Containerd,
        _ if before.ends_with(b":crio:") => Runtime::Crio,
        // Monitors of containers, `crio-conmon-ID`, are not in them.
        _ => return None,
    };
    Some((runtime, id.to_vec()))
}

/// The name of a container of systemd-nspawn. Scopes of virtual machines begin with the driver, `qemu-1-NAME`.
fn nspawn(name: &[u8]) -> Option<Vec<u8>> {
    let of_service = name.strip_prefix(b"systemd-nspawn@").and_then(|name| name.strip_suffix(b".service"));
    let of_scope = || name.strip_prefix(b"machine-")?.strip_suffix(b".scope");
    let name = unescaped_unit(of_service.or_else(of_scope)?);
    let is_machine = ["qemu-", "lxc-", "xen-"].iter().any(|driver| name.starts_with(driver.as_bytes()));
    (!name.is_empty() && !is_machine).then_some(name)
}

/// Whether these are the digits of an id.
pub fn is_id(text: &[u8]) -> bool {
    text.len() == ID_DIGITS && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The uid of the pod that a path is in, as Kubernetes writes it: `kubepods-burstable-podUID.slice`, `kubepods/podUID`.
pub fn pod_uid(path: &[u8]) -> Option<Vec<u8>> {
    const UID_BYTES: usize = 36;
    let names = path.split(|&byte| byte == b'/');
    let mut below = names.skip_while(|name| !name.starts_with(b"kubepods"));
    below.find_map(|name| {
        // `kubepods-podUID.slice:cri-containerd:ID` names the slice, too.
        let name = name.split(|&byte| byte == b':').next()?;
        let name = name.strip_suffix(b".slice").unwrap_or(name);
        let uid = match name.strip_prefix(b"pod") {
            Some(uid) => uid,
            None if name.starts_with(b"kubepods-") => {
                let at = name.windows(4).rposition(|window| window == b"-pod")?;
                &name[at + 4..]
            }
            None => return None,
        };
        // systemd has no dashes within a slice's name. The uids of static pods are hashes.
        let uid: Vec<u8> = uid.iter().map(|&byte| if byte == b'_' { b'-' } else { byte }).collect();
        let is_uid = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
        (!uid.is_empty() && uid.len() <= UID_BYTES && uid.iter().all(is_uid)).then_some(uid)
    })
}

/// Whether a path is in the tree that a user's own manager has: whatever is called there is that user's claim.
pub fn is_of_user(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(|name| {
        let number = name.strip_prefix(b"user@").and_then(|name| name.strip_suffix(b".service"));
        number.is_some_and(|number| number != b"0")
    })
}

/// The id of a container in the tree of a user's own manager, marked with the number of that user: `1000:ID`.
pub fn claimed_id(path: &[u8], container: &Container) -> Vec<u8> {
    let mut names = path.split(|&byte| byte == b'/');
    let user = names.find_map(|name| name.strip_prefix(b"user@")?.strip_suffix(b".service"));
    let user = user.filter(|user| user.iter().all(u8::is_ascii_digit)).unwrap_or(b"?");
    [user, b":", &container.id].concat()
}

/// The path of the cgroup that a bundle of OCI asks for: a path, or `SLICE:PREFIX:NAME` for systemd. `None`: a name, which does not say where.
pub fn path_of_bundle(cgroups_path: &[u8]) -> Option<Vec<u8>> {
    if cgroups_path.starts_with(b"/") {
        return Some(cgroups_path.to_vec());
    }
    // As `podman --cgroup-parent a` asks for it; crun begins at the root.
    if cgroups_path.contains(&b'/') && !cgroups_path.contains(&b':') {
        return Some([b"/", cgroups_path].concat());
    }
    let mut parts = cgroups_path.splitn(3, |&byte| byte == b':');
    let (slice, prefix, name) = (parts.next()?, parts.next()?, parts.next()?);
    let mut path = Vec::new();
    let slice = if slice.is_empty() { b"system.slice" } else { slice };
    let stem = slice.strip_suffix(b".slice")?;
    if stem != b"-" {
        // Each dash is a level: a-b.slice is in a.slice.
        let dashes = stem.iter().enumerate().filter(|(_, byte)| **byte == b'-').map(|(at, _)| at);
        for end in dashes.chain([stem.len()]) {
            path.push(b'/');
            path.extend_from_slice(&stem[..end]);
            path.extend_from_slice(b".slice");
        }
    }
    path.push(b'/');
    if !prefix.is_empty() {
        path.extend_from_slice(prefix);
        path.push(b'-');
    }
    path.extend_from_slice(name);
    path.extend_from_slice(b".scope");
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "6e14acd5d53af25b7e81e956059cc98f2c865add891f1d7d30dbf4ab9acd55f7";
    const B: &str = "dd2ae6e8504adc4cf8e78ff1198414534a6cd0355e8d73cba968d913f7ac8e82";

    fn found(path: &str) -> Vec<(Runtime, String, String)> {
        let of = |one: Container| {
            let id = String::from_utf8(one.id).expect("ASCII");
            (one.runtime, id, path[..one.end].to_owned())
        };
        containers(path.as_bytes()).into_iter().map(of).collect()
    }

    #[test]
    fn the_path_says_which_container_of_which_runtime() {
        for (path, runtime) in [
            (format!("/system.slice/docker-{A}.scope"), Runtime::Docker),
            (format!("/docker/{A}"), Runtime::Docker),
            (format!("/machine.slice/libpod-{A}.scope"), Runtime::Podman),
            (format!("/libpod_parent/libpod-{A}"), Runtime::Podman),
            (format!("/kubepods.slice/kubepods-pod1.slice/cri-containerd-{A}.scope"), Runtime::Containerd),
            (format!("/kubepods.slice/kubepods-pod1.slice/crio-{A}.scope"), Runtime::Crio),
            (format!("/kubepods/burstable/pod1/{A}"), Runtime::Any),
            (
                format!("/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:{A}"),
                Runtime::Containerd,
            ),
        ] {
            for below in ["", "/init.scope", "/container/x"] {
                let whole = format!("{path}{below}");
                assert_eq!(found(&whole), [(runtime, A.to_owned(), path.clone())]);
            }
        }
        for (path, runtime, id) in [
            ("/lxc.payload.web/init.scope", Runtime::Lxc, "web"),
            ("/lxc/web", Runtime::Lxc, "web"),
            (r"/machine.slice/machine-my\x2dbox.scope/payload", Runtime::Nspawn, "my-box"),
            ("/machine.slice/systemd-nspawn@box.service/payload", Runtime::Nspawn, "box"),
        ] {
            let all = found(path);
            assert_eq!((all[0].0, &*all[0].1, all.len()), (runtime, id, 1), "{path}");
        }
        for path in [
            "/",
            "",
            "/system.slice/ssh.service",
            &format!("/machine.slice/libpod-conmon-{A}.scope"),
            &format!("/kubepods.slice/crio-conmon-{A}.scope"),
            &format!("/system.slice/docker-{}.scope", &A[1..]),
            &format!("/system.slice/docker-{}.scope", A.to_uppercase()),
            r"/machine.slice/machine-qemu\x2d1\x2dvm.scope",
            "/lxc.monitor.web",
            "/lxc.payload./x",
        ] {
            assert_eq!(found(path), [], "{path}");
        }
    }

    #[test]
    fn containers_within_others_come_later() {
        let path = format!("/system.slice/docker-{A}.scope/docker/{B}");
        let ids: Vec<String> = found(&path).into_iter().map(|(_, id, _)| id).collect();
        assert_eq!(ids, [A, B]);
        let path = format!("/lxc.payload.outer/machine.slice/libpod-{B}.scope/container");
        let all = found(&path);
        assert_eq!((&*all[0].1, &*all[1].1), ("outer", B));
        assert_eq!(found(&format!("/libpod-{A}.scope/libpod-{A}.scope")).len(), 1);
        let deep: String = (0..100).map(|number| format!("/{number:064x}")).collect();
        assert_eq!(found(&deep).len(), MOST_NESTED);
    }

    #[test]
    fn pods_have_uids() {
        let uid = "8a5cd1f0-73a5-4d55-9c60-1b3f2c9d7e11";
        for path in [
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/cri-containerd-{A}.scope",
                uid.replace('-', "_")
            ),
            format!("/kubepods/burstable/pod{uid}/{A}"),
            format!("/docker/{A}/kubelet/kubepods/pod{uid}/{B}"),
        ] {
            assert_eq!(pod_uid(path.as_bytes()), Some(uid.as_bytes().to_vec()), "{path}");
        }
        for path in
            ["/podman/x", "/kubepods.slice", "/system.slice/pod1", "/kubepods/podium/x", "/kubepods/pod"]
        {
            assert_eq!(pod_uid(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn a_bundle_says_where_its_cgroup_is() {
        for (asked, path) in [
            ("/libpod_parent/libpod-1", Some("/libpod_parent/libpod-1")),
            ("machine.slice:libpod:1", Some("/machine.slice/libpod-1.scope")),
            ("a-b-c.slice:cri-containerd:1", Some("/a.slice/a-b.slice/a-b-c.slice/cri-containerd-1.scope")),
            (":docker:1", Some("/system.slice/docker-1.scope")),
            ("-.slice::1", Some("/1.scope")),
            ("a/libpod-1", Some("/a/libpod-1")),
            ("relative", None),
            ("a/b:docker:1", None),
            ("no slice:docker:1", None),
        ] {
            assert_eq!(path_of_bundle(asked.as_bytes()).as_deref(), path.map(str::as_bytes), "{asked}");
        }
    }

    #[test]
    fn what_a_user_s_manager_has_made_is_a_claim() {
        assert!(is_of_user(b"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-1.scope"));
        let path = format!("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{A}.scope");
        let claim = containers(path.as_bytes()).first().map(|outer| claimed_id(path.as_bytes(), outer));
        assert_eq!(claim, Some(format!("1000:{A}").into_bytes()));
        assert!(!is_of_user(b"/user.slice/user-0.slice/user@0.service/user.slice/libpod-1.scope"));
        assert!(!is_of_user(b"/machine.slice/libpod-1.scope"));
    }
}
