//! Readers of a service that answers late, refuses, or does not answer.

use cpuledger_client::service::ServiceLedger;
use cpuledger_model::interval::Interval;

mod made;

use made::{SHORTEST_NS, Service, USUAL_NS};

#[test]
fn a_reader_never_asks_for_what_another_has_asked_for() {
    let service = Service::start();
    service.state().of_another_ns = SHORTEST_NS;
    let mut ledger = ServiceLedger::open_without_thread(&service.path(), USUAL_NS).expect("a service");
    ledger.cut().expect("it is there");
    assert_eq!(service.state().asked, [USUAL_NS, SHORTEST_NS, USUAL_NS]);
    service.state().move_ring();
    service.state().publish();
    ledger.take(false, &mut Interval::default()).expect("it is there");
    assert_eq!(service.state().asked, [USUAL_NS, SHORTEST_NS, USUAL_NS, USUAL_NS]);
}
