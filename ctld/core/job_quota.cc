// What the tree of quotas says to one job: which QOS it runs at, who may submit there, how long and how many.
#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "ctld/core/names.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;
using model::Qos;

/// What a job that names no QOS runs at: the user's own, else the partition's, else the cluster's.
std::string Controller::default_qos_of(const std::string& user, const std::vector<std::string>& partitions) const {
  if (const auto own = book_.users.find(user); own != book_.users.end()) return own->second.default_qos;
  for (const std::string& name : partitions)
    if (const auto p = partitions_.find(name); p != partitions_.end() && !p->second.default_qos.empty())
      return p->second.default_qos;
  return settings_.default_qos;
}

bool Controller::has_qos(const std::string& name) const {
  return (book_.qos.contains(name) && name != model::kRootQos) || name == settings_.default_qos;
}

/// An account is a second name of a QOS; an explicit QOS wins.
Status Controller::check_qos(const Caller& caller, model::JobSpec& spec) const {
  std::string wanted = spec.qos.empty() ? spec.account : spec.qos;
  if (wanted.empty()) wanted = default_qos_of(spec.user, spec.partitions);
  if (!has_qos(wanted)) {
    std::vector<std::string> names = keys_of(book_.qos);
    names.push_back(settings_.default_qos);
    const bool is_account = spec.qos.empty() && !spec.account.empty();
    return tl::unexpected(invalid_name(ErrorCode::kInvalid, is_account ? "account" : "QOS", wanted, names));
  }
  if (!is_admin(settings_, caller) && !may_submit(book_, caller, wanted)) {
    std::vector<std::string> open;
    for (const auto& [name, qos] : book_.qos)
      if (name != model::kRootQos && may_submit(book_, caller, name)) open.push_back(name);
    return base::fail(ErrorCode::kDenied, fmt::format("user {} may not use QOS {}", caller.user, wanted),
                      open.empty() ? "no QOS is open to you: ask an administrator or an operator of one"
                                   : "you may use: " + base::join(open, ", "));
  }
  spec.qos = wanted;
  if (spec.account.empty()) spec.account = wanted;
  return {};
}

/// The longest time limit that the QOS and those above it allow.
base::Duration Controller::max_wall_of(const std::string& qos) const {
  base::Duration most = base::kUnlimited;
  for (const std::string& name : book_.path(qos))
    if (const auto it = book_.qos.find(name); it != book_.qos.end() && it->second.max_wall.us > 0)
      most = std::min(most, it->second.max_wall);
  return most;
}

/// max_wall, and for `more` new jobs max_submit.
Status Controller::check_caps(const model::JobSpec& spec, size_t more) const {
  for (const std::string& name : book_.path(spec.qos)) {
    const auto it = book_.qos.find(name);
    if (it == book_.qos.end()) continue;
    const Qos& qos = it->second;
    if (qos.max_wall.us > 0 && spec.time_limit > qos.max_wall)
      return base::invalid(
          fmt::format("the time limit {} is longer than QOS {} allows: {}", base::format_duration(spec.time_limit),
                      name, base::format_duration(qos.max_wall)),
          "give a shorter --time");
    if (more == 0 || (qos.max_submit == 0 && qos.max_submit_per_user == 0)) continue;
    size_t all = 0, own = 0;
    std::vector<std::string> members = book_.below(name);
    members.push_back(name);
    for (const std::string& member : members) {
      all += jobs_.submitted_to(member);
      own += jobs_.submitted_to(member, spec.uid);
    }
    const auto full = [&](std::string_view key, size_t there, uint32_t most, std::string_view whose) {
      return base::fail(ErrorCode::kUnavailable,
                        fmt::format("QOS {} takes at most {} waiting and running ({}); {} {} there", name,
                                    base::counted(most, "job"), key, there, whose),
                        "wait until some have ended");
    };
    if (qos.max_submit > 0 && all + more > qos.max_submit) return full("max_submit", all, qos.max_submit, "are");
    if (qos.max_submit_per_user > 0 && own + more > qos.max_submit_per_user)
      return full("max_submit_per_user", own, qos.max_submit_per_user, "of yours are");
  }
  return {};
}

}  // namespace gw::ctld
