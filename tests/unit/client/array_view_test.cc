// Ids of tasks and of arrays, and the rows of those that wait.
#include "client/show/array_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "model/array.h"
#include "wire/convert.h"

namespace gw::client {
namespace {

using ::testing::ElementsAre;

wire::Job job_of_array(uint32_t id, std::optional<uint32_t> task, const char* left = "", uint32_t throttle = 0) {
  wire::Job job;
  job.set_id(id);
  job.mutable_spec()->set_name("sweep");
  job.mutable_spec()->mutable_array()->set_job(5);
  if (task) job.mutable_spec()->mutable_array()->set_task(*task);
  const auto tasks = *left == 0 ? model::TaskSet() : model::TaskSet::parse(left).value();
  *job.mutable_status()->mutable_tasks() = wire::to_wire(model::ArrayTasks{tasks, throttle, 0, 0, {}});
  return job;
}

std::vector<std::string> ids_of(const std::vector<JobRow>& rows) {
  std::vector<std::string> out;
  for (const JobRow& row : rows) out.push_back(shown_id(row));
  return out;
}

std::vector<JobRow> rows_of(const std::vector<wire::Job>& jobs) {
  std::vector<JobRow> rows;
  for (const wire::Job& job : jobs) rows.push_back({&job, {}, nullptr, {}});
  return rows;
}

TEST(ArrayView, IdsSayWhichTask) {
  wire::Job plain;
  plain.set_id(7);
  EXPECT_EQ(shown_id(plain), "7");
  EXPECT_EQ(array_of(plain), 7u);
  plain.mutable_spec()->set_het_job(6);
  plain.mutable_spec()->set_het_offset(1);
  EXPECT_EQ(shown_id(plain), "6+1");
  EXPECT_EQ(shown_id(job_of_array(9, 3)), "5_3");
  EXPECT_EQ(shown_id(job_of_array(5, std::nullopt, "6-99", 2)), "5_[6-99%2]");
  EXPECT_EQ(shown_id(job_of_array(5, std::nullopt, "6")), "5_[6]");
  EXPECT_EQ(array_of(job_of_array(9, 3)), 5u);
  wire::Job ended = job_of_array(5, std::nullopt);
  ended.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kCancelled));
  wire::to_wire(model::TaskSet::parse("1-3").value(), *ended.mutable_status()->mutable_ended()->mutable_never_made());
  EXPECT_EQ(shown_id(ended), "5_[1-3]");
}

TEST(ArrayView, LongListsAreCut) {
  std::string list;
  for (int i = 0; i < 100; i += 3) list += (list.empty() ? "" : ",") + std::to_string(i) + "," + std::to_string(i + 1);
  const wire::Job job = job_of_array(5, std::nullopt, list.c_str());
  EXPECT_EQ(array_tasks({&job, {}, nullptr, {}}).size(), 67u);
  ::setenv("SLURM_BITSTR_LEN", "0", 1);
  EXPECT_GT(array_tasks({&job, {}, nullptr, {}}).size(), 100u);
  ::setenv("SLURM_BITSTR_LEN", "10", 1);
  EXPECT_EQ(array_tasks({&job, {}, nullptr, {}}), list.substr(0, 10) + "...");
  ::unsetenv("SLURM_BITSTR_LEN");
}

TEST(ArrayView, WhatWaitsAlikeIsOneRow) {
  std::vector<wire::Job> jobs = {job_of_array(5, std::nullopt, "6-9", 2), job_of_array(6, 0), job_of_array(7, 4, "", 2),
                                 job_of_array(8, 5, "", 2)};
  jobs[1].mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kRunning));
  EXPECT_THAT(ids_of(merge_tasks(rows_of(jobs))), ElementsAre("5_0", "5_[4-9%2]"));
  EXPECT_EQ(merge_tasks(rows_of(jobs))[1].job->id(), 7u) << "the one that comes first says why they wait";
  EXPECT_THAT(ids_of(split_tasks(rows_of(jobs))), ElementsAre("5_0", "5_4", "5_5", "5_6", "5_7", "5_8", "5_9"));
  const std::map<uint32_t, model::TaskSet> only = {{5, *model::TaskSet::parse("0,7-8,99")}};
  EXPECT_THAT(ids_of(split_tasks({rows_of(jobs)[0]}, only)), ElementsAre("5_7", "5_8"));
  jobs[3].mutable_spec()->set_hold_user(true);
  EXPECT_THAT(ids_of(merge_tasks(rows_of(jobs))), ElementsAre("5_0", "5_[4,6-9%2]", "5_[5%2]"));
}

}  // namespace
}  // namespace gw::client
