// What people are shown of arrays: ids such as 5_3 and 5_[6-99%2], and one row for all tasks of an array that wait
// alike.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/show/job_view.h"
#include "model/task_set.h"

namespace gw::client {

/// "7"; "12+1": component 1 of heterogeneous job 12; "5_3": a task; "5_[6-99%2]": what is left of an array, or a part
/// of it.
std::string shown_id(const wire::Job& job);
std::string shown_id(const JobRow& row);
/// The number of its array; of any other job its own.
uint32_t array_of(const wire::Job& job);
/// "3", "6-99%2"; long ones are cut to as many characters as SLURM_BITSTR_LEN says (64). Empty: it is no array.
std::string array_tasks(const JobRow& row);
/// By array and first task.
double order_of_id(const JobRow& row);

/// Rows in the order of their ids, with one for all tasks of an array that wait and differ in nothing else.
std::vector<JobRow> merge_tasks(const std::vector<JobRow>& rows);
/// A row for each task, also of those that are left; of the arrays in `only` these tasks alone.
std::vector<JobRow> split_tasks(const std::vector<JobRow>& rows, const std::map<uint32_t, model::TaskSet>& only = {});

}  // namespace gw::client
