//! `/proc/PID/limits`: lines of columns that stand at fixed places.

/// Of each limit its name, the soft one and the hard one, as the kernel writes them.
pub fn parse_limits(text: &str) -> Vec<[String; 3]> {
    let lines = text.lines().skip(1);
    let column = |line: &str, from: usize, to: usize| {
        line.get(from..to.min(line.len())).unwrap_or_default().trim().to_owned()
    };
    lines.map(|line| [column(line, 0, 26), column(line, 26, 47), column(line, 47, 68)]).collect()
}

#[cfg(test)]
mod tests {
    use super::parse_limits;

    #[test]
    fn limits_stand_in_columns() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max cpu time              unlimited            unlimited            seconds   \n\
                    Max open files            1024                 1048576              files     \n";
        let limits = parse_limits(text);
        assert_eq!(limits[1], ["Max open files", "1024", "1048576"].map(str::to_owned));
        assert_eq!((limits.len(), parse_limits("").len()), (2, 0));
    }
}
