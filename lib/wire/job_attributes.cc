// What rows of job attributes do to updates and components. See the header.
#include "wire/job_attributes.h"

#include <algorithm>

#include "base/text.h"

namespace gw::wire {

static_assert(std::all_of(kJobAttributes.begin(), kJobAttributes.end(),
                          [](const JobAttribute& a) {
                            return a.since == model::kFirstVersion || a.kept.to_wire != nullptr;
                          }),
              "whether a job says it cannot be told: least_version() has to ask for it by hand");

bool says_where_to_run(const UpdateJobRequest& update) {
  for (const JobAttribute& a : kJobAttributes)
    if (a.update.only_pending && a.update.field.is_set(update)) return true;
  return false;
}

void clear_own_of_component(UpdateJobRequest& update) {
  for (const JobAttribute& a : kJobAttributes)
    if (a.is_per_component && a.update.field.clear != nullptr) a.update.field.clear(update);
}

base::Status take_plain(const UpdateJobRequest& update, bool is_admin, model::JobSpec& spec) {
  for (const JobAttribute& a : kJobAttributes) {
    const JobUpdate& u = a.update;
    if (u.who == Updater::kNobody || u.by_hand || !u.field.is_set(update)) continue;
    if (u.who == Updater::kAdmin && !is_admin)
      return base::fail(base::ErrorCode::kDenied, "only administrators may change " + std::string(u.key));
    a.kept.set(spec, u.field.get(update));
  }
  return {};
}

std::string keys_while_running() {
  std::vector<std::string> keys;
  for (const JobAttribute& a : kJobAttributes)
    if (a.update.who != Updater::kNobody && !a.update.only_pending) keys.emplace_back(a.update.key);
  const std::string last = keys.back();
  keys.pop_back();
  return base::join(keys, ", ") + " and " + last;
}

model::Version least_version(const model::JobSpec& spec, std::span<const JobAttribute> attributes) {
  model::Version least = model::kFirstVersion;
  for (const JobAttribute& a : attributes) {
    if (a.since <= least || a.kept.to_wire == nullptr) continue;
    JobSpec said;
    a.kept.to_wire(spec, said);
    if (a.kept.get(said) != a.kept.get(JobSpec())) least = a.since;
  }
  return least;
}

void take_own_of_component(const model::JobSpec& own, model::JobSpec& spec) {
  for (const JobAttribute& a : kJobAttributes)
    if (a.is_per_component && a.kept.copy != nullptr) a.kept.copy(own, spec);
}

}  // namespace gw::wire
