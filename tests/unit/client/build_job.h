// Jobs and nodes as a controller would send them, for tests of what is shown.
#pragma once

#include <cstdlib>
#include <ctime>

#include "client/show/job_view.h"
#include "model/job.h"
#include "wire/convert.h"

namespace gw::client::testing_jobs {

inline constexpr int64_t kNow = 1'800'000'000;  // 2027-01-15T08:00:00 UTC

inline void use_utc() {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
}

inline wire::Job pending_job() {
  wire::Job job;
  job.set_id(7);
  wire::JobSpec& s = *job.mutable_spec();
  s.set_name("train");
  s.set_user("alice");
  s.set_uid(1000);
  s.set_group("staff");
  s.set_gid(50);
  s.set_qos("normal");
  s.set_account("normal");
  s.add_partitions("gpu");
  s.add_partitions("cpu");
  s.set_time_limit_us(3600'000'000);
  s.set_requeue(true);
  s.set_submit_host("login");
  s.mutable_launch()->set_work_dir("/home/alice");
  s.mutable_launch()->set_command("/home/alice/train.sh");
  wire::Request& r = *s.mutable_request();
  r.set_min_nodes(2);
  r.set_max_nodes(2);
  r.set_tasks(2);
  r.set_cpus_per_task(4);
  r.set_gpu_counting(2);
  r.set_gpus(8);
  r.set_gpu_type("h100");
  r.set_mem_per_node_mb(4096);
  job.mutable_status()->set_submitted_us((kNow - 100) * 1'000'000);
  job.mutable_status()->set_eligible_us((kNow - 100) * 1'000'000);
  job.mutable_status()->mutable_waiting()->set_reason(static_cast<uint32_t>(model::WaitReason::kResources));
  return job;
}

inline wire::Job running_job() {
  wire::Job job = pending_job();
  job.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kRunning));
  wire::Placed& p = *job.mutable_status()->mutable_placed();
  for (const char* node : {"n1", "n2"}) {
    wire::NodeShare& s = *p.add_shares();
    s.set_node(node);
    s.set_tasks(1);
    s.set_cpus(4);
    s.set_cores("0-1");
    s.set_gpus("0-7");
    s.set_mem_mb(4096);
  }
  p.set_partition("gpu");
  p.set_started_us((kNow - 65) * 1'000'000);
  return job;
}

inline wire::Job ended_job(model::JobState end, model::EndReason reason, int code, int signo) {
  wire::Job job = running_job();
  wire::Placed placed = job.status().placed();
  job.mutable_status()->set_state(static_cast<uint32_t>(end));
  wire::Ended& e = *job.mutable_status()->mutable_ended();
  *e.mutable_shares() = placed.shares();
  e.set_partition("gpu");
  e.set_started_us(placed.started_us());
  e.set_ended_us((kNow - 5) * 1'000'000);
  e.mutable_outcome()->set_end(static_cast<uint32_t>(end));
  e.mutable_outcome()->set_reason(static_cast<uint32_t>(reason));
  e.mutable_outcome()->set_exit_code(code);
  e.mutable_outcome()->set_exit_signo(signo);
  return job;
}

}  // namespace gw::client::testing_jobs
