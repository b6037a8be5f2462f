// See job_charges.h.
#include "ctld/core/tables/job_charges.h"

#include <utility>

namespace gw::ctld {

using base::JobId;

void JobCharges::add(JobId id, uint32_t uid, size_t row_bytes, const BlobUse& script, const BlobUse& environment) {
  Entry& entry = jobs_[id];
  entry.uid = uid;
  entry.row_bytes = row_bytes;
  entry.script = use(uid, script);
  entry.environment = use(uid, environment);
  ++users_[uid].jobs;
  users_[uid].bytes += row_bytes;
}

void JobCharges::add_like(JobId id, JobId other) {
  const Entry like = jobs_.at(other);
  const auto blob_of = [&](const std::string* hash) {
    return hash == nullptr ? BlobUse() : BlobUse{*hash, blobs_.at(*hash).bytes};
  };
  add(id, like.uid, like.row_bytes, blob_of(like.script), blob_of(like.environment));
}

const std::string* JobCharges::use(uint32_t uid, const BlobUse& blob) {
  if (blob.hash.empty()) return nullptr;
  const auto [it, is_new] = blobs_.try_emplace(blob.hash, Blob{blob.bytes, {}});
  if (it->second.users[uid]++ == 0) users_[uid].bytes += it->second.bytes;
  return &it->first;
}

BlobUse JobCharges::leave(uint32_t uid, const std::string* hash) {
  if (hash == nullptr) return {};
  const auto it = blobs_.find(*hash);
  const auto mine = it->second.users.find(uid);
  if (--mine->second == 0) {
    users_[uid].bytes -= it->second.bytes;
    it->second.users.erase(mine);
  }
  if (!it->second.users.empty()) return {};
  BlobUse gone{it->first, it->second.bytes};
  blobs_.erase(it);
  return gone;
}

void JobCharges::resize(JobId id, size_t row_bytes) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  users_[it->second.uid].bytes += row_bytes - it->second.row_bytes;
  it->second.row_bytes = row_bytes;
}

void JobCharges::end(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end() || !std::exchange(it->second.is_live, false)) return;
  --users_[it->second.uid].jobs;
}

void JobCharges::revive(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end() || std::exchange(it->second.is_live, true)) return;
  ++users_[it->second.uid].jobs;
}

bool JobCharges::has_environment(JobId id) const {
  const auto it = jobs_.find(id);
  return it != jobs_.end() && it->second.environment != nullptr;
}

BlobUse JobCharges::release_environment(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return {};
  return leave(it->second.uid, std::exchange(it->second.environment, nullptr));
}

BlobUse JobCharges::remove(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return {};
  end(id);
  const Entry entry = it->second;
  jobs_.erase(it);
  users_[entry.uid].bytes -= entry.row_bytes;
  BlobUse gone = leave(entry.uid, entry.script);
  tidy(entry.uid);
  return gone;
}

void JobCharges::tidy(uint32_t uid) {
  const auto it = users_.find(uid);
  if (it != users_.end() && it->second.jobs == 0 && it->second.bytes == 0) users_.erase(it);
}

JobCharges::Of JobCharges::of(uint32_t uid) const {
  const auto it = users_.find(uid);
  return it == users_.end() ? Of{} : it->second;
}

size_t JobCharges::row_bytes(JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? 0 : it->second.row_bytes;
}

size_t JobCharges::would_add(uint32_t uid, const BlobUse& blob) const {
  if (blob.hash.empty()) return 0;
  const auto it = blobs_.find(blob.hash);
  return it != blobs_.end() && it->second.users.contains(uid) ? 0 : blob.bytes;
}

}  // namespace gw::ctld
