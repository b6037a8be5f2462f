// libpmix, whose headers and thread end here.
// Invariants: one in a process; what it asks for comes on its own thread, which nobody may hold up; each answer is
// given once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "noded/pmix/fences.h"
#include "noded/pmix/job.h"

namespace gw::noded::pmix {

/// What the tasks want. Called on the thread of libpmix.
struct Requests {
  /// `ranks`: who takes part, ascending; empty: all.
  std::function<void(std::vector<uint32_t> ranks, std::string data, DataFn done)> fence;
  /// What a task of another node has made known.
  std::function<void(uint32_t rank, DataFn done)> modex;
  /// `done` lets the task that asks continue, to its own end.
  std::function<void(uint32_t rank, int code, std::string text, std::function<void()> done)> abort;
  /// The first of this node's tasks, or a further one, has connected.
  std::function<void()> connected;
};

class Library {
 public:
  struct Impl;
  /// `server`: its name, for clients. `folder`: for files of its own, which nobody else may write to.
  static base::Result<std::unique_ptr<Library>> open(const std::string& server, const std::string& node,
                                                     const std::string& folder, Requests requests);
  /// Waits for libpmix's threads.
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// NAME=value lines by which a task finds this server.
  base::Result<std::vector<std::string>> environment(const std::string& name, uint32_t rank) const;
  base::Status add_job(const Job& job);
  /// What a task of this node has made known, once it has; `done` comes on any thread, also at once.
  void ask_modex(const Job& job, uint32_t rank, DataFn done);
  /// The task has connected and has not said goodbye.
  bool is_connected(uint32_t rank) const;
  /// It has connected; it may have said goodbye.
  bool has_connected(uint32_t rank) const;
  /// Any task of this node is_connected().
  bool is_in_use() const;
  /// Of what misses a node that is lost.
  static int lost_status();

 private:
  std::unique_ptr<Impl> impl_;
  explicit Library(std::unique_ptr<Impl> impl);
};

}  // namespace gw::noded::pmix
