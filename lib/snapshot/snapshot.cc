// The file around input and decisions, its hashes, and decisions as lines.
#include "snapshot/snapshot.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include "auth/crypto.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "snapshot/convert.h"

namespace gw::snapshot {
namespace {

constexpr std::string_view kFormat = "gangway snapshot";

std::string hash_of(std::string_view bytes) {
  std::string out;
  for (const unsigned char c : auth::hash_parts({bytes})) out += fmt::format("{:02x}", c);
  return out;
}

/// What is wrong with the bytes is told by our own error; the library would print a line of its own.
template <typename Message>
bool parse(Message& message, std::string_view bytes) {
  const google::protobuf::LogSilencer silencer;
  return bytes.size() <= kMaxBytes && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

tl::unexpected<base::Error> changed() {
  return base::invalid("the snapshot was changed after it was written: its hash does not match",
                       "take a new one: gcontrol snapshot FILE");
}

base::Status check_head(const wire::Snapshot& file) {
  if (file.format() != kFormat)
    return base::invalid("this is no snapshot of a controller", "make one: gcontrol snapshot FILE");
  if (file.schema_version() != kSchemaVersion)
    return base::invalid(
        fmt::format("the snapshot has schema version {} and was made by gctld {}; this program reads {}",
                    file.schema_version(), base::printable(file.version()), kSchemaVersion),
        "use the gangway of that release");
  return {};
}

/// Job that stands for its class: the one served first.
std::map<sched::ClassKey, base::JobId> classes_of(const sched::PassInput& input) {
  std::map<sched::ClassKey, base::JobId> out;
  for (const sched::PendingJob& job : input.queue) {
    out.try_emplace(sched::class_key(job, false, input.now), job.id);
    out.try_emplace(sched::class_key(job, true, input.now), job.id);
  }
  return out;
}

struct LineWriter {
  const std::map<sched::ClassKey, base::JobId>& classes;

  std::string operator()(const sched::Start& d) const {
    std::string where;
    for (const model::NodeShare& share : d.allocation.shares) {
      where += fmt::format(" {}[tasks {}, cores {}", share.name, share.tasks, share.cores.text());
      if (!share.gpus.empty()) where += fmt::format(", GPUs {}", share.gpus.text());
      if (share.gpu_milli != model::kWholeGpu) where += fmt::format(" ({}/1000)", share.gpu_milli);
      where += fmt::format(", {} MiB]", share.mem_mb);
    }
    return fmt::format("start {} in {} for {} on{}", d.job.value, d.partition, base::format_duration(d.time_limit),
                       where);
  }
  std::string operator()(const sched::Grow& d) const {
    return fmt::format("grow {} on {}", d.gang.value, base::compress_hostlist(d.allocation.node_names()));
  }
  std::string operator()(const sched::Preempt& d) const {
    return fmt::format("{} {} for {}", d.is_move ? "move" : "preempt", d.job.value, d.beneficiary.value);
  }
  std::string operator()(const sched::Nomination& d) const {
    return fmt::format("nominate {} in {} by {} on {}", d.job.value, d.partition, base::format_time(d.when),
                       base::compress_hostlist(d.node_names()));
  }
  std::string operator()(const sched::Wait& d) const {
    const auto it = classes.find(d.job_class);
    return fmt::format("wait {} ({})", it == classes.end() ? 0 : it->second.value, model::name(d.reason));
  }
  std::string operator()(const sched::Reject& d) const {
    return fmt::format("reject {} ({})", d.job.value, model::name(d.reason));
  }
};

}  // namespace

std::string plan_hash(const sched::Plan& plan) { return hash_of(to_wire(plan, false).SerializeAsString()); }

base::Result<std::string> encode(const sched::PassInput& input, const sched::Plan& plan, const std::string& version,
                                 const std::string& cluster) {
  const wire::SnapshotInput message = to_wire(input);
  wire::Snapshot file;
  file.set_format(std::string(kFormat));
  file.set_schema_version(kSchemaVersion);
  file.set_version(version);
  file.set_cluster(cluster);
  const bool written = message.ByteSizeLong() <= kMaxBytes && message.SerializeToString(file.mutable_input());
  if (!written || !to_wire(plan, true).SerializeToString(file.mutable_plan()) || file.ByteSizeLong() > kMaxBytes)
    return base::invalid(fmt::format("the snapshot would be longer than {} MiB", kMaxBytes >> 20));
  file.set_input_hash(hash_of(file.input()));
  file.set_plan_hash(plan_hash(plan));
  return file.SerializeAsString();
}

base::Result<Snapshot> decode(std::string_view bytes) {
  wire::Snapshot file;
  if (!parse(file, bytes))
    return base::invalid("this is no snapshot of a controller", "gcontrol snapshot FILE makes one");
  GW_TRY_STATUS(check_head(file));
  if (hash_of(file.input()) != file.input_hash()) return changed();
  wire::SnapshotInput input_message;
  wire::SnapshotPlan plan_message;
  if (!parse(input_message, file.input()) || !parse(plan_message, file.plan()))
    return base::invalid("the snapshot is damaged: it cannot be read");
  Snapshot out;
  out.version = file.version();
  out.cluster = file.cluster();
  GW_TRY(input, from_wire(input_message));
  GW_TRY(plan, from_wire(plan_message));
  if (plan_hash(plan) != file.plan_hash()) return changed();
  out.input = std::move(input);
  out.plan = std::move(plan);
  out.plan.epoch = out.input.epoch;
  out.input_hash = file.input_hash();
  out.plan_hash = file.plan_hash();
  return out;
}

std::vector<std::string> decision_lines(const sched::PassInput& input, const sched::Plan& plan) {
  const std::map<sched::ClassKey, base::JobId> classes = classes_of(input);
  std::vector<std::string> out;
  for (const sched::Group& group : plan.groups)
    for (const sched::Decision& d : group.decisions) out.push_back(std::visit(LineWriter{classes}, d));
  for (const sched::PlannedStart& r : plan.planned_starts)
    out.push_back(fmt::format("planned start {} in {} at {} on {}", r.job.value, r.partition,
                              base::format_time(r.start), base::compress_hostlist(r.nodes)));
  if (plan.exhausted) out.emplace_back("plan again at once");
  return out;
}

}  // namespace gw::snapshot
