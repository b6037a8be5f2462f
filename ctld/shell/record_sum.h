// Sums over records: how much of the cluster users, accounts, QOS and partitions had in a time, by kind of GPU, day or
// month. Invariants: of a run that began before the time or ends after it only the part within counts; a job counts
// once in each sum, its earlier attempts with it; the number of sums is bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ctld/core/effects.h"
#include "ctld/shell/record_match.h"
#include "sched/quota/lending.h"
#include "store/records.h"

namespace gw::ctld {

class RecordSum {
 public:
  explicit RecordSum(SumRecords asked);

  uint32_t uid() const { return asked_.uid; }
  uint64_t request_id() const { return asked_.request_id; }
  /// Adds the next page of the database. Errors: of the database; more sums than are made at once.
  base::Status add_page(store::RecordReader& reader);
  bool is_done() const { return is_done_; }
  /// The answer, serialised.
  std::string reply();

 private:
  using Keys = std::vector<std::string>;
  /// One run of a job, whether it ended the job or not.
  struct Run {
    base::Time eligible, started, ended;  ///< Of one that goes on: now.
    base::Duration stood_still;
    uint32_t cpus = 0;
    uint64_t gpu_milli = 0, mem_mb = 0, used_cpu_ms = 0, idle_gpu_ms = 0;
    std::string partition, gpu_types;
  };

  SumRecords asked_;
  RecordMatch match_;  // partitions are those of each attempt
  std::set<std::string, std::less<>> partitions_;
  store::RecordPlace place_;
  std::map<uint32_t, bool> seen_;   // jobs of the pages of those that lived: they may come again
  uint32_t hidden_ = 0;             // jobs whose use the asker may not see
  std::set<uint32_t> hidden_live_;  // of these such as had not ended: they may come again
  std::map<Keys, wire::UseSum> sums_;
  std::optional<sched::Lending> lending_;  // in place of sums
  base::Status fault_;
  bool is_done_ = false;

  void add_job(const store::JobParts& parts);
  /// In the time that is asked about, and in a partition that is.
  bool ran_then(const store::JobRow& job) const;
  /// The run that the job's row is about.
  Run last_run(const store::JobRow& job, const std::map<uint32_t, uint64_t>& used_by_steps) const;
  void add_run(const store::JobRow& job, const Run& run, std::map<Keys, bool>& counted);
  /// From when until when, as far as that is of the time; how much of it the run was not suspended.
  void add_lending(const store::JobRow& job, const Run& run, base::Time from, base::Time to, double ran);
  Keys keys_of(const store::JobRow& job, const Run& run, base::Time at) const;
  base::Time period_end(base::Time at) const;
};

}  // namespace gw::ctld
