use rustix::time::{clock_gettime, ClockId};
fn cpu() -> f64 { let t = clock_gettime(ClockId::ProcessCPUTime); t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 / 1e6 }
fn main() {
    for _ in 0..6 {
        let a = cpu(); let _l = cpuledger_bpf::ledger::Ledger::attach(Default::default()).unwrap();
        let b = cpu(); let _i = cpuledger_bpf::Inspector::load(1024).unwrap();
        let c = cpu(); let _w = cpuledger_bpf::Walker::load().unwrap();
        let d = cpu(); let _w = cpuledger_bpf::Walker::load_for(1024,1024,4).unwrap();
        let e = cpu();
        println!("ledger {:.1} inspect {:.1} walk {:.1} brief {:.1} ms CPU", b-a, c-b, d-c, e-d);
    }
}
