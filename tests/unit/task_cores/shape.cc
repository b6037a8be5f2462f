// From words to places.
#include "tests/unit/task_cores/shape.h"

#include <fmt/format.h>

#include <map>

#include "attach/control/allocation_env.h"
#include "base/text.h"
#include "bind/places.h"
#include "bind/step_cores.h"
#include "cmds/gbatch/batch_table.h"
#include "cmds/grun/run_options.h"
#include "ctld/core/steps/shares.h"
#include "sched/place/place.h"
#include "tests/unit/sched/cluster_builder.h"
#include "topo/load.h"
#include "wire/convert.h"

namespace gw::task_cores {
namespace {

using base::IndexSet;
using base::Result;
using Words = std::vector<std::string>;

constexpr base::Time kNow{1'800'000'000'000'000};

/// 128 cores in 8 NUMA nodes of which four have two GPUs each, in the order of a DGX A100: 3, 1, 7, 5.
model::NodeTopology dgx_a100() {
  model::NodeTopology t;
  t.sockets = 2;
  t.memory_mb = 8 * 128'000;
  for (uint32_t n = 0; n < 8; ++n) t.numa_nodes.push_back({n, n / 4, 128'000});
  for (uint32_t c = 0; c < 128; ++c) t.cores.push_back({c / 64, c / 16, c / 4, {c, c + 128}});
  for (const uint32_t numa : {3U, 3U, 1U, 1U, 7U, 7U, 5U, 5U}) {
    model::Gpu gpu;
    gpu.type = "a100";
    gpu.socket = numa / 4;
    gpu.numa = gpu.host_bridge = gpu.pcie_switch = numa;
    for (uint32_t c = 16 * numa; c < 16 * numa + 16; ++c) gpu.near_cores.push_back(c);
    t.gpus.push_back(gpu);
  }
  return t;
}

Result<model::NodeTopology> machine(const std::string& name) {
  if (name == "8-cores") return model::flat_topology(8, 32'000, 0, "");
  if (name == "2-gpus") return sched::testing::machine(8, 2, 64'000);  // two threads a core, two sockets
  if (name == "dgx-a100") return dgx_a100();
  return topo::load(name);
}

base::Status parse(const std::vector<client::Option>& table, const Words& words) {
  const auto operands = client::parse_options(table, words, {.stop_at_operand = true});
  return operands ? base::Status{} : base::Status(tl::unexpected(operands.error()));
}

struct Step {
  uint32_t number = 0;
  model::StepRequest request;
  std::vector<model::NodeShare> shares;
};

class Life {
 public:
  Life(uint32_t nodes, model::NodeTopology topology) : topology_(topology), cluster_(nodes, topology) {}

  base::Status submit(Words words) {
    const bool is_run = words.front() == "grun";
    words.erase(words.begin());
    if (!is_run) return submit_batch(words);
    cmds::RunOptions options;
    client::CommonFlags flags;
    GW_TRY_STATUS(parse(cmds::run_table(options, flags, kNow), words));
    GW_TRY(request, cmds::step_outside(options, notes_));
    spec_ = options.job.spec;
    GW_TRY_STATUS(give());
    request.min_nodes = request.max_nodes = static_cast<uint32_t>(job_.shares.size());
    if (request.tasks == 0)
      for (const model::NodeShare& share : job_.shares) request.tasks += share.tasks;
    return begin(request);
  }

  base::Status happen(Words words) {
    if (words.front() == "end") {
      std::erase_if(steps_, [&](const Step& s) { return std::to_string(s.number) == words.at(1); });
      return {};
    }
    words.erase(words.begin());
    cmds::RunOptions options;
    client::CommonFlags flags;
    GW_TRY_STATUS(parse(cmds::run_table(options, flags, kNow), words));
    const std::map<std::string, std::string> variables = variables_of_job();
    const auto get = [&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    };
    GW_TRY(request, cmds::step_inside(options, cmds::facts_of_environment(get)));
    return begin(request);
  }

  Words lines() const {
    Words out;
    for (const model::NodeShare& share : job_.shares)
      out.push_back(fmt::format("  job on {}: {} of {} cores {}{}", share.name, share.cores.size(),
                                topology_.cores.size(), share.cores.text(),
                                share.gpus.empty() ? "" : ", GPUs " + share.gpus.text()));
    for (const Step& step : steps_)
      for (const model::NodeShare& share : step.shares) add_step(out, step, share);
    for (const std::string& wait : waiting_) out.push_back("  waits: " + wait);
    return out;
  }

 private:
  model::NodeTopology topology_;
  sched::testing::Cluster cluster_;
  model::JobSpec spec_;
  model::Allocation job_;
  std::vector<Step> steps_;
  Words waiting_, notes_;
  uint32_t next_ = 0;

  base::Status submit_batch(const Words& words) {
    cmds::BatchOptions options;
    client::CommonFlags flags;
    GW_TRY_STATUS(parse(cmds::batch_table(options, flags, kNow), words));
    GW_TRY_STATUS(cmds::complete(options, notes_));
    spec_ = options.spec;
    return give();
  }

  base::Status give() {
    const auto placed = sched::place(cluster_.view.capacity(), cluster_.partition(), spec_.request);
    if (!placed.allocation) return base::invalid("it does not fit: " + sched::explain(placed.diagnosis, "main"));
    job_ = *placed.allocation;
    return {};
  }

  std::map<std::string, std::string> variables_of_job() const {
    wire::Job job;
    job.set_id(7);
    *job.mutable_spec() = wire::to_wire(spec_);
    for (const model::NodeShare& share : job_.shares)
      *job.mutable_status()->mutable_placed()->add_shares() = wire::to_wire(share);
    std::map<std::string, std::string> variables;
    for (auto& [name, value] : attach::allocation_variables(job, "c", "/")) variables[name] = value;
    return variables;
  }

  base::Status begin(const model::StepRequest& request) {
    ctld::Taken taken;
    for (const Step& step : steps_) {
      model::Step stored;
      stored.request = step.request;
      for (const model::NodeShare& share : step.shares) stored.nodes.push_back({share, {}, {}, false});
      ctld::take(stored, taken);
    }
    GW_TRY(shares, ctld::divide(job_, request, taken, [this](base::NodeId) { return &topology_; }));
    if (shares.empty())
      waiting_.push_back(fmt::format("a step of {} tasks", request.tasks));
    else
      steps_.push_back({next_++, request, std::move(shares)});
    return {};
  }

  IndexSet unclaimed_cores(const Step& own, const model::NodeShare& at) const {
    const model::NodeShare* job = nullptr;
    for (const model::NodeShare& share : job_.shares)
      if (share.name == at.name) job = &share;
    std::vector<bind::StepCores> others;
    bind::StepCores claim;
    for (const Step& step : steps_)
      for (const model::NodeShare& share : step.shares) {
        if (share.name != at.name) continue;
        const bind::StepCores one = bind::step_cores_of(wire::to_wire(share), wire::to_wire(step.request));
        step.number == own.number ? static_cast<void>(claim = one) : others.push_back(one);
      }
    return bind::unclaimed_cores(job->cores, claim, others);
  }

  void add_step(Words& out, const Step& step, const model::NodeShare& share) const {
    const IndexSet rest = unclaimed_cores(step, share);
    IndexSet all = share.cores;
    all |= rest;
    out.push_back(fmt::format("  step {} on {}: {}, may run on cores {}", step.number, share.name,
                              step.request.overlap ? "claims nothing" : "claims cores " + share.cores.text(),
                              all.text()));
    const auto binding =
        bind::bind_tasks(wire::to_wire(topology_), wire::to_wire(share), wire::to_wire(step.request), rest);
    for (size_t t = 0; t < binding.places.size(); ++t) {
      const bind::Place& place = binding.places[t];
      if (!place.problem.empty()) {
        out.push_back(fmt::format("    task {}: {}", t, place.problem));
        continue;
      }
      const std::string gpus = binding.binds_gpus   ? "GPUs " + place.gpus.text() + ", "
                               : share.gpus.empty() ? ""
                                                    : "all GPUs, ";
      out.push_back(fmt::format("    task {}: {}{}, NUMA nodes {}", t, gpus,
                                binding.binds_cpus ? "CPUs " + place.pus.text() : "not bound", place.mems.text()));
    }
  }
};

Words words_of(const std::string& text) {
  Words words;
  for (std::string& word : base::split(text, ' '))
    if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace

Result<Words> lines_of(const Shape& shape) {
  GW_TRY(topology, machine(shape.machine));
  Life life(shape.nodes, std::move(topology));
  GW_TRY_STATUS(life.submit(words_of(shape.job)));
  for (const std::string& event : shape.events) GW_TRY_STATUS(life.happen(words_of(event)));
  return life.lines();
}

}  // namespace gw::task_cores
