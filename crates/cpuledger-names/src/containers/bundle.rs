//! What the `config.json` of an OCI bundle says of its container, by the annotations that containerd, CRI-O and Podman write.

use std::collections::HashMap;

use cpuledger_model::framing::CgroupNames;
use cpuledger_model::make;
use serde::Deserialize;

/// The members of a bundle that say whose it is.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Bundle {
    #[serde(default)]
    annotations: Option<HashMap<String, String>>,
    #[serde(default)]
    linux: Option<Linux>,
}

#[derive(Debug, Default, Deserialize)]
struct Linux {
    #[serde(default, rename = "cgroupsPath")]
    cgroups_path: Option<String>,
}

impl Bundle {
    /// The cgroup that it asks for; empty: the runtime chooses.
    pub(super) fn cgroups_path(&self) -> &str {
        self.linux.as_ref().and_then(|linux| linux.cgroups_path.as_deref()).unwrap_or_default()
    }

    /// The names that its annotations tell.
    pub(super) fn names(&self) -> CgroupNames {
        let first = |keys: &[&str]| self.first(keys);
        let kind = first(&["io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType"]);
        let mut names = make!(CgroupNames {
            container: first(&[
                "io.kubernetes.cri.container-name",
                "io.kubernetes.container.name",
                "nerdctl/name",
            ]),
            image: first(&[
                "io.kubernetes.cri.image-name",
                "io.kubernetes.cri-o.UserRequestedImage",
                "io.kubernetes.cri-o.ImageName",
                "io.kubernetes.cri-o.Image",
            ]),
            pod: first(&["io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"]),
            namespace: first(&[
                "io.kubernetes.cri.sandbox-namespace",
                "io.kubernetes.pod.namespace",
                "io.kubernetes.cri-o.Namespace",
            ]),
        });
        // CRI-O calls it POD, and containerd gives it no name.
        if kind == b"sandbox" && !names.pod.is_empty() {
            names.container = CgroupNames::SANDBOX.to_vec();
        }
        names
    }

    /// The id of its pod, as CRI-O and Podman write it; empty: it is in none. Podman writes no more of the pod.
    pub(super) fn pod_id(&self) -> Vec<u8> {
        self.first(&["io.kubernetes.cri-o.SandboxID", "io.podman.annotations.pod.id"])
    }

    /// The first of these annotations that is there and not empty.
    fn first(&self, keys: &[&str]) -> Vec<u8> {
        let annotations = self.annotations.as_ref();
        let mut values = keys.iter().filter_map(|key| annotations?.get(*key));
        values.find(|value| !value.is_empty()).map(|value| value.clone().into_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Container, image, pod, namespace, and the id of the pod.
    fn names(annotations: &str) -> [String; 5] {
        let text = format!(
            r#"{{"ociVersion":"1.0","annotations":{annotations},"linux":{{"cgroupsPath":"a.slice:b:c","x":[1]}}}}"#
        );
        let bundle: Bundle = serde_json::from_str(&text).expect("a bundle");
        assert_eq!(bundle.cgroups_path(), "a.slice:b:c");
        let names = bundle.names();
        [names.container, names.image, names.pod, names.namespace, bundle.pod_id()]
            .map(|name| String::from_utf8(name).expect("UTF-8"))
    }

    #[test]
    fn each_runtime_has_its_annotations() {
        let containerd = r#"{"io.kubernetes.cri.container-name":"web","io.kubernetes.cri.container-type":"container",
            "io.kubernetes.cri.image-name":"docker.io/library/nginx:1.27","io.kubernetes.cri.sandbox-id":"6e14",
            "io.kubernetes.cri.sandbox-name":"shop-7d4","io.kubernetes.cri.sandbox-namespace":"prod"}"#;
        assert_eq!(names(containerd), ["web", "docker.io/library/nginx:1.27", "shop-7d4", "prod", ""]);
        let crio = r#"{"io.kubernetes.container.name":"web","io.kubernetes.cri-o.ContainerType":"container",
            "io.kubernetes.cri-o.ImageName":"quay.io/nginx:1","io.kubernetes.pod.name":"shop-7d4",
            "io.kubernetes.pod.namespace":"prod","io.kubernetes.cri-o.SandboxID":"6e14"}"#;
        assert_eq!(names(crio), ["web", "quay.io/nginx:1", "shop-7d4", "prod", "6e14"]);
        let sandbox = r#"{"io.kubernetes.container.name":"POD","io.kubernetes.cri-o.ContainerType":"sandbox","io.kubernetes.pod.name":"shop-7d4"}"#;
        assert_eq!(names(sandbox), ["(sandbox)", "", "shop-7d4", "", ""]);
        let podman = r#"{"io.container.manager":"libpod","io.kubernetes.cri-o.ContainerType":"container",
            "io.kubernetes.cri-o.SandboxID":"553bd3b46560bd79158c2ae579e1b645c51b1b7341be91cf7bc96ab7b3506400"}"#;
        let id = "553bd3b46560bd79158c2ae579e1b645c51b1b7341be91cf7bc96ab7b3506400";
        assert_eq!(names(podman), ["", "", "", "", id]);
        assert_eq!(names("null"), ["", "", "", "", ""]);
    }
}
