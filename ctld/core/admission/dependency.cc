// See dependency.h.
#include "ctld/core/admission/dependency.h"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace gw::ctld {

namespace {

/// So many jobs are looked at in search of a circle.
constexpr size_t kMostInSearch = 10'000;

/// Does `job` wait for `self`, by however many others?
base::Status check_circle(const Core& core, JobId self, const model::Dependency& wanted) {
  std::set<JobId> seen;
  std::vector<JobId> next;
  for (const model::DependencyTerm& term : wanted.terms) next.push_back(term.job);
  while (!next.empty()) {
    const JobId id = next.back();
    next.pop_back();
    if (id == self) return base::invalid("Circular job dependency: job " + self.text() + " would wait for itself");
    if (!id || !seen.insert(id).second) continue;
    if (seen.size() > kMostInSearch)
      return base::invalid(
          fmt::format("Job dependency problem: more than {} jobs would have to end before it", kMostInSearch));
    if (const model::Job* job = core.jobs.find(id))
      for (const model::DependencyTerm& term : job->unmet.terms) next.push_back(term.job);
  }
  return {};
}

}  // namespace

base::Status check_dependency(const Core& core, const Caller& caller, const std::string& text, JobId self) {
  GW_TRY(wanted, model::parse_dependency(text));
  for (const model::DependencyTerm& term : wanted.terms) {
    if (!term.job) continue;
    const model::Job* job = core.jobs.find(term.job);
    if (job == nullptr || (job->spec.uid != caller.uid && !is_admin(core.settings, caller)))
      return base::invalid(fmt::format("Job dependency problem: there is no job {} of yours", term.job.value),
                           "ended jobs are forgotten after jobs.min_job_age");
  }
  return self ? check_circle(core, self, wanted) : base::Status();
}

}  // namespace gw::ctld
