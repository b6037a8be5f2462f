// See slurm_import.h.
#include "cmds/gangway/import/slurm_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/time.h"
#include "cmds/gangway/import/slurm_keys.h"
#include "cmds/gangway/import/slurm_lists.h"
#include "cmds/gangway/import/work.h"
#include "model/private_data.h"

namespace gw::cmds::import {
namespace {

using base::Result;
using base::Status;

/// The first host of "head(10.0.0.1)".
std::string host_of(const std::string& value) { return value.substr(0, value.find_first_of("(,")); }

/// "7-0" (days and hours), "14-00:00:00"
Result<std::string> half_life(const std::string& value) {
  GW_TRY(length, base::parse_duration(value));
  return std::to_string(std::max<int64_t>(60, length.seconds())) + "s";
}

Status set_by_form(Work& w, const Line& line, const SlurmKey& key, const std::string& value) {
  const std::string path(key.what);
  switch (key.form) {
    case Form::kText:
      w.take(line, key.name, value, path, yaml_text(value));
      return {};
    case Form::kPath:
      if (value.starts_with('/') && value.find_first_of(" *") == std::string::npos)
        w.take(line, key.name, value, path, yaml_text(value));
      else
        w.ignore(line, key.name, value, "it is no absolute path of one program");
      return {};
    case Form::kYesNo:
      w.take(line, key.name, value, path, w.is_yes(value) ? "true" : "false");
      return {};
    case Form::kSeconds:
    case Form::kNumber:
    case Form::kMegabytes: {
      auto number = base::parse_int(value, 0, INT64_MAX, key.name);
      if (!number) return base::invalid(line.place() + ": " + number.error().what);
      const char* unit = key.form == Form::kSeconds ? "s" : key.form == Form::kMegabytes ? "M" : "";
      if (*number == 0)
        w.ignore(line, key.name, value, "0 says nothing");
      else
        w.take(line, key.name, value, path, std::to_string(*number) + unit);
      return {};
    }
    case Form::kIgnored:
      w.ignore(line, key.name, value, std::string(key.what));
      return {};
    case Form::kByHand:
      return {};
  }
  return {};
}

void set_enforcement(Work& w, const Line& line, const std::string& value) {
  const bool enforces = !value.empty() && !base::iequals(value, "none") && value != "0";
  w.change(line, "AccountingStorageEnforce", value, "accounts.enforce", enforces ? "true" : "false",
           "accounts are QOS here, see docs/quotas.md");
}

/// Weights as an order has them, each by its own name.
void set_weight(Work& w, const Line& line, const SlurmKey& key, const std::string& value) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"PriorityWeightAge", "age"},
                                                                             {"PriorityWeightFairshare", "fair_share"},
                                                                             {"PriorityWeightJobSize", "size"},
                                                                             {"PriorityWeightPartition", "partition"},
                                                                             {"PriorityWeightQOS", "qos"}};
  for (const auto& [slurm, mine] : kNames) {
    if (slurm != key.name) continue;
    w.weights.set(std::string(mine), value);
    w.note(line, Verdict::kTaken, fmt::format("{}={} -> scheduler.order_weights.{}: {}", key.name, value, mine, value));
  }
}

Status set_maximal_age(Work& w, const Line& line, const std::string& value) {
  auto length = base::parse_duration(value);
  if (!length) return base::invalid(line.place() + ": PriorityMaxAge: " + length.error().what);
  const std::string hours = std::to_string(std::max<int64_t>(1, length->seconds() / 3600));
  w.weights.set("max_age_hours", hours);
  w.note(line, Verdict::kTaken,
         fmt::format("PriorityMaxAge={} -> scheduler.order_weights.max_age_hours: {}", value, hours));
  return {};
}

void set_selection(Work& w, const Line& line, const std::string& value) {
  if (value == "select/linear")
    w.change(line, "SelectType", value, "partition_defaults.exclusive", "true", "jobs get whole nodes");
  else
    w.ignore(line, "SelectType", value, "cores, memory and GPUs are always counted");
}

void set_fit(Work& w, const Line& line, const std::string& value) {
  if (value.find("CR_LLN") != std::string::npos)
    w.take(line, "SelectTypeParameters", value, "scheduler.fit", "worst");
  else
    w.ignore(line, "SelectTypeParameters", value, "cores, memory and GPUs are always counted");
}

void set_preemption(Work& w, const Line& line, const std::string& value) {
  if (value == "preempt/none")
    w.ignore(line, "PreemptType", value, "a QOS takes back what it is guaranteed, and no more: docs/preemption.md");
  else
    w.change(line, "PreemptType", value, "scheduler.preempt", "true",
             "and a QOS takes back what it is guaranteed: docs/preemption.md");
}

void set_licenses(Work& w, const Line& line, const std::string& value) {
  std::vector<std::string> licenses;
  for (std::string one : base::split(value, ',')) {
    one = std::string(base::trim(one));
    if (!one.empty()) licenses.push_back(one.find(':') == std::string::npos ? one + ":1" : one);
  }
  w.take(line, "Licenses", value, "licenses", yaml_list(licenses));
}

/// The rest of Slurm's words has no counterpart: partitions, events and reservations are everybody's to see.
void set_private(Work& w, const Line& line, const std::string& value) {
  std::vector<std::string> kinds, others;
  for (const std::string& one : base::split(value, ',')) {
    const std::string word = base::to_lower(base::trim(one));
    if (word == "all")
      for (const auto& [name, member] : model::kPrivateKinds) kinds.emplace_back(name);
    else if (model::is_private_kind(word))
      kinds.push_back(word);
    else if (!word.empty() && word != "none")
      others.push_back(word);
  }
  if (kinds.empty()) return w.ignore(line, "PrivateData", value, "nothing of it can be private");
  if (others.empty()) return w.take(line, "PrivateData", value, "private", yaml_list(kinds));
  w.change(line, "PrivateData", value, "private", yaml_list(kinds), base::join(others, ", ") + " cannot be private");
}

/// "socket=/run/munge/munge.socket.2"
void set_munge(Work& w, const Line& line, const std::string& value) {
  constexpr std::string_view kSocket = "socket=";
  const size_t at = value.find(kSocket);
  if (at == std::string::npos) return w.ignore(line, "AuthInfo", value, "nothing in it is for Gangway");
  const std::string path = value.substr(at + kSocket.size(), value.find(',', at) - at - kSocket.size());
  w.take(line, "AuthInfo", value, "auth.munge_socket", yaml_text(path));
}

Status set_by_hand(Work& w, const Line& line, const SlurmKey& key, const std::string& value) {
  const std::string_view name = key.name;
  if (name == "ClusterName") {
    w.take(line, name, value, "cluster", yaml_text(value));
  } else if (name == "SlurmctldHost" || name == "ControlMachine") {
    if (w.draft.sections["controller"].has("host"))
      w.ignore(line, name, value, "there is one controller, the first that is named");
    else
      w.take(line, name, value, "controller.host", yaml_text(host_of(value)));
  } else if (name == "AccountingStorageEnforce") {
    set_enforcement(w, line, value);
  } else if (name == "PriorityType") {
    const bool is_basic = value == "priority/basic";
    w.take(line, name, value, "scheduler.order", is_basic ? "fifo_skip" : "multifactor");
  } else if (name == "PriorityDecayHalfLife") {
    auto length = half_life(value);
    if (!length) return base::invalid(line.place() + ": PriorityDecayHalfLife: " + length.error().what);
    w.take(line, name, value, "scheduler.usage_half_life", *length);
  } else if (name == "PriorityMaxAge") {
    return set_maximal_age(w, line, value);
  } else if (name.starts_with("PriorityWeight")) {
    set_weight(w, line, key, value);
  } else if (name == "SelectType") {
    set_selection(w, line, value);
  } else if (name == "SelectTypeParameters") {
    set_fit(w, line, value);
  } else if (name == "PreemptType") {
    set_preemption(w, line, value);
  } else if (name == "Licenses") {
    set_licenses(w, line, value);
  } else if (name == "PrivateData") {
    set_private(w, line, value);
  } else if (name == "AuthInfo") {
    set_munge(w, line, value);
  } else if (name == "TopologyPlugin") {
    w.ignore(line, name, value, "the switches of topology.conf say it");
  } else if (name == "GresTypes") {
    w.ignore(line, name, value, "what the nodes have says it");
  } else if (name == "JobSubmitPlugins") {
    w.ignore(line, name, value, "submit_hook.program is a program of the site's own: docs/admin-guide.md");
  } else if (name == "PreemptMode") {
    w.ignore(line, name, value, "jobs say what becomes of them: --on-preempt");
  } else if (name == "MaxArraySize") {
    w.ignore(line, name, value, "arrays have up to a million tasks");
  } else if (name == "CgroupPlugin") {
    const bool is_one = value == "cgroup/v2" || value == "cgroup/v1";
    w.take(line, name, value, "node_daemon.containment", is_one ? "cgroup_" + value.substr(7) : "auto");
  }
  return {};
}

/// Settings of a file that has no lists.
Status read_globals(Work& w, const Line& line, std::span<const SlurmKey> keys) {
  for (const auto& [name, value] : line.settings) {
    const SlurmKey* key = find_key(keys, name);
    if (key == nullptr) {
      w.unknown(line, name, keys);
      continue;
    }
    GW_TRY_STATUS(key->form == Form::kByHand ? set_by_hand(w, line, *key, value) : set_by_form(w, line, *key, value));
  }
  return {};
}

Status read_line(Work& w, FileKind kind, const Line& line) {
  if (kind == FileKind::kGres) return read_gres(w, line);
  if (kind == FileKind::kTopology || line.find("SwitchName") != nullptr || line.find("BlockName") != nullptr)
    return read_switch(w, line);
  if (kind == FileKind::kCgroup) return read_globals(w, line, cgroup_keys());
  if (line.find("PartitionName") != nullptr) return read_partition(w, line);
  if (line.find("NodeName") != nullptr) return read_node(w, line);
  if (line.find("NodeSet") != nullptr) return read_node_set(w, line);
  for (const char* list : {"DownNodes", "FrontendName", "SuspendExcNodes", "MaxNodeCount"})
    if (line.find(list) != nullptr) {
      w.note(line, Verdict::kIgnored,
             fmt::format("{}={}: that is a state, which is given by hand", list, *line.find(list)));
      return {};
    }
  return read_globals(w, line, slurm_keys());
}

constexpr int kLastRound = 2;

/// Node sets name nodes by their features, and partitions name node sets, wherever these stand.
int round_of(FileKind kind, const Line& line) {
  if (kind != FileKind::kSlurm) return 0;
  return line.find("PartitionName") != nullptr ? kLastRound : line.find("NodeSet") != nullptr ? 1 : 0;
}

std::string heading(const std::vector<Source>& sources) {
  std::vector<std::string> files;
  for (const Source& source : sources)
    if (!source.lines.empty()) files.push_back(source.lines.front().file);
  return "# Imported from " + base::join(files, ", ") + ". Check it with `gangway config check`.\n";
}

}  // namespace

std::string Note::line() const {
  const char* word = verdict == Verdict::kTaken ? "taken" : verdict == Verdict::kChanged ? "changed" : "ignored";
  return fmt::format("{}: {}: {}", place, word, text);
}

FileKind kind_of(const std::string& path, const std::vector<Line>& lines) {
  const std::string name = base::to_lower(path.substr(path.rfind('/') + 1));
  if (name.find("gres") != std::string::npos) return FileKind::kGres;
  if (name.find("topology") != std::string::npos) return FileKind::kTopology;
  if (name.find("cgroup") != std::string::npos) return FileKind::kCgroup;
  const bool is_gres = std::any_of(lines.begin(), lines.end(), [](const Line& line) {
    return line.find("Name") != nullptr && (line.find("File") != nullptr || line.find("Count") != nullptr);
  });
  return is_gres ? FileKind::kGres : FileKind::kSlurm;
}

Result<Import> import_slurm(const std::vector<Source>& sources, const std::string& user) {
  Work w;
  w.draft.set("controller.user", yaml_text(user));
  for (int round = 0; round <= kLastRound; ++round)
    for (const Source& source : sources)
      for (const Line& line : source.lines)
        if (round_of(source.kind, line) == round) GW_TRY_STATUS(read_line(w, source.kind, line));
  if (!w.problems.empty()) return base::invalid(base::join(w.problems, "\n"));
  if (w.draft.nodes.empty()) return base::invalid("no NodeName= line was found", "give slurm.conf as the first file");
  finish(w);
  std::map<std::string, size_t> places;  // in the order of the files
  for (const Source& source : sources)
    for (const Line& line : source.lines) places.emplace(line.place(), places.size());
  std::vector<std::pair<size_t, Note>> ordered;
  for (Note& note : w.notes) {
    const size_t at = places.at(note.place);
    ordered.emplace_back(at, std::move(note));
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Import result{heading(sources) + w.draft.yaml(), {}};
  for (auto& [at, note] : ordered) result.notes.push_back(std::move(note));
  return result;
}

}  // namespace gw::cmds::import
