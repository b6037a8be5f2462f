// See ledger.h.
#include "ctld/core/tables/ledger.h"

namespace gw::ctld {

base::Status Ledger::take(const Placement& p, bool forced) {
  GW_TRY_STATUS(capacity_.allocate(p.holder, p.partition, p.allocation, p.started, p.expected_end, forced));
  if (p.facts && p.facts->request.own_gpu) capacity_.set_own_gpu(p.holder);
  feed_.tell(sched::JobPlaced{p.holder, p.partition, p.allocation, p.started, p.expected_end, p.facts});
  return {};
}

void Ledger::release(base::JobId holder, base::NodeId node) {
  capacity_.release(holder, node);
  feed_.tell(sched::ShareReleased{holder, node});
}

void Ledger::expect_end(base::JobId holder, base::Time when, bool is_leaving) {
  capacity_.set_expected_end(holder, when);
  feed_.tell(sched::EndExpected{holder, when, is_leaving});
}

void Ledger::set_own_gpu(base::JobId holder) {
  capacity_.set_own_gpu(holder);
  feed_.tell(sched::GpuOwned{holder});
}

void Ledger::set_node(const sched::NodeFacts& facts) {
  empty_.reset();
  capacity_.set_node(facts);
  feed_.tell(sched::NodeSet{facts});
}

void Ledger::remove_node(base::NodeId node) {
  empty_.reset();
  capacity_.remove_node(node);
  feed_.tell(sched::NodeRemoved{node});
}

void Ledger::set_partition(const sched::PartitionFacts& facts) {
  empty_.reset();
  capacity_.set_partition(facts);
  feed_.tell(sched::PartitionSet{facts});
}

void Ledger::remove_partition(const std::string& name) {
  empty_.reset();
  capacity_.remove_partition(name);
  feed_.tell(sched::PartitionRemoved{name});
}

void Ledger::set_network(const model::Network& network) {
  empty_.reset();
  capacity_.set_network(network);
  feed_.tell(sched::NetworkSet{network});
}

sched::Capacity& Ledger::empty_cluster() {
  if (empty_) return *empty_;
  empty_.emplace();
  for (uint32_t id = 0; id < capacity_.versions().size(); ++id) {
    const sched::NodeAccount* account = capacity_.node(base::NodeId(id));
    if (account == nullptr) continue;
    sched::NodeFacts facts = account->facts;
    facts.usable = facts.topology != nullptr;
    empty_->set_node(facts);
  }
  for (const auto& [name, facts] : capacity_.partitions()) empty_->set_partition(facts);
  empty_->set_network(capacity_.network());
  return *empty_;
}

}  // namespace gw::ctld
