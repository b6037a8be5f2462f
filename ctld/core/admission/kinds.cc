// See kinds.h.
#include "ctld/core/admission/kinds.h"

#include <fmt/format.h>

#include "base/text.h"
#include "ctld/core/jobs/facts.h"
#include "model/named_counts.h"

namespace gw::ctld {

using model::JobKind;
using model::OnPreempt;

namespace {

constexpr int kMaxSignal = 64;

}  // namespace

void accept_kind(model::JobSpec& spec) {
  if (spec.kind == JobKind::kBatch) {
    spec.attended = false;
    return;
  }
  // Nobody would notice that it runs a second time.
  spec.requeue = false;
  if (!spec.not_preemptible) spec.on_preempt = model::OnPreempt::kCancel;
}

base::Status check_preemption(const model::JobSpec& spec, std::vector<std::string>& warnings) {
  if (spec.preempt_signo < 0 || spec.preempt_signo > kMaxSignal)
    return base::invalid(fmt::format("--preempt-signal: signal {} does not exist", spec.preempt_signo));
  if (spec.resize_signo < 0 || spec.resize_signo > kMaxSignal)
    return base::invalid(fmt::format("--resize-signal: signal {} does not exist", spec.resize_signo));
  const bool says_nothing = spec.on_preempt == OnPreempt::kCheckpoint || spec.on_preempt == OnPreempt::kSuspend;
  if (!spec.requeue && says_nothing)
    warnings.push_back(fmt::format("--on-preempt={} says nothing beside --no-requeue: the job is never preempted",
                                   model::name(spec.on_preempt)));
  if (spec.on_preempt == OnPreempt::kSuspend && !can_be_suspended(spec))
    warnings.push_back("--on-preempt=suspend: a job that is elastic, or in a reservation, is requeued instead");
  return {};
}

bool leave_out_licenses(const Core& core, model::JobSpec& spec) {
  if (spec.licenses.empty() || !core.settings.policy.licenses.empty()) return false;
  spec.licenses.clear();
  return true;
}

base::Status check_licenses(const Core& core, const model::Licenses& asked) {
  const model::Licenses& there = core.settings.policy.licenses;
  for (const auto& [name, count] : asked) {
    const auto has = there.find(name);
    if (has == there.end()) {
      std::vector<std::string> names;
      for (const auto& [other, n] : there) names.push_back(other);
      const std::string meant = base::did_you_mean(name, names);
      return base::with_sentence(
          base::invalid(fmt::format("--licenses: the cluster has no licence \"{}\"", name),
                        meant.empty() ? "gcontrol show licenses lists those that it has" : meant),
          model::kLicensesSentence);
    }
    if (count > has->second)
      return base::with_sentence(
          base::invalid(fmt::format("--licenses: {} of {} asked; the cluster has {}", count, name, has->second),
                        "ask for fewer"),
          model::kLicensesSentence);
  }
  return {};
}

base::Status check_licenses(const Core& core, const model::JobSpec& spec) {
  GW_TRY(asked, model::parse_licenses(spec.licenses));
  return check_licenses(core, asked);
}

}  // namespace gw::ctld
