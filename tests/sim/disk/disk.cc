// The disk itself. See disk.h; vfs.cc is how SQLite sees it.
#include "tests/sim/disk/disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>

#include "tests/sim/disk/vfs.h"

namespace gw::sim_cluster {
namespace {

constexpr size_t kSector = 512;

void put(const Disk::Write& write, std::string& to) {
  if (write.is_size) return to.resize(write.at);
  if (to.size() < write.at + write.bytes.size()) to.resize(write.at + write.bytes.size());
  std::copy(write.bytes.begin(), write.bytes.end(), to.begin() + static_cast<std::ptrdiff_t>(write.at));
}

/// Some sectors of a write.
void put_some(const Disk::Write& write, std::string& to, Random& random) {
  const uint32_t percent = random.any({0U, 50U, 90U, 100U});
  if (write.is_size) {
    if (random.chance(percent)) put(write, to);
    return;
  }
  for (size_t done = 0; done < write.bytes.size();) {
    const size_t size = std::min(kSector - (write.at + done) % kSector, write.bytes.size() - done);
    if (random.chance(percent)) put({false, write.at + done, write.bytes.substr(done, size)}, to);
    done += size;
  }
}

}  // namespace

Disk::Disk(uint64_t seed) : random_(seed) {
  static std::atomic<uint64_t> last = 0;
  name_ = "sim_disk_" + std::to_string(++last);
  vfs_ = std::make_unique<sqlite3_vfs>(make_vfs(name_.c_str(), this));
  sqlite3_vfs_register(vfs_.get(), 0);
  // SQLite has one source of random numbers for all disks, which it would seed from the system.
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, static_cast<int>(seed | 1), nullptr);
}

Disk::~Disk() { sqlite3_vfs_unregister(vfs_.get()); }

void Disk::lose_power(Loss loss) {
  for (auto& [path, file] : files_) {
    if (loss == Loss::kNothing) file->synced = file->now;
    if (loss == Loss::kSome)
      for (const Write& write : file->since) put_some(write, file->synced, random_);
    auto after = std::make_shared<File>();
    after->now = after->synced = file->synced;
    file = std::move(after);  // who has the old one open cannot reach the new one
  }
  ++power_cycle_;
  fuse_ = 0;
  has_power_ = false;
}

bool Disk::burns_out() {
  if (fuse_ > 0 && --fuse_ == 0) lose_power(random_.chance(50) ? Loss::kSome : Loss::kAll);
  return !has_power_;
}

int Disk::write(File& file, Write write) {
  if (burns_out()) return SQLITE_IOERR_WRITE;
  if (is_full_) return SQLITE_FULL;
  put(write, file.now);
  file.since.push_back(std::move(write));
  return SQLITE_OK;
}

int Disk::sync(File& file) {
  if (burns_out()) return SQLITE_IOERR_FSYNC;
  ++syncs_;
  for (const Write& write : file.since) put(write, file.synced);
  file.since.clear();
  return SQLITE_OK;
}

size_t Disk::unsynced() const {
  size_t bytes = 0;
  for (const auto& [path, file] : files_)
    for (const Write& write : file->since) bytes += write.bytes.size();
  return bytes;
}

std::shared_ptr<Disk::File> Disk::find(const std::string& path) const {
  const auto it = files_.find(path);
  return it == files_.end() ? nullptr : it->second;
}

std::shared_ptr<Disk::File> Disk::make(const std::string& path) {
  std::shared_ptr<File>& file = files_[path];
  if (!file) file = std::make_shared<File>();
  return file;
}

}  // namespace gw::sim_cluster
