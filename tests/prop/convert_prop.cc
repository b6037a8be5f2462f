// Random jobs, topologies, partitions and requests survive the way over the wire; normalise() done twice changes
// nothing.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "wire/convert.h"

namespace gw {
namespace {

using model::JobState;

std::string text() { return *rc::gen::container<std::string>(rc::gen::inRange('a', 'z')); }
/// Any bytes: for fields that users write freely.
std::string bytes() { return *rc::gen::arbitrary<std::string>(); }
uint32_t number(uint32_t below = 1000) { return *rc::gen::inRange<uint32_t>(0, below); }
bool coin() { return *rc::gen::arbitrary<bool>(); }
int64_t micros() { return *rc::gen::arbitrary<int64_t>(); }
std::vector<std::string> texts() {
  std::vector<std::string> list;
  for (uint32_t n = number(4); n > 0; --n) list.push_back(text());
  return list;
}
base::IndexSet indices() {
  base::IndexSet set;
  for (uint32_t n = number(6); n > 0; --n) set.insert(number(300));
  return set;
}

model::Gres gres() {
  model::Gres out;
  for (uint32_t n = number(3); n > 0; --n) out.add(std::string(1, static_cast<char>('a' + n)), 1 + number(1'000));
  return out;
}

model::Request request() {
  model::Request r;
  r.min_nodes = number();
  r.max_nodes = number();
  r.tasks = number();
  r.tasks_per_node = number();
  r.cpus_per_task = number();
  r.mem_per_node_mb = *rc::gen::arbitrary<uint64_t>();
  r.mem_per_cpu_mb = number();
  r.mem_all = coin();
  r.gpu_counting = static_cast<model::GpuCounting>(number(4));
  r.gpus = number();
  r.gpu_type = text();
  for (uint32_t n = number(3); n > 0; --n) r.features.push_back(texts());
  r.nodelist = texts();
  r.exclude = texts();
  r.gpu_milli = number();
  r.cpus_per_gpu = number();
  r.mem_per_gpu_mb = *rc::gen::arbitrary<uint64_t>();
  for (uint32_t n = number(4); n > 0; --n)
    r.locality.push_back({static_cast<model::Locality>(number(model::kLocalityCount)), {micros()}});
  r.max_switches = number();
  r.switches_wait.us = micros();
  r.segment = number();
  r.fit = static_cast<model::Fit>(number(4));
  r.exclusive = coin();
  r.nodes_given = coin();
  r.tasks_given = coin();
  r.cpus_by_gpus = coin();
  r.whole_cores = coin();
  r.overcommit = coin();
  r.gres = gres();
  r.tmp_mb = *rc::gen::arbitrary<uint64_t>();
  r.sockets = number();
  r.socket_cores = number();
  r.contiguous = coin();
  r.tasks_per_socket = number();
  r.core_threads = number();
  return r;
}

model::Launch launch() {
  model::Launch l;
  l.script_hash = text();
  l.env_hash = text();
  for (uint32_t n = number(3); n > 0; --n) l.args.push_back(bytes());
  l.work_dir = bytes();
  l.std_out = bytes();
  l.std_err = bytes();
  l.std_in = bytes();
  l.append_output = coin();
  l.umask = number();
  model::Limits::Table limits;
  for (uint32_t n = number(3); n > 0; --n) limits[text()] = *rc::gen::arbitrary<uint64_t>();
  l.limits = model::Limits(limits);
  l.slurm_names = coin();
  l.command = bytes();
  return l;
}

model::JobSpec spec() {
  model::JobSpec s;
  s.name = bytes();
  s.uid = number();
  s.gid = number();
  s.user = text();
  s.group = text();
  s.account = text();
  s.qos = text();
  s.partitions = texts();
  s.request = request();
  s.time_limit.us = micros();
  s.begin.us = micros();
  s.priority = micros();
  s.nice = *rc::gen::arbitrary<int32_t>();
  s.hold_user = coin();
  s.hold_admin = coin();
  s.requeue = coin();
  s.warn = {static_cast<int>(number(65)), number(), coin()};
  s.comment = bytes();
  s.submit_host = text();
  s.submit_line = bytes();
  s.launch = launch();
  s.time_min.us = micros();
  s.deadline.us = micros();
  s.reservation = text();
  s.gpu_bind = text();
  s.gres_flags = text();
  return s;
}

model::Outcome outcome() {
  model::Outcome o;
  o.end = static_cast<JobState>(static_cast<uint32_t>(JobState::kCompleted) + number(9));
  o.requeue = coin();
  o.reason = static_cast<model::EndReason>(number(15));
  o.detail = bytes();
  o.exit = {*rc::gen::arbitrary<int>(), *rc::gen::arbitrary<int>()};
  o.peak_mem_mb = *rc::gen::arbitrary<uint64_t>();
  o.cancelled_by = number();
  o.ended.us = micros();
  if (coin()) o.grace = base::Duration{micros()};
  return o;
}

/// Node k is called "nk".
std::string name_of(uint32_t node) { return "n" + std::to_string(node); }

model::Allocation allocation() {
  model::Allocation a;
  for (uint32_t k = 1, n = number(5); k <= n; ++k)
    a.shares.push_back({base::NodeId(k), name_of(k), number(), number(), indices(), indices(),
                        1 + number(model::kWholeGpu), number(), gres()});
  return a;
}

model::Placed placed(JobState state) {
  model::Placed p;
  p.allocation = allocation();
  p.partition = text();
  p.placed.us = micros();
  p.started.us = micros();
  for (uint32_t n = number(3); n > 0; --n) p.waiting_for.insert(base::NodeId(1 + number(9)));
  for (uint32_t n = number(3); n > 0; --n) p.unreachable.insert(base::NodeId(1 + number(9)));
  if (state == JobState::kCompleting) p.outcome = outcome();
  p.kill_sent.us = micros();
  p.warned = coin();
  p.contract = {{micros()}, {micros()}, {micros()}, coin(), coin(), coin(), {}};
  p.program = static_cast<model::JobProgram>(number(2));
  p.uncut_limit.us = micros();
  if (coin()) p.contract.placed_in = {"r" + bytes(), bytes(), number()};
  if (coin()) p.moves_to = model::Nomination{text(), allocation(), {micros()}};
  if (coin())
    p.suspension = model::Suspension{
        base::JobId(number()), {micros()}, number(), number(10), coin(), text(), {micros()}, coin(), coin()};
  p.preemptible = coin();
  p.suspensions = number();
  p.stood_still.us = micros();
  return p;
}

model::Job job() {
  model::Job j;
  j.id = base::JobId(number());
  j.spec = spec();
  j.state = static_cast<JobState>(number(model::kJobStateCount));
  if (j.state == JobState::kPending) {
    model::Waiting waiting{static_cast<model::WaitReason>(number(16)), {micros()}, {micros()}, {}};
    if (coin()) waiting.nomination = model::Nomination{text(), allocation(), {micros()}};
    j.phase = waiting;
  } else if (model::is_end(j.state)) {
    model::Ended e{outcome(), allocation(), text(), {micros()}, {micros()}, {micros()}};
    e.outcome.end = j.state;
    j.phase = e;
  } else {
    j.phase = placed(j.state);
  }
  j.submitted.us = micros();
  j.eligible.us = micros();
  j.attempt = number();
  j.restarts = number();
  j.launch_failures = number();
  j.last_failure = text();
  return j;
}

RC_GTEST_PROP(Convert, JobsRoundTrip, ()) {
  const model::Job before = job();
  const wire::Job message = wire::to_wire(before, [](base::NodeId id) { return name_of(id.value); });
  wire::Job read;
  RC_ASSERT(read.ParseFromString(message.SerializeAsString()));
  auto after = wire::from_wire(read, [](std::string_view name) {
    return base::NodeId(static_cast<uint32_t>(std::stoul(std::string(name.substr(1)))));
  });
  RC_ASSERT(after.has_value());
  RC_ASSERT(*after == before);
}

RC_GTEST_PROP(Convert, PartitionsRoundTrip, ()) {
  model::Partition p;
  p.name = text();
  p.nodes = texts();
  p.state = static_cast<model::PartitionState>(number(4));
  p.is_default = coin();
  p.default_for_compute = coin();
  p.default_for_aux = coin();
  p.tier = *rc::gen::arbitrary<int32_t>();
  p.default_time.us = micros();
  p.max_time.us = micros();
  p.unlimited = coin();
  p.max_nodes = number();
  p.default_mem_per_cpu_mb = number();
  p.default_mem_per_gpu_mb = number();
  p.default_cpus_per_gpu = number();
  p.fit = static_cast<model::Fit>(number(4));
  p.cores_per_gpu_kept = number();
  p.allow_shared_gpus = coin();
  p.share_suspended_gpus = coin();
  p.allow_users = texts();
  p.allow_groups = texts();
  p.allow_qos = texts();
  p.deny_users = texts();
  p.exclusive = coin();
  p.lease.us = micros();
  p.consolidate = static_cast<model::Consolidate>(number(4));
  if (coin()) p.grace = base::Duration{micros()};
  p.filter = text();
  if (coin()) p.filter_weights = {{"gpus", 0.5}, {"cpus", number() / 7.0}};
  auto after = wire::from_wire(wire::to_wire(p));
  RC_ASSERT(after.has_value());
  RC_ASSERT(*after == p);
}

RC_GTEST_PROP(Convert, TopologiesRoundTrip, ()) {
  model::NodeTopology t = model::flat_topology(1 + number(64), number(), number(9), text());
  t.product = text();
  const size_t gpus = t.gpus.size();
  if (gpus > 1) {
    t.link_name = "NVLink";
    t.gpu_links.assign(gpus, std::vector<uint64_t>(gpus, 0));
    const uint32_t a = number(static_cast<uint32_t>(gpus)), b = (a + 1) % static_cast<uint32_t>(gpus);
    t.gpu_links[a][b] = t.gpu_links[b][a] = 1 + number();
  }
  t.nics.push_back({text(), text(), "infiniband", 0, 0, number(), number()});
  RC_PRE(model::validate(t).has_value());
  auto after = wire::from_wire(wire::to_wire(t));
  RC_ASSERT(after.has_value());
  RC_ASSERT(*after == t);
}

RC_GTEST_PROP(Convert, AnyBytesAreReadOrRefused, (const std::string& garbage)) {
  wire::Job message;
  if (message.ParseFromString(garbage)) (void)wire::from_wire(message).has_value();
  wire::NodeTopology topology;
  if (topology.ParseFromString(garbage)) (void)wire::from_wire(topology).has_value();
}

/// A request as options make it: often one that holds together.
model::Request plausible_request() {
  model::Request r;
  r.nodes_given = coin();
  r.tasks_given = coin();
  if (r.nodes_given) r.min_nodes = 1 + number(4), r.max_nodes = r.min_nodes + number(4);
  if (r.tasks_given) r.tasks = r.max_nodes + number(20);
  if (coin()) r.tasks_per_node = 1 + number(8);
  r.cpus_per_task = 1 + number(8);
  (coin() ? r.mem_per_node_mb : r.mem_per_cpu_mb) = number();
  r.gpu_counting = static_cast<model::GpuCounting>(number(4));
  if (r.gpu_counting != model::GpuCounting::kNone) {
    r.gpus = number(17);
    if (number(4) == 0) r.cpus_per_task = 1, r.cpus_per_gpu = 1 + number(16);
    if (number(4) == 0) r.gpus = 1, r.gpu_milli = 1 + number(model::kWholeGpu);
  }
  if (number(4) == 0) r.segment = 1 + number(4);
  for (uint32_t k = number(r.max_nodes + 1); k > 0; --k) r.nodelist.push_back(name_of(k));
  return r;
}

RC_GTEST_PROP(Normalise, TwiceIsAsOnce, ()) {
  model::Request r = plausible_request();
  const bool accepted = model::normalise(r).has_value();
  RC_CLASSIFY(accepted);
  if (!accepted) return;
  model::Request again = r;
  RC_ASSERT(model::normalise(again).has_value());
  RC_ASSERT(again == r);
  RC_ASSERT(r.min_nodes >= 1u);
  RC_ASSERT(r.min_nodes <= r.max_nodes);
  RC_ASSERT(r.tasks >= 1u);
  RC_ASSERT((r.gpus == 0) == (r.gpu_counting == model::GpuCounting::kNone));
}

}  // namespace
}  // namespace gw
