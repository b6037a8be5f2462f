// See questions.h.
#include "ctld/shell/questions.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sched/view/quota_path.h"

namespace gw::ctld {

Questions::Questions(SchedulerThread& scheduler, AnswerFn answer) : scheduler_(scheduler), answer_(std::move(answer)) {}

bool Questions::ask(AskOutlooks question) {
  const ConnId conn = question.conn;
  const uint32_t uid = question.uid;
  constexpr std::ptrdiff_t kMostOfUser = 4;
  if (current_ && current_->conn() == conn) return false;
  if (std::count_if(waiting_.begin(), waiting_.end(), [uid](const auto& w) { return w.second.uid == uid; }) >=
      kMostOfUser)
    return false;
  if (!waiting_.try_emplace(conn, std::move(question)).second) return false;
  turns_.want(uid, conn);
  if (!current_) begin();
  return true;
}

void Questions::begin() {
  auto conn = turns_.next();
  while (conn && !waiting_.contains(*conn)) conn = turns_.next();  // closed
  if (!conn) return;
  current_.emplace(std::move(waiting_.extract(*conn).mapped()));
  step();
}

void Questions::step() {
  if (const sched::PendingJob* next = current_->next()) {
    const auto job = std::make_shared<const sched::PendingJob>(*next);
    const bool wants_quotas = current_->wants_quotas();
    return scheduler_.inspect(
        [this, alive = std::weak_ptr(alive_), job, wants_quotas](sched::ClusterView& view, base::Time now) {
          const auto path = wants_quotas ? std::optional(sched::quota_path_of(view, *job, now)) : std::nullopt;
          return [this, alive, path, outlook = sched::look_ahead(view, *job, now)] {
            if (alive.expired()) return;
            if (path) current_->take(*path);
            current_->take(outlook);
            step();
          };
        });
  }
  OpenQuestion asked = std::move(*current_);
  current_.reset();
  const sched::PendingJob* waiting = asked.waits_for_a_start();
  answer_(asked.conn(), asked.uid(), asked.answer(), waiting);
  if (!current_) begin();
}

}  // namespace gw::ctld
