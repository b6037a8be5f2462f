// A disk for the controller's store: a SQLite VFS in memory that keeps what was written apart from what was synced.
// Invariants: what a sync said is done survives every loss of power; of what was written since, nothing survives, or
// any sectors of it in any order, as chance says; a file that was opened before the loss of power is of no use after
// it. Files come and go at once: SQLite syncs folders itself where that matters, and an empty file says nothing. One
// connection at a time: locks are not kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/random.h"

struct sqlite3_vfs;

namespace gw::sim_cluster {

class Disk {
 public:
  explicit Disk(uint64_t seed);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  /// Its name as a VFS.
  const std::string& vfs() const { return name_; }
  enum class Loss {
    kNothing,  ///< It was only a process that died: the system has what it wrote.
    kSome,     ///< Some sectors of what was not synced are there all the same.
    kAll,
  };
  /// The power goes.
  void lose_power(Loss loss);
  /// The power goes at the so many-th write or sync from now, which is not done.
  void lose_power_at(uint32_t operation) { fuse_ = operation; }
  bool has_power() const { return has_power_; }
  void restore_power() { has_power_ = true; }
  /// No room for more: writes fail.
  void set_full(bool is_full) { is_full_ = is_full; }
  bool is_full() const { return is_full_; }
  uint64_t syncs() const { return syncs_; }
  /// Bytes that would be lost now.
  size_t unsynced() const;

  // For the functions of the VFS.
  struct Write {
    bool is_size = false;  ///< The file gets this size.
    uint64_t at = 0;
    std::string bytes;
  };
  struct File {
    std::string synced, now;
    std::vector<Write> since;                          ///< What parts `now` from `synced`, in order.
    std::vector<std::unique_ptr<std::string>> shared;  ///< Pieces of the WAL index, which is no file at all.
  };
  std::shared_ptr<File> find(const std::string& path) const;
  std::shared_ptr<File> make(const std::string& path);
  void remove(const std::string& path) { files_.erase(path); }
  uint64_t power_cycle() const { return power_cycle_; }
  /// A SQLite code: 0, or why nothing can be written.
  int write(File& file, Write write);
  int sync(File& file);
  Random& random() { return random_; }

 private:
  bool burns_out();

  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  std::map<std::string, std::shared_ptr<File>> files_;
  Random random_;
  uint64_t power_cycle_ = 1, syncs_ = 0;
  uint32_t fuse_ = 0;
  bool has_power_ = true, is_full_ = false;
};

}  // namespace gw::sim_cluster
