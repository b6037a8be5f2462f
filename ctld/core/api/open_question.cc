// See open_question.h.
#include "ctld/core/api/open_question.h"

#include <utility>

#include "ctld/core/api/why.h"

namespace gw::ctld {

const sched::PendingJob* OpenQuestion::next() {
  while (at_ > 0 && at_ < question_.asked.size() && helped_.contains(question_.series[at_ - 1])) ++at_;
  return at_ < question_.asked.size() ? &question_.asked[at_] : nullptr;
}

void OpenQuestion::take(const sched::Outlook& outlook) {
  const size_t at = at_++;
  if (question_.reply.has_submit()) return put_outlook(outlook, question_.asked[at], *question_.reply.mutable_submit());
  wire::WhyJobReply& reply = *question_.reply.mutable_why_job();
  if (outlook.is_cut) return at == 0 ? void() : reply.set_offers_cut(true);
  if (at == 0) return put_outlook(outlook, reply);
  put_outlook(outlook, *reply.mutable_offers(static_cast<int>(at - 1)));
  if (outlook.when == model::When::kNow) helped_.insert(question_.series[at - 1]);
}

void OpenQuestion::take(const sched::QuotaPath& path) { put_quotas(path, *question_.reply.mutable_why_job()); }

wire::ApiReply OpenQuestion::answer() {
  if (question_.reply.has_why_job()) {
    auto& offers = *question_.reply.mutable_why_job()->mutable_offers();
    for (int i = offers.size() - 1; i >= 0; --i)
      if (!offers[i].has_outlook()) offers.DeleteSubrange(i, 1);
  }
  return std::move(question_.reply);
}

const sched::PendingJob* OpenQuestion::waits_for_a_start() const {
  if (!question_.wants_range || question_.asked.empty()) return nullptr;
  const auto when = static_cast<model::When>(question_.reply.submit().outlook().when());
  return when == model::When::kPlanned || when == model::When::kUnknown ? &question_.asked.front() : nullptr;
}

}  // namespace gw::ctld
