// Checker 2: what was acknowledged is kept. Whoever was given a number has that job for ever, and one job, however
// often it was asked for; who was told that a job is cancelled, or held, can rely on it; a row that was said to be
// durable is there after every loss of power; what an administrator was told of quotas, partitions, reservations, nodes
// and comments of jobs is what lists show from then on.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/checker.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::sim_cluster {

class KeptChecker final : public Checker {
 public:
  void on_sent(const std::string& node, const wire::ControllerToNode& message) override;
  void on_asked(const Asked& asked) override;
  void on_answer(const Asked& asked, const wire::ApiReply& reply) override;
  void on_rows(std::span<const store::Batch> batches, bool is_sure) override;
  void on_loaded(const store::Snapshot& snapshot) override;

  /// The rows that are durable, as far as anybody was told.
  const ctld::testing::MemoryStore& rows() const { return rows_; }
  /// Jobs that were acknowledged, with their users.
  const std::map<uint32_t, uint32_t>& jobs() const { return owner_of_; }

 private:
  void accepted(const Asked& asked, const wire::SubmitReply& reply);
  void done(const Asked& asked, uint32_t id);
  void look_at_name(const store::JobRow& row);
  void check_accounting(const store::Batch& batch) const;
  void look_at(const store::JobRow& row);
  void check_known() const;
  std::set<uint32_t> components_with(uint32_t id) const;

  ctld::testing::MemoryStore rows_;
  std::vector<store::Batch> unsure_;
  std::map<std::string, std::string> answers_;                   // to changes, by client id
  std::map<std::pair<std::string, uint32_t>, uint32_t> job_of_;  // by the submission's own name, and the component
  std::map<uint32_t, uint32_t> owner_of_;                        // by job
  std::map<uint32_t, uint32_t> restarts_;                        // likewise
  std::map<uint32_t, uint32_t> attempts_;                        // of jobs, in the rows
  std::map<std::string, std::set<uint32_t>> holds_;  // asked for, by client id: jobs that nobody released since
  std::set<uint32_t> arrays_, waiting_;              // jobs with the number of their array; jobs that wait
  std::set<uint32_t> requeued_;                      // jobs that somebody asked to be requeued
  std::map<uint32_t, uint32_t> cancelled_, held_;    // jobs, with the last attempt that they may have
};

}  // namespace gw::sim_cluster
