//! User, system and stolen time of each part of CPU time: the columns of `ptop` by Michael Holzheu (2010).

use cpuledger_model::interval::Usage;

use crate::shares::apportion;

/// Of a column: `100.00`.
pub(super) const WIDTH: usize = 6;

/// Hundredths of a percent in a whole.
const WHOLE: u128 = 10_000;

/// Of a row's own time, of that of dead processes and of that of dead threads: user, system and stolen time, and last the sum of all. In hundredths
/// of a percent of one CPU; `None`: not known. Where all are known, the nine add up to the sum as they are printed: what rounding has left over
/// goes to the largest remainders.
pub(super) fn percents(usage: &Usage, length_ns: u64) -> [Option<u64>; 10] {
    let length_ns = u128::from(length_ns.max(1));
    let rounded = |ns: u64| ((u128::from(ns) * WHOLE + length_ns / 2) / length_ns) as u64;
    let [own, threads, children] =
        usage.divided().map(|part| part.map(|part| [part.user_ns, part.system_ns, part.stolen_ns]));
    let parts = [own, children, threads];
    let ns: [Option<u64>; 9] = std::array::from_fn(|place| Some(parts[place / 3]?[place % 3]));
    let sum = usage.known_cpu_ns().map(rounded);
    let weights = ns.map(Option::unwrap_or_default);
    let is_whole = ns.iter().copied().sum::<Option<u64>>() == usage.known_cpu_ns();
    let shares = sum.filter(|_| is_whole).map(|sum| apportion(weights, sum).unwrap_or_default().map(Some));
    let nine = shares.unwrap_or_else(|| ns.map(|ns| ns.map(rounded)));
    std::array::from_fn(|place| nine.get(place).copied().unwrap_or(sum))
}

#[cfg(test)]
mod tests {
    use cpuledger_model::interval::Division;
    use cpuledger_model::make;

    use super::*;

    #[test]
    fn the_nine_add_up_as_printed() {
        let usage = make!(Usage {
            cpu_ns: 10,
            self_ns: 4,
            exited_threads_ns: Some(3),
            exited_children_ns: Some(3),
            stolen_ns: Some(2),
            exited_children_stolen_ns: Some(1),
            division: make!(Division {
                self_user_ns: Some(2),
                exited_threads_user_ns: Some(1),
                exited_threads_stolen_ns: Some(1),
                exited_children_user_ns: Some(1),
            }),
        });
        let told = percents(&usage, 7_000).map(|percent| percent.expect("all are known"));
        assert_eq!(told[..9].iter().sum::<u64>(), told[9]);
        assert_eq!(told, [3, 2, 2, 2, 1, 1, 1, 1, 1, 14]);
        let unknown = make!(Usage { exited_children_stolen_ns: None, ..usage });
        assert_eq!(percents(&unknown, 7_000)[2..7], [Some(1), None, None, None, Some(1)]);
    }
}
