// Nothing held twice. See check_use.h.
#include "tests/sim/check_use.h"

#include <vector>

#include "base/bitset.h"

namespace gw::sim_cluster {
namespace {

constexpr char kUse[] = "nothing is held twice";

base::IndexSet set_of(const std::string& text) {
  const auto set = base::IndexSet::parse(text);
  if (!set) fail(kUse, "a node was sent the set \"" + text + "\"");
  return *set;
}

/// What is held on one node, thing by thing.
struct Tally {
  std::map<uint32_t, RunKey> cores;
  std::map<uint32_t, std::pair<uint32_t, RunKey>> gpus;  // thousandths, and who has the last of them
  uint64_t mem_mb = 0;
};

void take_cores(Tally& tally, RunKey run, const wire::NodeShare& share, const Machine& machine, size_t most) {
  for (const uint32_t core : set_of(share.cores()).to_vector()) {
    if (core >= most) fail(kUse, run.text() + " has core " + std::to_string(core) + ": " + machine.text());
    const auto [other, is_free] = tally.cores.emplace(core, run);
    if (!is_free)
      fail(kUse, "core " + std::to_string(core) + " is held by " + other->second.text() + " and by " + run.text() +
                     ": " + machine.text());
  }
}

void take_gpus(Tally& tally, RunKey run, const wire::NodeShare& share, const Machine& machine, size_t most) {
  const uint32_t milli = share.has_gpu_milli() ? share.gpu_milli() : 1000;
  for (const uint32_t gpu : set_of(share.gpus()).to_vector()) {
    if (gpu >= most) fail(kUse, run.text() + " has GPU " + std::to_string(gpu) + ": " + machine.text());
    auto& [held, holder] = tally.gpus[gpu];
    held += milli;
    if (held > 1000)
      fail(kUse, "GPU " + std::to_string(gpu) + " is held by " + holder.text() + " and by " + run.text() + ": " +
                     machine.text());
    holder = run;
  }
}

}  // namespace

void UseChecker::on_node_heard(const std::string& node, const wire::ControllerToNode& message) {
  if (message.has_prepare())
    partition_of_[{message.prepare().job(), message.prepare().attempt(), 0}] = message.prepare().partition();
  if (message.has_resume()) standing_.erase({node, {message.resume().job(), message.resume().attempt(), 0}});
}

void UseChecker::on_node_said(const Machine& machine, const wire::NodeToController& message) {
  if (message.has_prepared() && message.prepared().step() == 0) {
    const RunKey run{message.prepared().job(), message.prepared().attempt(), 0};
    if (!machine.knows(run))
      fail(kUse, run.text() + " is said to be prepared, and nothing keeps its share: " + machine.text());
  }
  if (message.has_suspended() && message.suspended().problem().empty())
    standing_.insert({machine.name(), {message.suspended().job(), message.suspended().attempt(), 0}});
}

void UseChecker::check_step(const Machine& machine, const Machine::Seen& step, const wire::NodeShare& job) {
  base::IndexSet cores = set_of(job.cores()), gpus = set_of(job.gpus());
  cores |= set_of(step.share.cores());
  gpus |= set_of(step.share.gpus());
  if (cores != set_of(job.cores()) || gpus != set_of(job.gpus()))
    fail(kUse, "step " + step.run.text() + " has what its job has not: " + machine.text());
}

std::map<RunKey, UseChecker::Holder> UseChecker::holders_on(const Machine& machine) {
  const std::vector<Machine::Seen> all = machine.seen();
  for (const Machine::Seen& one : all)
    if (!one.run.is_step()) shares_[{machine.name(), one.run}] = one.share;
  std::map<RunKey, Holder> out;
  for (const Machine::Seen& one : all) {
    Holder& holder = out[one.run.own()];
    const auto share = shares_.find({machine.name(), one.run.own()});
    if (share != shares_.end()) holder.share = share->second;
    holder.has_process |= one.has_process;
    holder.runs |= one.has_process && !one.is_frozen;
    holder.has_lease |= one.has_lease;
    if (one.run.is_step() && share != shares_.end()) check_step(machine, one, holder.share);
  }
  return out;
}

void UseChecker::on_machine(const Machine& machine) {
  const model::NodeTopology& node = nodes_.at(machine.name());
  Tally tally;
  for (const auto& [run, holder] : holders_on(machine)) {
    if (!holder.has_process && holder.has_lease) continue;
    tally.mem_mb += holder.share.mem_mb();
    const bool stands = !holder.runs && (holder.has_process || standing_.contains({machine.name(), run}));
    if (!stands) take_cores(tally, run, holder.share, machine, node.cores.size());
    if (!stands || !lending_.contains(partition_of_[run]))
      take_gpus(tally, run, holder.share, machine, node.gpus.size());
  }
  if (tally.mem_mb > node.memory_mb)
    fail(kUse,
         std::to_string(tally.mem_mb) + " MB of " + std::to_string(node.memory_mb) + " are held: " + machine.text());
}

}  // namespace gw::sim_cluster
