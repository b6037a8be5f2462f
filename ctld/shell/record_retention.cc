// See record_retention.h.
#include "ctld/shell/record_retention.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace gw::ctld {
namespace {
constexpr base::Duration kPause = base::minutes(1), kShortPause = base::milliseconds(500);
}

RecordRetention::RecordRetention(io::Loop& loop, Committer& committer, const config::Config& config,
                                 std::function<base::Time()> now)
    : loop_(loop), committer_(committer), config_(config), now_(std::move(now)) {
  arm(kShortPause);
}

void RecordRetention::arm(base::Duration pause) {
  timer_ = loop_.after(pause, [this] { bite(); });
}

void RecordRetention::bite() {
  store::RetireOrder order;
  const base::Time now = now_();
  if (config_.keep_ended_jobs.us > 0) order.jobs_before = now - config_.keep_ended_jobs;
  if (config_.keep_events.us > 0) order.events_before = now - config_.keep_events;
  order.audit_before = now - config_.keep_audit;
  if (!config_.archive_dir.empty()) order.archive = config_.archive_dir + "/archive.db";
  const size_t most = order.most;
  committer_.retire(std::move(order), [this, most](const base::Result<uint64_t>& gone) { on_done(gone, most); });
}

void RecordRetention::on_done(const base::Result<uint64_t>& gone, size_t most) {
  std::string fault = gone ? std::string() : gone.error().text();
  if (!fault.empty() && fault != fault_) spdlog::error("old records stay in the database: {}", fault);
  fault_ = std::move(fault);
  arm(gone && *gone >= most ? kShortPause : kPause);
}

}  // namespace gw::ctld
