// Jobs that could start now, as the scheduler holds them: grouped into classes of equal requests, ordered within.
// Source: design section 7, "equal requests are decided once".
// Invariants: a job is in exactly one class; a class is never empty; two jobs of one class differ only in id, priority
// and times, so that what blocks one blocks all.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/request.h"

namespace gw::sched {

using base::JobId;

/// Names a class of equal requests: a hash of everything that placement looks at.
using ClassKey = uint64_t;

/// A job that is not held, not in the future and not backing off.
struct PendingJob {
  JobId id;
  model::Request request;
  std::vector<std::string> partitions;  ///< In order of preference.
  std::string qos;
  uint32_t uid = 0;
  int64_t priority = 0;  ///< Higher first; nice already taken off.
  base::Time submitted;
  base::Duration time_limit = base::kUnlimited;
};

/// Everything of a job that decides where and whether it can start. Two jobs with equal keys are treated alike.
ClassKey class_key(const PendingJob& job);

/// Who is served first: higher priority, then older, then smaller id.
struct Rank {
  int64_t priority = 0;
  base::Time submitted;
  JobId id;
  auto key() const { return std::tuple(-priority, submitted, id); }
  bool operator<(const Rank& o) const { return key() < o.key(); }
};

/// Equal requests.
struct JobClass {
  PendingJob shape;        ///< Any member; id, priority and submitted mean nothing.
  std::set<Rank> members;  ///< Best first.
  uint64_t told = 0;       ///< Hash of what was last said about why it waits.
};

class Queue {
 public:
  /// Adds a job, or replaces it if its id is there.
  void put(const PendingJob& job);
  /// Unknown ids are ignored.
  void remove(JobId id);
  const std::map<ClassKey, JobClass>& classes() const { return classes_; }
  JobClass& job_class(ClassKey key) { return classes_.at(key); }
  size_t size() const { return where_.size(); }

 private:
  struct Place {
    ClassKey key;
    Rank rank;
  };
  std::map<ClassKey, JobClass> classes_;
  std::unordered_map<JobId, Place> where_;
};

}  // namespace gw::sched
