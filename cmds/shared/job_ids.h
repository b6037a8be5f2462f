// Jobs as they are named: "7", "5-9", "12+1" (a component), "5_3" and "5_[1-3,7]" (tasks of array 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/conn/connection.h"
#include "wire/api.pb.h"

namespace gw::cmds {

struct JobIds {
  std::vector<uint32_t> jobs;
  std::map<uint32_t, std::string> tasks;  ///< Of arrays, by the array's number: "3,1-5", each part of it valid.

  bool empty() const { return jobs.empty() && tasks.empty(); }
  size_t size() const { return jobs.size() + tasks.size(); }
  /// Puts them into a request.
  void put(google::protobuf::RepeatedField<uint32_t>& ids,
           google::protobuf::RepeatedPtrField<wire::TasksOfArray>& to) const;
};

/// Cuts at the commas that stand outside brackets.
std::vector<std::string> split_ids(std::string_view text);
/// Any mix of those above; adds to what is there. Errors: "Invalid job id abc"; more than 1,000,000 ids.
base::Status parse_job_ids(std::string_view text, JobIds& ids);

/// The numbers of the jobs that these are; of an array's number the array's own. Asks the controller where tasks are
/// named. Errors: such a task is not there, or it waits with others and has no number of its own yet.
base::Result<std::vector<uint32_t>> numbers_of(const client::Program& program, const JobIds& ids);
/// Of exactly one job.
base::Result<uint32_t> number_of(const client::Program& program, const JobIds& ids);

}  // namespace gw::cmds
