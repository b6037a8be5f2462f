// All that a controller's core says of itself, as text, for comparing the live one with one that was restored from its
// rows. Left out is what a restart changes: which nodes are in touch and since when, what the last plan said of waits,
// what nodes say again when they are back, and timers about nodes.
#pragma once

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/schema/schema.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::fuzz {

/// The fields of a message as text, by name, but for those that are left out.
inline std::string text_of(const std::string& bytes, const std::string& type,
                           const std::set<std::string, std::less<>>& left_out) {
  static const schema::Messages kMessages = schema::messages();
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  const std::vector<schema::Field>& fields = kMessages.at(type);
  std::string out;
  std::set<std::string> of_map;  // its entries come in any order
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t number = 0;
    uint32_t size = 0;
    std::string inside;
    const uint32_t kind = tag & 7U;
    const bool is_read = kind == 0   ? in.ReadVarint64(&number)
                         : kind == 1 ? in.ReadLittleEndian64(&number)
                                     : in.ReadVarint32(&size) && in.ReadString(&inside, static_cast<int>(size));
    FUZZ_CHECK(is_read);
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.number == tag >> 3U; });
    FUZZ_CHECK(field != fields.end());
    if (left_out.contains(field->name) || left_out.contains(type + "." + field->name)) continue;
    const bool is_message = field->type == schema::Type::kMessage;
    if (field->message.ends_with("Entry"))
      of_map.insert(field->name + text_of(inside, field->message, left_out));
    else if (kind != 2)
      out += fmt::format("{}:{} ", field->name, number);
    else
      out += fmt::format("{}:{{{}}} ", field->name, is_message ? text_of(inside, field->message, left_out) : inside);
  }
  for (const std::string& entry : of_map) out += entry;
  return out;
}

inline std::vector<wire::ApiRequest> every_question() {
  std::vector<wire::ApiRequest> all(9);
  all[0].mutable_list_jobs()->mutable_filter()->set_all_states(true);
  all[1].mutable_list_nodes()->set_topology(true);
  all[2].mutable_list_partitions()->set_effective(true);
  all[3].mutable_list_reservations();
  all[4].mutable_list_priorities();
  all[5].mutable_list_quotas();
  all[6].mutable_list_steps();
  all[7].mutable_show_config();
  all[8].mutable_list_held_aside();
  return all;
}

/// The answers to all that can be asked. `ask`: gives the whole reply. Of partitions of the configuration, the
/// `settings`, a start takes what that says, but for their state, which is in the fingerprint.
template <typename Ask>
std::string answers_of(const ctld::Settings& settings, const Ask& ask) {
  static const std::set<std::string, std::less<>> kChanging = {"now_us",           "tier",
                                                               "peer_address",     "boot_us",
                                                               "last_seen_us",     "state",
                                                               "since_us",         "connected",
                                                               "address",          "reason",
                                                               "reason_user",      "detail",
                                                               "blockers",         "estimated_start_us",
                                                               "unreachable",      "fragmentation",
                                                               "schedulable_cpus", "started_us"};
  std::string out;
  for (const wire::ApiRequest& question : every_question()) {
    wire::ApiReply reply = ask(question);
    for (const model::Partition& p : settings.partitions) {
      if (!reply.has_list_partitions()) break;
      auto& listed = *reply.mutable_list_partitions()->mutable_partitions();
      const auto is_it = [&](const wire::Partition& one) { return one.name() == p.name; };
      listed.erase(std::remove_if(listed.begin(), listed.end(), is_it), listed.end());
    }
    out += text_of(reply.SerializeAsString(), "ApiReply", kChanging) + "\n";
  }
  return out;
}

inline std::string text_of(const sched::Capacity& ledger, const ctld::Controller& core) {
  std::vector<std::string> lines;
  for (const auto& [id, node] : core.nodes()) {
    const sched::NodeAccount* account = ledger.node(id);
    if (account == nullptr) continue;
    for (const sched::Occupant& o : account->occupants)
      lines.push_back(fmt::format("{} holds on {}: cores {} GPUs {} of {} memory {} until {}", o.job.value,
                                  node.config.name, o.cores.text(), o.gpus.text(), o.gpu_milli, o.mem_mb, o.end.us));
  }
  for (const auto& [id, h] : ledger.holdings())
    lines.push_back(
        fmt::format("{} holds in {} since {} until {}", id.value, h.partition, h.started.us, h.expected_end.us));
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

inline std::string text_of(const sched::PendingJob& job) {
  return fmt::format("{} of {} in {} by {} {} {} {}; {} {} {} {} {} {} {} {}; {} {} {} {} {}", job.id.value,
                     fmt::join(job.partitions, ","), job.qos, job.uid, job.priority, job.nice, job.qos_priority,
                     job.submitted.us, job.eligible.us, job.saved.us, job.time_limit.us, job.time_min.us,
                     job.deadline.us, job.remaining.us, job.reservation, job.preemptible, job.may_move, job.most_tasks,
                     job.gang.value, text_of(wire::to_wire(job.request).SerializeAsString(), "Request", {}));
}

/// What the scheduler knows.
inline std::string text_of(const sched::ClusterView& view, const ctld::Controller& core) {
  std::string out = text_of(view.capacity(), core);
  for (const auto& [key, members] : view.queue().classes())
    for (const auto& [rank, job] : members.members) out += "waits: " + text_of(job) + "\n";
  for (const auto& [id, job] : view.running()) out += fmt::format("runs {}: {}\n", id.value, job ? text_of(*job) : "");
  std::set<std::string> nominations;
  for (const auto& [epoch, c] : view.nominations())
    nominations.insert(fmt::format("nomination {} {} {} {}", c.job.value, c.partition, c.when.us,
                                   fmt::join(c.allocation.node_names(), ",")));
  for (const auto& [gang, extensions] : view.gangs())
    out += fmt::format("gang {}: {}\n", gang.value, extensions.size());
  for (const auto& [uid, use] : view.usage()) out += fmt::format("use {} {}\n", uid, use);
  return fmt::format("{}{}\n", out, fmt::join(nominations, "\n"));
}

/// Of jobs only those whose moment does not depend on when the controller began.
inline std::string text_of(const ctld::Timers& timers, const ctld::Controller& core) {
  using Kind = ctld::TimerKind;
  std::set<std::string> lines;
  timers.each_due(base::Time{INT64_MAX - 1}, [&](const ctld::Timer& t) {
    const auto job = core.jobs().find(base::JobId(static_cast<uint32_t>(t.id)));
    const bool is_of_run =
        t.kind == Kind::kJobWarn || t.kind == Kind::kJobLimit;  // they stay behind when it is suspended
    if (job == core.jobs().end() || (is_of_run && job->second.state != model::JobState::kRunning)) return;
    const bool is_of_state = t.kind == Kind::kJobEligible || t.kind == Kind::kJobWarn || t.kind == Kind::kJobLimit ||
                             t.kind == Kind::kJobPurge;
    if (is_of_state) lines.insert(fmt::format("timer {} of {} at {}", static_cast<int>(t.kind), t.id, t.at.us));
  });
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace gw::fuzz
