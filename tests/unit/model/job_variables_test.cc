// Which variables tell of a job.
#include "model/job_variables.h"

#include <gtest/gtest.h>

namespace gw::model {
namespace {

TEST(JobVariables, AreKnownByBothPrefixes) {
  for (const char* name : {"SLURM_JOB_ID", "GANGWAY_PROCID", "SLURM_CPU_BIND_LIST", "CUDA_VISIBLE_DEVICES",
                           "SLURMD_NODENAME", "SLURM_NTASKS_HET_GROUP_1", "GANGWAY_NIC"})
    EXPECT_TRUE(is_job_variable(name)) << name;
  for (const char* name :
       {"HOME", "JOB_ID", "SLURM_", "SLURM_CONF", "GANGWAY_CONF", "GANGWAY_TIMEOUT", "X_SLURM_JOB_ID"})
    EXPECT_FALSE(is_job_variable(name)) << name;
}

TEST(JobVariables, SomeAreTheSameForAllSteps) {
  EXPECT_TRUE(is_kept_in_steps("SLURM_ARRAY_TASK_ID"));
  EXPECT_TRUE(is_kept_in_steps("GANGWAY_JOB_ID_HET_GROUP_0"));
  EXPECT_FALSE(is_kept_in_steps("SLURM_CPUS_PER_TASK"));
  EXPECT_TRUE(is_input_of_steps("SLURM_CPU_BIND"));
  EXPECT_FALSE(is_input_of_steps("SLURM_CPU_BIND_LIST"));
}

}  // namespace
}  // namespace gw::model
