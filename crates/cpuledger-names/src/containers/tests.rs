use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

const A: &str = "6e14acd5d53af25b7e81e956059cc98f2c865add891f1d7d30dbf4ab9acd55f7";
const B: &str = "dd2ae6e8504adc4cf8e78ff1198414534a6cd0355e8d73cba968d913f7ac8e82";
const UID: &str = "8a5cd1f0-73a5-4d55-9c60-1b3f2c9d7e11";

/// Files of a machine.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    fn names(&self, path: &str) -> CgroupNames {
        let names = Containers::below(self.0.path()).names(path.as_bytes());
        assert_eq!(names.path, path.as_bytes());
        names
    }

    /// Container, image, pod and namespace of a path.
    fn told(&self, path: &str) -> [String; 4] {
        let names = self.names(path);
        assert_eq!(names.nameless, None, "{path}");
        [names.container, names.image, names.pod, names.namespace]
            .map(|name| String::from_utf8(name).expect("UTF-8"))
    }

    fn nameless(&self, path: &str) -> Nameless {
        let names = self.names(path);
        assert!(names.container.is_empty() && names.image.is_empty() && names.pod.is_empty(), "{names:?}");
        names.nameless.expect("it is a container without a name")
    }
}

fn cri(cgroups_path: &str) -> String {
    format!(
        r#"{{"annotations":{{"io.kubernetes.cri.container-name":"web","io.kubernetes.cri.container-type":"container",
        "io.kubernetes.cri.image-name":"nginx:1","io.kubernetes.cri.sandbox-name":"shop","io.kubernetes.cri.sandbox-namespace":"prod"}},
        "linux":{{"cgroupsPath":"{cgroups_path}"}}}}"#
    )
}

#[test]
fn containerd_and_cri_o_name_container_pod_and_image() {
    let files = Files::new();
    let slice = format!("kubepods-burstable-pod{}.slice", UID.replace('-', "_"));
    let path = format!("/kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-{A}.scope");
    let bundle = format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{A}/config.json");
    files.write(&bundle, &cri(&format!("{slice}:cri-containerd:{A}")));
    assert_eq!(files.told(&path), ["web", "nginx:1", "shop", "prod"]);
    assert_eq!(files.names(&path).container_id, A.as_bytes());
    // Without systemd, and in a namespace of cgroups.
    let of_files = format!("/kubepods/burstable/pod{UID}/{A}");
    files.write(&bundle, &cri(&of_files));
    for path in
        [of_files.clone(), format!("/pod{UID}/{A}"), format!("/../pod{UID}/{A}"), format!("{of_files}/sub")]
    {
        assert_eq!(files.told(&path), ["web", "nginx:1", "shop", "prod"]);
    }
    files.write(
        &format!("run/containers/storage/overlay-containers/{B}/userdata/config.json"),
        &format!(
            r#"{{"annotations":{{"io.kubernetes.container.name":"db","io.kubernetes.pod.name":"shop","io.kubernetes.pod.namespace":"prod",
            "io.kubernetes.cri-o.ImageName":"postgres:16"}},"linux":{{"cgroupsPath":"kubepods.slice:crio:{B}"}}}}"#
        ),
    );
    assert_eq!(files.told(&format!("/kubepods.slice/crio-{B}.scope")), ["db", "postgres:16", "shop", "prod"]);
}

#[test]
fn podman_and_docker_have_lists_and_files_of_their_own() {
    let files = Files::new();
    files.write(
        &format!("var/lib/containers/storage/overlay-containers/{A}/userdata/config.json"),
        &format!(r#"{{"annotations":{{"io.container.manager":"libpod"}},"linux":{{"cgroupsPath":"machine.slice:libpod:{A}"}}}}"#),
    );
    files.write(
        "var/lib/containers/storage/overlay-containers/containers.json",
        &format!(
            r#"[{{"id":"{A}","names":["shop_web"],"metadata":"{{\"image-name\":\"localhost/web:1\"}}"}}]"#
        ),
    );
    let path = format!("/machine.slice/libpod-{A}.scope/container");
    assert_eq!(files.told(&path), ["shop_web", "localhost/web:1", "", ""]);
    files.write(
        &format!("var/lib/docker/containers/{B}/config.v2.json"),
        r#"{"ID":"x","Name":"/cache","Config":{"Image":"redis:7","Env":[]},"State":{}}"#,
    );
    for path in [format!("/system.slice/docker-{B}.scope"), format!("/docker/{B}")] {
        assert_eq!(files.told(&path), ["cache", "redis:7", "", ""]);
    }
}

#[test]
fn the_outermost_container_is_named_and_those_within_by_their_ids() {
    let files = Files::new();
    files.write(
        &format!("var/lib/docker/containers/{A}/config.v2.json"),
        r#"{"Name":"/node","Config":{"Image":"kindest/node"}}"#,
    );
    files.write(
        &format!("var/lib/docker/containers/{B}/config.v2.json"),
        r#"{"Name":"/victim","Config":{"Image":"bank"}}"#,
    );
    let nested = files.names(&format!("/docker/{A}/docker/{B}"));
    assert_eq!(nested.container, format!("node/{}", &B[..12]).as_bytes());
    assert_eq!((&*nested.container_id, &*nested.image), (A.as_bytes(), &b"kindest/node"[..]));
    let within =
        files.told(&format!("/docker/{A}/kubelet.slice/kubepods-pod{}.slice/x", UID.replace('-', "_")));
    assert_eq!(within, ["node", "kindest/node", "", ""]);
    assert_eq!(files.told(&format!("/lxc.payload.outer/docker/{B}"))[0], format!("outer/{}", &B[..12]));
    // What a runtime runs directly can be anywhere.
    files.write("run/crun/job/status", r#"{"cgroup-path":"/jobs/1"}"#);
    files.write("run/crun/job/config.json", "{}");
    assert_eq!(files.told("/jobs/1/x")[0], "job");
    assert_eq!(files.told(&format!("/jobs/1/docker/{B}"))[0], format!("job/{}", &B[..12]));
    assert_eq!(files.names("/jobs/1").container_id, b"job");
    assert_eq!(files.names("/jobs"), CgroupNames::of_path(b"/jobs"));
}

#[test]
fn nobody_gets_the_name_of_another_container() {
    let files = Files::new();
    let bundle = format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{A}/config.json");
    files.write(&bundle, &cri(&format!("/kubepods/pod{UID}/{A}")));
    files
        .write(&format!("var/lib/docker/containers/{B}/config.v2.json"), r#"{"Name":"/victim","Config":{}}"#);
    for path in [
        format!("/system.slice/delegated.service/kubepods/pod{UID}/{A}"),
        format!("/other/pod{UID}/{A}"),
        format!("/system.slice/delegated.service/docker-{B}.scope"),
        "/system.slice/delegated.service/lxc.payload.victim".to_owned(),
    ] {
        assert_eq!(files.nameless(&path), Nameless::OtherCgroup, "{path}");
        assert!(files.names(&path).container_id.is_empty(), "{path}");
    }
    let of_user = format!("/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{B}.scope");
    assert_eq!(files.nameless(&of_user), Nameless::OfUser);
    assert_eq!(files.names(&of_user).container_id, format!("1000:{B}").as_bytes());
}

#[test]
fn a_container_without_a_name_has_a_reason() {
    let files = Files::new();
    let path = format!("/kubepods/pod{UID}/{A}");
    let names = files.names(&path);
    assert_eq!((names.nameless, &*names.pod), (Some(Nameless::NoState), UID.as_bytes()));
    let path = format!("/system.slice/cri-containerd-{A}.scope");
    assert_eq!(files.nameless(&path), Nameless::NoState);
    let bundle = format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{A}/config.json");
    let at = files.write(&bundle, "{\"annotations\":");
    assert_eq!(files.nameless(&path), Nameless::Damaged);
    files.write(&bundle, &" ".repeat(1 + MOST_BYTES as usize));
    assert_eq!(files.nameless(&path), Nameless::TooLarge);
    fs::remove_file(&at).expect("it is there");
    symlink("/etc/passwd", &at).expect("a link");
    assert_eq!(files.nameless(&path), Nameless::Damaged);
    fs::remove_file(&at).expect("it is there");
    mknodat(CWD, &at, FileType::Fifo, Mode::RUSR, 0).expect("a FIFO");
    assert_eq!(files.nameless(&path), Nameless::Damaged);
    // A bundle without annotations has at least an id.
    fs::remove_file(&at).expect("it is there");
    files.write(&bundle, &format!(r#"{{"linux":{{"cgroupsPath":":cri-containerd:{A}"}}}}"#));
    assert_eq!(files.told(&path)[0], A[..12]);
}
