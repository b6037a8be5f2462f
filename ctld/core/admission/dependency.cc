// See dependency.h.
#include "ctld/core/admission/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ctld/core/jobs/arrays.h"

namespace gw::ctld {

namespace {

/// So many conditions are looked at in search of a circle.
constexpr size_t kMostInSearch = 20'000;

/// Whom a job waits for: of a whole array, once, all that wait; of a task the job that has it.
class Others {
 public:
  explicit Others(const Core& core) : core_(core) {}
  std::vector<JobId> next;

  void add(const model::DependencyTerm& term) {
    if (!term.job) return;
    if (!term.task) return add_all(term.job);
    if (const auto id = core_.jobs.arrays().job_of(term.job, *term.task)) next.push_back(*id);
  }

 private:
  const Core& core_;
  std::set<JobId> added_;

  void add_all(JobId id) {
    if (!added_.insert(id).second) return;
    next.push_back(id);
    for (const JobId one : jobs_of_array(core_, id))
      if (core_.jobs.at(one).waiting() != nullptr) next.push_back(one);
  }
};

/// Does `job` wait for `self`, by however many others?
base::Status check_circle(const Core& core, JobId self, const model::Dependency& wanted) {
  std::set<JobId> seen;
  Others others(core);
  std::vector<JobId>& next = others.next;
  size_t looked_at = 0;
  for (const model::DependencyTerm& term : wanted.terms) others.add(term);
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
    for (const model::DependencyTerm& term : job->unmet.terms) others.add(term);
  }
  return {};
}

/// What fails of an array is taken out of each that waits for it task by task, in one transaction.
base::Status check_corresponding(const Core& core, JobId other, JobId self) {
  constexpr size_t kMostArrays = 16;
  std::set<JobId> arrays;
  for (const JobId id : core.jobs.dependents().of({other})) {
    const model::Job& job = core.jobs.at(id);
    const auto is_for_it = [&](const model::DependencyTerm& term) {
      return term.kind == model::DependencyKind::kAfterCorr && term.job == other;
    };
    const auto& terms = job.unmet.terms;
    if (job.spec.is_array() && std::any_of(terms.begin(), terms.end(), is_for_it)) arrays.insert(job.spec.array->job);
  }
  const model::Job* own = core.jobs.find(self);
  if (own != nullptr && own->spec.array) arrays.erase(own->spec.array->job);
  if (arrays.size() < kMostArrays) return {};
  return base::invalid(fmt::format("Job dependency problem: {} arrays wait for tasks of job {} already, one by one",
                                   arrays.size(), other.value),
                       "let this one wait for one of those, or for all of it with afterok");
}

}  // namespace

base::Status check_dependency(const Core& core, const Caller& caller, const std::string& text, JobId self) {
  GW_TRY(wanted, model::parse_dependency(text));
  for (const model::DependencyTerm& term : wanted.terms) {
    if (!term.job) continue;
    const model::Job* job = core.jobs.find(term.job);
    if (term.task && !core.jobs.arrays().job_of(term.job, *term.task)) job = nullptr;
    if (job == nullptr || (job->spec.uid != caller.uid && !is_admin(core.settings, caller)))
      return base::invalid(fmt::format("Job dependency problem: there is no job {}{} of yours", term.job.value,
                                       term.task ? "_" + std::to_string(*term.task) : ""),
                           "ended jobs are forgotten after jobs.min_job_age");
    if (term.kind == model::DependencyKind::kAfterCorr) GW_TRY_STATUS(check_corresponding(core, term.job, self));
  }
  return self ? check_circle(core, self, wanted) : base::Status();
}

}  // namespace gw::ctld
