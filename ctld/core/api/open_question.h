// A question about what the scheduler would do, while it is being answered: who is asked about next, and the answer
// that grows. Pure; the shell asks, between passes. Invariant: of changes that ask for less and less of one thing none
// is asked about once one of them starts the job now.
#pragma once

#include <cstddef>
#include <set>

#include "ctld/core/effects.h"
#include "sched/cycle/outlook.h"
#include "sched/view/quota_path.h"

namespace gw::ctld {

class OpenQuestion {
 public:
  explicit OpenQuestion(AskOutlooks question) : question_(std::move(question)) {}

  ConnId conn() const { return question_.conn; }
  /// Null: everything has been asked.
  const sched::PendingJob* next();
  /// What the scheduler said of it.
  void take(const sched::Outlook& outlook);
  /// The next one is asked about, as it is, how it stands in the tree of quotas, too, before take().
  bool wants_quotas() const { return at_ == 0 && question_.reply.has_why_job(); }
  void take(const sched::QuotaPath& path);
  /// Once everything has been asked.
  wire::ApiReply answer();
  /// The job, where the range of its start is wanted and it would not start now.
  const sched::PendingJob* waits_for_a_start() const;
  uint32_t uid() const { return question_.uid; }

 private:
  AskOutlooks question_;
  size_t at_ = 0;              // of `asked`
  std::set<uint32_t> helped_;  // series of which a change starts the job now
};

}  // namespace gw::ctld
