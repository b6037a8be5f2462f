// Snapshots on their way from the scheduler to a client.
#include "ctld/shell/snapshots.h"

#include "snapshot/snapshot.h"

namespace gw::ctld {

Snapshots::Snapshots(io::Loop& loop, SchedulerThread& scheduler, std::string version, std::string cluster)
    : poster_(loop.poster()), scheduler_(scheduler), version_(std::move(version)), cluster_(std::move(cluster)) {}

Snapshots::~Snapshots() {
  *alive_ = false;
  if (thread_.joinable()) thread_.join();
}

base::Status Snapshots::start(DoneFn done) {
  if (is_under_way_)
    return base::fail(base::ErrorCode::kConflict, "another snapshot is being made", "try again in a moment");
  is_under_way_ = true;
  scheduler_.record_next([this, alive = alive_, done = std::move(done)](const auto& record) {
    if (*alive) encode(record, done);
  });
  return {};
}

void Snapshots::encode(const std::shared_ptr<const PassRecord>& record, DoneFn done) {
  if (thread_.joinable()) thread_.join();
  thread_ = std::thread([this, record, done = std::move(done)] {
    auto bytes =
        std::make_shared<base::Result<std::string>>(snapshot::encode(record->input, record->plan, version_, cluster_));
    poster_.post([this, alive = alive_, bytes, done] {
      if (!*alive) return;
      is_under_way_ = false;
      done(*bytes);
    });
  });
}

}  // namespace gw::ctld
