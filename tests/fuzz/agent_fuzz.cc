// The node agent, told anything by the controller, by shepherds and by its own files: it never falls over, and what it
// has launched stays in its own folder and group.
#include "base/text.h"
#include "tests/fuzz/records.h"
#include "tests/unit/noded_core/agent_script.h"

namespace gw::fuzz {
namespace {

using noded::NodeAgent;
using noded::RunKey;
using noded::testing::AgentScript;

constexpr size_t kMaxRecords = 40;

enum Kind : uint8_t {
  kOrder,
  kShepherd,
  kUser,
  kConnected,
  kLost,
  kGone,
  kLaunchFailed,
  kSharePrepared,
  kShareReleased,
  kLinkUp,
  kLinkDown,
  kWait,
  kKinds
};

/// No part of a path that leads out of where it is to be.
bool is_below(const std::string& path, const std::string& folder) {
  const auto parts = base::split(path, '/');
  return path.starts_with(folder) && std::count(parts.begin(), parts.end(), "..") == 0;
}

class Play {
 public:
  explicit Play(Input& in) : agent_(AgentScript::config()) {
    std::vector<noded::RecoveredRun> found(in.u8() % 3);
    for (noded::RecoveredRun& run : found) is_understood_ = recover(in, run) && is_understood_;
    check(agent_.on_recovered(now_, found));
  }

  bool run(Input& in) {
    for (size_t n = 0; n < kMaxRecords && !in.empty(); ++n) {
      now_ = now_ + base::milliseconds(1);
      agent_.set_lease_clock({now_.us});
      check(happen(take_record(in)));
      FUZZ_CHECK(agent_.next_wakeup() > base::Time{});
    }
    return is_understood_;
  }

 private:
  NodeAgent agent_;
  base::Time now_{1'000'000'000};
  bool is_understood_ = true;

  static bool recover(Input& in, noded::RecoveredRun& run) {
    const Record r = take_record(in);
    run.shepherd_answers = r.choice % 2 == 1;
    run.has_step_dir = r.choice % 4 >= 2;
    if (r.choice % 8 >= 4) run.exit.emplace();
    return parse_message(run.record, r.payload);
  }

  noded::Effects happen(const Record& r) {
    const RunKey run{7 + r.choice % 2U, 1 + r.choice / 2 % 2U, r.choice / 4 % 3U};
    switch (r.kind % kKinds) {
      case kOrder: {
        wire::ControllerToNode order;
        if (!parse_message(order, r.payload)) break;
        return agent_.on_controller(now_, order);
      }
      case kShepherd: {
        wire::FromShepherd word;
        if (!parse_message(word, r.payload)) break;
        return agent_.on_shepherd(now_, run, word);
      }
      case kUser:
        return agent_.on_user(now_, run, noded::UserInfo{"u", 1000, 1000, {1000}, "/home/u", "/bin/sh"});
      case kConnected:
        return agent_.on_shepherd_connected(now_, run);
      case kLost:
        return agent_.on_shepherd_lost(now_, run);
      case kGone:
        return agent_.on_shepherd_gone(now_, run, r.choice, 0, {});
      case kLaunchFailed:
        return agent_.on_launch_failed(now_, run, "no memory");
      case kSharePrepared:
        return agent_.on_share_prepared(now_, run, {});
      case kShareReleased:
        return agent_.on_share_released(now_, run, std::string(r.payload));
      case kLinkUp:
        return agent_.on_link_up(now_);
      case kLinkDown:
        return agent_.on_link_down(now_, "gone");
      default:
        now_ = now_ + base::seconds(r.choice);
        agent_.set_lease_clock({now_.us});
        return agent_.on_tick(now_);
    }
    is_understood_ = false;
    return {};
  }

  static void check(const noded::Effects& effects) {
    for (const noded::Effect& effect : effects) {
      if (const auto* launch = std::get_if<noded::LaunchShepherd>(&effect)) {
        FUZZ_CHECK(is_below(launch->spec.dir(), "/s/steps/"));
        FUZZ_CHECK(is_below(launch->spec.containment().group(), "gangway/c/n0/"));
        for (const std::string& variable : launch->spec.env()) FUZZ_CHECK(variable.find('=') != std::string::npos);
      }
      if (const auto* share = std::get_if<noded::PrepareShare>(&effect))
        FUZZ_CHECK(is_below(share->record.containment().group(), "gangway/c/n0/"));
    }
  }
};

bool run(std::string_view input) {
  Input in(input);
  Play play(in);
  return play.run(in);
}

std::string order(const wire::ControllerToNode& m) { return make_record(kOrder, 0, m.SerializeAsString()); }

std::string registered() {
  wire::ControllerToNode m;
  m.mutable_registered()->set_heartbeat_us(10'000'000);
  m.mutable_registered()->set_timeout_us(60'000'000);
  return std::string(1, '\0') + make_record(kLinkUp, 0) + order(m);
}

std::string prepared(const char* first) {
  wire::ControllerToNode m;
  wire::Prepare& p = *m.mutable_prepare();
  p.set_job(7);
  p.set_attempt(1);
  p.mutable_spec()->set_uid(1000);
  p.mutable_spec()->mutable_launch()->set_work_dir("/tmp");
  *p.mutable_share() = noded::testing::test_share("n0");
  *p.mutable_gang() = noded::testing::test_gang({first, "n1", "n0"});
  p.set_script("#!/bin/sh\n");
  p.set_environment(std::string("A=b\0C=d", 7));
  p.set_lease_us(30'000'000);
  return order(m);
}

std::string word(const wire::FromShepherd& m) { return make_record(kShepherd, 0, m.SerializeAsString()); }

std::string script_run() {
  wire::FromShepherd ready, started, exit, clean;
  ready.mutable_ready()->set_pid(9);
  started.mutable_started()->set_task_pid(9);
  exit.mutable_exit()->set_code(1);
  clean.mutable_clean();
  wire::ControllerToNode go;
  go.mutable_go()->set_job(7);
  go.mutable_go()->set_attempt(1);
  return prepared("n0") + make_record(kUser, 0) + make_record(kConnected, 0) + word(ready) + order(go) + word(started) +
         word(exit) + word(clean) + make_record(kGone, 0);
}

/// A step of the job that prepared() begins, which lies after another node's.
std::string started_step() {
  wire::FromShepherd ready, started;
  ready.mutable_ready()->set_address("h:1");
  started.mutable_started()->set_task_pid(9);
  wire::ControllerToNode m;
  wire::StartStep& s = *m.mutable_start_step();
  s.set_step(1);
  s.mutable_job()->set_job(7);
  s.mutable_job()->set_attempt(1);
  s.mutable_job()->mutable_spec()->set_uid(1000);
  *s.mutable_job()->mutable_share() = noded::testing::test_share("n0");
  *s.mutable_share() = noded::testing::test_share("n0");
  *s.mutable_gang() = noded::testing::test_gang({"n0"});
  s.mutable_request()->set_gpus_per_task(1);
  constexpr uint8_t kOfStep = 4;
  return order(m) + make_record(kUser, kOfStep) + make_record(kConnected, kOfStep) +
         make_record(kShepherd, kOfStep, ready.SerializeAsString()) +
         make_record(kShepherd, kOfStep, started.SerializeAsString());
}

std::string recovered_run() {
  wire::RunRecord record;
  record.set_version(1);
  record.set_job(7);
  record.set_attempt(1);
  record.set_has_script(true);
  record.set_boot_id("boot-1");
  return std::string(1, '\1') + make_record(0, 1, record.SerializeAsString()) + make_record(kConnected, 0);
}

std::vector<std::string> made_inputs() {
  wire::ControllerToNode stop;
  stop.mutable_stop()->set_job(7);
  stop.mutable_stop()->set_attempt(1);
  return {registered() + prepared("m0") + make_record(kSharePrepared, 0) + started_step() + order(stop) +
              make_record(kGone, 4) + make_record(kShareReleased, 4) + make_record(kShareReleased, 0),
          registered() + script_run(), registered() + prepared("m0") + make_record(kSharePrepared, 0) + order(stop),
          registered() + prepared("n0") + make_record(kUser, 0) + order(stop) + make_record(kWait, 60),
          recovered_run() + make_record(kLinkDown, 0) + make_record(kWait, 200)};
}

GW_FUZZ_TARGET("agent", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
