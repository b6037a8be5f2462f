// The state folder of a node daemon: lock, launcher socket, run records, step folders, boot id.
// Invariants: one daemon at a time per folder; every socket path below it fits a socket address.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/fd.h"
#include "noded/core/agent.h"

namespace gw::noded {

class StateFolder {
 public:
  /// Makes what is missing and takes the lock. Errors: too long a path, another daemon (its pid is named), errno.
  static base::Result<StateFolder> open(const std::string& dir);

  const std::string& dir() const { return dir_; }
  /// Its name holds what identifies the program: an updated gstepd gets a launcher of its own.
  std::string launcher_socket(const std::string& program) const;
  /// Sockets of launchers of other programs.
  std::vector<std::string> old_launchers(const std::string& program) const;
  std::string launcher_log() const { return dir_ + "/gstepd.log"; }
  std::string steps_dir() const { return dir_ + "/steps"; }
  std::string step_dir(RunKey run) const { return steps_dir() + "/" + run.text(); }
  std::string step_socket(RunKey run) const { return step_dir(run) + "/sock"; }

  /// Not synced unless it says: what a power failure takes with it was about processes that it ended, too. Errors:
  /// errno.
  base::Status save(const wire::RunRecord& record, bool sync = false) const;
  /// Removes the record.
  void forget(RunKey run) const;
  /// What the controller said of its state last, synced. Errors: errno.
  base::Status keep_mark(const wire::StateMark& mark) const;
  /// Empty if none was kept or it is damaged.
  wire::StateMark kept_mark() const;
  /// What the controller is to be told of programs that failed, synced. Errors: errno.
  base::Status keep_unfit(const wire::UnfitList& unfit) const;
  wire::UnfitList kept_unfit() const;
  /// Every run that left a record or a step folder. Damaged records count as those of a run with a shepherd, of the
  /// boot in which the daemon before this one scanned.
  std::vector<RecoveredRun> scan(const std::string& boot_id) const;

  /// The host's boot id, with the start of this container's first process. An emulated node adds an id of its own that
  /// is kept in the folder: removing that file simulates a reboot.
  std::string boot_id(bool is_emulated) const;

 private:
  std::string dir_;
  io::Fd lock_;

  std::string record_path(RunKey run) const { return dir_ + "/runs/" + run.text() + ".pb"; }
  RecoveredRun inspect(RunKey run, const std::string& boot_of_damaged) const;
};

}  // namespace gw::noded
