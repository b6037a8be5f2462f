// See dependency.h.
#include "ctld/core/admission/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"

namespace gw::ctld {

namespace {

/// So many conditions are looked at in search of a circle.
constexpr size_t kMostInSearch = 20'000;

/// Whom a job waits for: of a whole array, once, all that wait; of a task the job that has it.
class Others {
 public:
  Others(const Core& core, const NamedTasks& self) : core_(core), self_(self) {}
  std::vector<JobId> next;
  bool with_self = false;  ///< The one that is changed is among them.

  void add(const model::DependencyTerm& term) {
    if (!term.job) return;
    if (!term.task) return add_all(term.job);
    const auto id = core_.jobs.arrays().job_of(term.job, *term.task);
    if (!id) return;
    // Tasks of the same part that are not meant keep what they wait for.
    with_self |= *id == self_.job && (self_.some.empty() || self_.some.contains(*term.task));
    next.push_back(*id);
  }

 private:
  const Core& core_;
  const NamedTasks& self_;
  std::set<JobId> added_;

  void add_all(JobId id) {
    if (!added_.insert(id).second) return;
    push(id);
    for (const JobId one : jobs_of_array(core_, id))
      if (core_.jobs.at(one).waiting() != nullptr) push(one);
  }

  void push(JobId id) {
    with_self |= id == self_.job;
    next.push_back(id);
  }
};

/// "job 7", "tasks 1-3 of job 5"
std::string name_of(const Core& core, const NamedTasks& self) {
  constexpr size_t kShown = 100;
  if (self.some.empty()) return "job " + self.job.text();
  return fmt::format("tasks {} of job {}", base::printable(self.some.text(), kShown),
                     core.jobs.at(self.job).spec.array->job.value);
}

/// Does `job` wait for `self`, by however many others?
base::Status check_circle(const Core& core, const NamedTasks& self, const model::Dependency& wanted) {
  std::set<JobId> seen;
  Others others(core, self);
  std::vector<JobId>& next = others.next;
  size_t looked_at = 0;
  for (const model::DependencyTerm& term : wanted.terms) others.add(term);
  while (!next.empty()) {
    if (others.with_self)
      return base::invalid("Circular job dependency: " + name_of(core, self) + " would wait for itself");
    const JobId id = next.back();
    next.pop_back();
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

base::Status check_dependency(const Core& core, const Caller& caller, const std::string& text, const NamedTasks& self) {
  GW_TRY(wanted, model::parse_dependency(text));
  for (const model::DependencyTerm& term : wanted.terms) {
    if (!term.job) continue;
    const model::Job* job = core.jobs.find(term.job);
    if (term.task && !core.jobs.arrays().job_of(term.job, *term.task)) job = nullptr;
    if (job == nullptr || (job->spec.uid != caller.uid && !is_admin(core.settings, caller)))
      return base::invalid(fmt::format("Job dependency problem: there is no job {}{} of yours", term.job.value,
                                       term.task ? "_" + std::to_string(*term.task) : ""),
                           "ended jobs are forgotten after jobs.min_job_age");
    if (term.kind == model::DependencyKind::kAfterCorr) GW_TRY_STATUS(check_corresponding(core, term.job, self.job));
  }
  return self.job ? check_circle(core, self, wanted) : base::Status();
}

}  // namespace gw::ctld
