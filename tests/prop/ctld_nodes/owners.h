// Users and an administrator, with what they ask of the controller and what they must be able to rely on.
// Invariants: whoever gets no answer asks again with the same client id, over a connection of its own; what is answered
// holds from then on: a job that was accepted is one job, an order to one's own job is obeyed, one to somebody else's
// is refused and changes nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ctld/core/effects.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {

/// What somebody asked for.
struct Asked {
  uint32_t uid = 0;
  wire::ApiRequest request;
  std::optional<wire::ApiReply> answer;
  Time first;  ///< When it was asked first.
};

class Owners {
 public:
  /// Something new, as `pick` says. Nothing where there is no job yet that it could be about.
  std::optional<size_t> think_of(uint32_t pick, Time now);
  /// Something that was asked and has no answer; now and then something that has.
  std::optional<size_t> recall(uint32_t pick, Time now) const;
  size_t ask(uint32_t uid, wire::ApiRequest request, Time now);
  const Asked& asked(size_t which) const { return asked_[which]; }
  bool awaits_answers() const;

  /// Over this connection it is asked now; answers come back by it.
  void sent(size_t which, ConnId conn) { by_conn_[conn] = which; }
  /// The connection broke.
  void forget(ConnId conn) { by_conn_.erase(conn); }
  /// An answer has come; ends the test where it is not what it must be. `core` is what answered.
  void hear(const Reply& reply, const Controller& core);

  const std::map<JobId, uint32_t>& owners() const { return owner_of_; }
  /// Jobs of which an owner or the administrator was told that they are cancelled; with the attempt that was the last.
  const std::map<JobId, uint32_t>& cancelled() const { return cancelled_; }
  /// Somebody asked that the job, or one of its components, be requeued.
  bool may_come_back(const model::Job& job) const {
    const JobId first = job.spec.is_het() ? job.spec.het_job : job.id;
    const auto it = requeued_.lower_bound(first);
    return it != requeued_.end() && it->value < first.value + std::max(job.spec.het_size, 1U);
  }

 private:
  wire::ApiRequest submission(uint32_t pick, Time now);
  std::optional<wire::ApiRequest> order(uint32_t pick, Time now) const;
  static wire::ApiRequest change_of_quotas(uint32_t pick);
  static wire::ApiRequest reservation(uint32_t pick, Time now);
  void accepted(const Asked& asked, const wire::SubmitReply& reply);
  void judge(const Asked& asked, uint32_t id, const wire::Error* fault, const Controller& core);

  std::vector<Asked> asked_;
  std::map<ConnId, size_t> by_conn_;
  std::map<JobId, uint32_t> owner_of_;
  std::map<std::string, JobId> by_name_;
  std::map<JobId, uint32_t> cancelled_;
  std::set<JobId> requeued_;  // somebody asked for that
};

/// The tree of quotas that they start with.
std::vector<model::Qos> first_quotas();

}  // namespace gw::ctld::testing
