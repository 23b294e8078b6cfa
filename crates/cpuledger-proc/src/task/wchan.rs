//! `/proc/PID/task/TID/wchan`: where a task waits in the kernel.

/// The kernel function; empty where the task does not wait. Some architectures mark functions by dots and underscores in front.
pub fn wait_channel(text: &[u8]) -> &[u8] {
    let name = text.trim_ascii();
    if name == b"0" {
        return b"";
    }
    let first = name.iter().position(|byte| !matches!(byte, b'.' | b'_')).unwrap_or(name.len());
    &name[first..]
}

#[cfg(test)]
mod tests {
    use super::wait_channel;

    #[test]
    fn functions_are_named_without_marks() {
        assert_eq!(wait_channel(b"0"), b"");
        assert_eq!(wait_channel(b"do_wait"), b"do_wait");
        assert_eq!(wait_channel(b"__x64_sys_poll"), b"x64_sys_poll");
    }
}
