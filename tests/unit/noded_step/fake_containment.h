// A containment that holds nothing and remembers what it was asked for.
#pragma once

#include <string>
#include <vector>

#include "noded/step/containment.h"

namespace gw::noded::step {

class FakeContainment : public Containment {
 public:
  ProbeReport probe() override { return {}; }
  base::Status prepare(const ContainSpec&) override { return {}; }
  void attach(const ContainSpec&) override {}
  int clone_into_fd() const override { return -1; }
  base::Status join(bool) override { return {}; }
  base::Status adopt(pid_t) override { return {}; }
  base::Status freeze() override {
    done.push_back("freeze");
    return freezes ? base::Status{} : base::Status(base::fail(base::ErrorCode::kUnavailable, "no freezer"));
  }
  base::Status thaw() override {
    done.push_back("thaw");
    return {};
  }
  std::vector<pid_t> members() override { return {}; }
  void signal_all(int signo) override { done.push_back("signal " + std::to_string(signo)); }
  void kill_pass() override { done.push_back("kill"); }
  MemoryUse memory_use() override { return {}; }
  base::Status remove() override { return {}; }
  void remove_parents(const std::string&) override {}

  std::vector<std::string> done;
  bool freezes = true;
};

}  // namespace gw::noded::step
