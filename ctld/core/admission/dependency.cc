// See dependency.h.
#include "ctld/core/admission/dependency.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "ctld/core/jobs/arrays.h"

namespace gw::ctld {

namespace {

/// So many conditions are looked at in search of a circle.
constexpr size_t kMostInSearch = 20'000;

/// The jobs that it waits for: of a whole array all, of a task the one that has it.
void add_others(const Core& core, const model::DependencyTerm& term, std::vector<JobId>& to) {
  if (!term.job) return;
  if (term.task) {
    for (const NamedTasks& one : find_tasks(core, term.job, model::TaskSet::of({{*term.task, *term.task, 1}}).value()))
      to.push_back(one.job);
    return;
  }
  to.push_back(term.job);
  for (const JobId one : jobs_of_array(core, term.job))
    if (core.jobs.at(one).waiting() != nullptr) to.push_back(one);
}

/// Does `job` wait for `self`, by however many others?
base::Status check_circle(const Core& core, JobId self, const model::Dependency& wanted) {
  std::set<JobId> seen;
  std::vector<JobId> next;
  size_t looked_at = 0;
  for (const model::DependencyTerm& term : wanted.terms) add_others(core, term, next);
  while (!next.empty()) {
    const JobId id = next.back();
    next.pop_back();
    if (id == self) return base::invalid("Circular job dependency: job " + self.text() + " would wait for itself");
    if (!id || !seen.insert(id).second) continue;
    const model::Job* job = core.jobs.find(id);
    if (job == nullptr) continue;
    looked_at += job->unmet.terms.size();
    if (looked_at > kMostInSearch)
      return base::invalid(
          fmt::format("Job dependency problem: more than {} conditions would have to be met before it", kMostInSearch));
    for (const model::DependencyTerm& term : job->unmet.terms) add_others(core, term, next);
  }
  return {};
}

}  // namespace

base::Status check_dependency(const Core& core, const Caller& caller, const std::string& text, JobId self) {
  GW_TRY(wanted, model::parse_dependency(text));
  for (const model::DependencyTerm& term : wanted.terms) {
    if (!term.job) continue;
    const model::Job* job = core.jobs.find(term.job);
    if (term.task && !has_task(core, term.job, *term.task)) job = nullptr;
    if (job == nullptr || (job->spec.uid != caller.uid && !is_admin(core.settings, caller)))
      return base::invalid(fmt::format("Job dependency problem: there is no job {}{} of yours", term.job.value,
                                       term.task ? "_" + std::to_string(*term.task) : ""),
                           "ended jobs are forgotten after jobs.min_job_age");
  }
  return self ? check_circle(core, self, wanted) : base::Status();
}

}  // namespace gw::ctld
