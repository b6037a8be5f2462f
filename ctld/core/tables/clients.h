// Clients and what they wait for: answers, steps, lists, allocations that end with them; and what a user may ask for.
// Invariants: who waits is forgotten when its connection closes; a user's budget counts what is kept for it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "ctld/core/effects.h"
#include "ctld/core/tables/change_watch.h"
#include "ctld/core/tables/job_charges.h"
#include "ctld/core/tables/kept_replies.h"
#include "ctld/core/tables/listings.h"
#include "ctld/core/tables/mail_rate.h"
#include "ctld/core/tables/request_rate.h"
#include "ctld/core/tables/row_marks.h"
#include "model/step.h"

namespace gw::ctld {

struct Waiter {
  ConnId conn = 0;
  uint64_t request_id = 0;
  bool until_started = false;
  bool takes_notices = false;
};

/// A step that other steps leave no room for yet.
struct StepWait {
  ConnId conn = 0;
  uint64_t request_id = 0;  ///< 0: who asks for it does not wait for an answer yet.
  model::StepRequest request;
  std::string client_key;
  std::vector<uint32_t> beside = {};  ///< Steps that are launched together with it.
};

/// A request for what steps use, until their nodes have said it.
struct UseAsked {
  ConnId conn{};
  uint64_t request_id = 0;
  base::Time until;
  std::set<std::pair<uint32_t, base::NodeId>> open;  ///< Number of the step + 1, or 0; node.
  wire::StepUsageReply reply;
};

struct Clients {
  Clients(KeptReplies::Limits limits, base::Time boot) : kept_replies(limits), changes(boot) {}

  KeptReplies kept_replies;
  RequestRate request_rate;
  RequestRate question_rate;  ///< Of those that the scheduler is asked.
  MailRate refusal_rate;      ///< Of those that go into the audit.
  RequestRate token_rate;     ///< Of tokens that each user makes: every one leaves a line in the audit.
  MailRate mail_rate;
  JobCharges charges;
  Listings listings;
  ChangeWatch changes;
  std::multimap<base::JobId, Waiter> waiters;
  /// Lines for clients that were answered with one and have not waited again.
  std::map<std::pair<base::JobId, ConnId>, std::deque<std::string>> unheard;
  std::multimap<StepKey, Waiter> step_waiters;
  std::map<base::JobId, std::deque<StepWait>> waiting_steps;  ///< No empty line.
  std::map<uint64_t, UseAsked> use_asked;
  uint64_t last_use = 0;
  std::map<base::JobId, ConnId> attendants;  ///< Connections whose end ends the job.
};

}  // namespace gw::ctld
