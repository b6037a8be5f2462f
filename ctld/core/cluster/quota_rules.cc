// See quota_rules.h.
#include "ctld/core/cluster/quota_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/text.h"
#include "ctld/core/names.h"

namespace gw::ctld {

using base::ErrorCode;
using base::Status;
using model::Qos;

namespace {

/// What a job that names no QOS runs at: the user's own, else the partition's, else the cluster's.
std::string default_qos_of(const Core& core, const std::string& user, const std::vector<std::string>& partitions) {
  if (const auto own = core.quotas.users.find(user); own != core.quotas.users.end() && !own->second.default_qos.empty())
    return own->second.default_qos;
  for (const std::string& name : partitions)
    if (const auto p = core.partitions.all.find(name); p != core.partitions.all.end() && !p->second.default_qos.empty())
      return p->second.default_qos;
  return core.settings.default_qos;
}

}  // namespace

bool has_qos(const Core& core, const std::string& name) {
  return (core.quotas.qos.contains(name) && name != model::kRootQos) || name == core.settings.default_qos;
}

namespace {

std::vector<std::string> all_qos(const Core& core) {
  std::vector<std::string> names = keys_of(core.quotas.qos);
  std::erase(names, model::kRootQos);
  if (!core.quotas.qos.contains(core.settings.default_qos)) names.push_back(core.settings.default_qos);
  return names;
}

Status check_rights(const Core& core, const Caller& caller, const std::string& qos) {
  if (is_admin(core.settings, caller) || may_submit(core.quotas, caller, qos)) return {};
  std::vector<std::string> open;
  for (const auto& [name, row] : core.quotas.qos)
    if (name != model::kRootQos && may_submit(core.quotas, caller, name)) open.push_back(name);
  return base::with_sentence(
      base::fail(ErrorCode::kDenied, fmt::format("user {} may not use QOS {}", caller.user, qos),
                 open.empty() ? "no QOS is open to you: ask an administrator or an operator of one"
                              : "you may use: " + base::join(open, ", ")),
      "Invalid qos specification");
}

}  // namespace

Status check_account(const Core& core, const Caller& caller, const std::string& account) {
  if (account.empty() || !core.settings.enforce_accounts) return {};
  if (has_qos(core, account)) return check_rights(core, caller, account);
  return tl::unexpected(invalid_name(ErrorCode::kInvalid, NameOf::kAccount, account, all_qos(core)));
}

bool selects_qos(const Core& core, const std::string& account) {
  return !account.empty() && (core.settings.enforce_accounts || has_qos(core, account));
}

Status check_qos(const Core& core, const Caller& caller, model::JobSpec& spec) {
  std::string wanted = spec.qos;
  if (wanted.empty() && selects_qos(core, spec.account)) wanted = spec.account;
  if (wanted.empty()) wanted = default_qos_of(core, spec.user, spec.partitions);
  if (!has_qos(core, wanted))
    return tl::unexpected(invalid_name(ErrorCode::kInvalid, NameOf::kQos, wanted, all_qos(core)));
  GW_TRY_STATUS(check_rights(core, caller, wanted));
  spec.qos = wanted;
  if (spec.account.empty()) spec.account = wanted;
  return {};
}

base::Duration max_wall_of(const Core& core, const std::string& qos) {
  base::Duration most = base::kUnlimited;
  for (const std::string& name : core.quotas.path(qos))
    if (const auto it = core.quotas.qos.find(name); it != core.quotas.qos.end() && it->second.max_wall.us > 0)
      most = std::min(most, it->second.max_wall);
  return most;
}

Status check_caps(const Core& core, const model::JobSpec& spec, size_t more) {
  for (const std::string& name : core.quotas.path(spec.qos)) {
    const auto it = core.quotas.qos.find(name);
    if (it == core.quotas.qos.end()) continue;
    const Qos& qos = it->second;
    if (qos.max_wall.us > 0 && spec.time_limit > qos.max_wall)
      return base::invalid(
          fmt::format("the time limit {} is longer than QOS {} allows: {}", base::format_duration(spec.time_limit),
                      name, base::format_duration(qos.max_wall)),
          "give a shorter --time");
    if (more == 0 || (qos.max_submit == 0 && qos.max_submit_per_user == 0)) continue;
    size_t all = 0, own = 0;
    std::vector<std::string> members = core.quotas.below(name);
    members.push_back(name);
    for (const std::string& member : members) {
      all += core.jobs.submitted_to(member);
      own += core.jobs.submitted_to(member, spec.uid);
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
