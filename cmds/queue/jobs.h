// Jobs as the listings of PBS and Grid Engine have them: found by ids, queues and users, each with the letter of its
// state; an array is one row, or a row for each task.
#pragma once

#include <string>
#include <vector>

#include "client/show/job_view.h"
#include "cmds/queue/ids.h"
#include "cmds/queue/system.h"

namespace gw::cmds::queue {

/// What a job is doing, whatever letter that has.
enum class Doing : uint8_t { kWaits, kWaitsForTime, kIsHeld, kRuns, kStarts, kIsSuspended, kLeaves, kHasEnded };

struct Row {
  client::JobRow row;  ///< Of an array that is one row: the array's.
  std::string task;    ///< Of a row that is a task, or tasks, of an array: "3", "5-9".
  Doing doing = Doing::kWaits;
  bool is_array = false;   ///< It stands for all tasks.
  bool has_begun = false;  ///< Of an array: a task of it has.
  std::string left;        ///< Of an array: the tasks that wait, "4-9:2".
  int worst_exit = 0;      ///< Of an array: the highest exit code, or 256 and a signal, of those that ended.
};

/// How an array is listed.
enum class ArrayRows : uint8_t {
  kOne,           ///< As one row.
  kStartedApart,  ///< Those of its tasks that wait as one, each other by itself.
  kEach,          ///< Each task by itself.
};

/// Which jobs are asked for.
struct Asked {
  JobIds ids;
  std::vector<std::string> users, queues, names, accounts;
  bool with_ended = false;  ///< Those that ended a while ago, too: within two weeks where no ids are given.
  ArrayRows arrays = ArrayRows::kOne;
  bool only_living = false;  ///< Without ids: none that has ended.
};

class Jobs {
 public:
  /// Errors: of the controller, or a user that does not exist.
  static base::Result<Jobs> find(const client::Program& program, const Asked& asked);

  const std::vector<Row>& rows() const { return rows_; }
  const std::string& cluster() const { return cluster_; }
  base::Time now() const { return now_; }
  /// Asked for by number and not there.
  const std::vector<uint32_t>& unknown() const { return unknown_; }
  /// "7[3].lab"
  std::string id_of(const Row& row) const;

 private:
  Jobs() = default;
  void add_rows(ArrayRows arrays, const JobIds& ids);
  void add_arrays(const std::vector<client::JobRow>& rows);
  void add(const client::JobRow& row, std::string task);

  std::vector<wire::Job> jobs_;
  std::vector<Row> rows_;
  std::vector<uint32_t> unknown_;
  std::string cluster_;
  base::Time now_;
};

/// 256 and the signal, or the exit code.
int exit_status(const wire::Outcome& outcome);
/// Is the job held, by whomever? A job that waits for others is.
bool is_held(const wire::Job& job);
/// "u", "o" (an administrator's), "s" (it waits for other jobs), "n": none.
std::string holds_of(const wire::Job& job);

}  // namespace gw::cmds::queue
