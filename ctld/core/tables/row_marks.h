// Which rows of jobs, of their runs and of steps the next commit writes. Whoever changes one of them marks it; the rows
// are made when the transaction is over, from the state as it is then, each once, however often it changed.
// Invariants: nobody else makes such a row; what is removed from the store is removed before what is written, so that a
// number that is given again has its new row; what has left memory before its commit has been written all the same.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "model/job.h"
#include "model/step.h"
#include "store/rows.h"

namespace gw::ctld {

/// A step by its job and its number.
using StepKey = std::pair<base::JobId, uint32_t>;

class RowMarks {
 public:
  using Jobs = std::map<base::JobId, model::Job>;
  using Steps = std::map<StepKey, model::Step>;

  /// What a job does, or how it ended.
  void job(const model::Job& job) {
    marks_[job.id];
    coalesced_jobs_.erase(job.id);
  }
  /// Also what was asked for.
  void job_and_spec(const model::Job& job) {
    marks_[job.id].with_spec = true;
    coalesced_jobs_.erase(job.id);
  }
  /// It had ended, and waits again.
  void job_revived(const model::Job& job) {
    job_and_spec(job);
    revived_.insert(job.id);
  }
  /// As job(), where each node of a large gang causes one: written with the group of commits that this one is in, once
  /// for all of them (take_coalesced()).
  void job_coalesced(const model::Job& job) {
    coalesced_jobs_.insert(job.id);
    is_newly_coalesced_ = true;
  }
  /// What one node has of the job's run, and has said of it.
  void run_node(const model::Job& job, base::NodeId node) { run_nodes_[job.id].nodes.push_back(node); }
  /// The job, and what each of its nodes has: where that changes for all of them at once.
  void run(const model::Job& job) {
    this->job(job);
    run_nodes_[job.id].are_all = true;
  }
  /// The run has left this node, and continues.
  void run_left(const model::Job& job, const std::string& node) { left_.insert({job.id, node}); }
  /// Nothing is left of the run.
  void run_over(base::JobId job) { over_.insert({job, 0}); }

  void step(const model::Step& step) {
    steps_.insert(key(step));
    coalesced_steps_.erase(key(step));
  }
  void step_coalesced(const model::Step& step) {
    coalesced_steps_.insert(key(step));
    is_newly_coalesced_ = true;
  }
  void step_node(const model::Step& step, base::NodeId node) { step_nodes_[key(step)].nodes.push_back(node); }
  /// The step, and what each of its nodes has.
  void step_and_nodes(const model::Step& step) {
    this->step(step);
    step_nodes_[key(step)].are_all = true;
  }
  void step_over(StepKey step) { over_.insert({step.first, step.second + 1}); }
  /// For accounting, where what it is made from changes before the transaction is over: the run of a placed job that
  /// comes out like this and does not end the job, and a step that is over.
  void past_run(const model::Job& job, const model::Outcome& outcome);
  void past_step(const model::Step& step, base::Time ended, model::JobState end);
  /// Something more is said of a job that has ended and is in memory no more.
  void forgotten_job(store::AmendEnded said);

  /// The rows of everything that was marked but for what is coalesced.
  store::Batch take(const Jobs& jobs, const Steps& steps);
  /// Was anything coalesced since this was asked last?
  bool take_newly_coalesced() { return std::exchange(is_newly_coalesced_, false); }
  bool has_coalesced() const { return !coalesced_jobs_.empty() || !coalesced_steps_.empty(); }
  store::Batch take_coalesced(const Jobs& jobs, const Steps& steps);
  /// The rows of a job that leaves memory now.
  store::Batch take_of(const model::Job& job);

 private:
  struct JobMark {
    bool with_spec = false;
  };
  struct Nodes {
    bool are_all = false;
    std::vector<base::NodeId> nodes;  // some of them more than once
  };
  std::map<base::JobId, JobMark> marks_;
  std::set<base::JobId> revived_;
  std::map<base::JobId, Nodes> run_nodes_;
  std::set<std::pair<base::JobId, std::string>> left_;
  std::set<std::pair<base::JobId, uint32_t>> over_;  // as in the rows: 0 or the step's number + 1
  std::set<StepKey> steps_;
  std::map<StepKey, Nodes> step_nodes_;
  std::set<base::JobId> coalesced_jobs_;
  std::set<StepKey> coalesced_steps_;
  bool is_newly_coalesced_ = false;
  store::Batch past_;

  static StepKey key(const model::Step& step) { return {step.job, step.number}; }
};

/// A job as the store has it; `with_spec`: also what it asks for.
store::JobRow row_of(const model::Job& job, bool with_spec);

}  // namespace gw::ctld
