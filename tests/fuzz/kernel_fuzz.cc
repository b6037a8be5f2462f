// Kernel files that users put their own words into (a process's name, a mount point), and the events that a task tells
// its shepherd. The first byte says which.
#include "noded/step/proc/tree.h"
#include "noded/step/start/task.h"
#include "plugins/contain/support/group.h"
#include "plugins/contain/support/mounts.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

using noded::step::TaskEvent;

bool process(std::string_view text) {
  const auto p = noded::step::proc::parse_stat(text);
  if (p) FUZZ_CHECK(text.find("(" + p->command + ")") != std::string_view::npos);
  return p.has_value();
}

bool mounts(std::string_view text) {
  const contain::Mounts found = contain::parse_mounts(text);
  FUZZ_CHECK(found.v1.empty() || text.find(" - cgroup ") != std::string_view::npos);
  return !found.v1.empty() || !found.v2.empty();
}

bool own_group(std::string_view text) { return !contain::parse_own_v2_group(text).empty(); }

bool keyed(std::string_view text) { return contain::keyed_value(text, "oom_kill") != 0; }

bool events(std::string_view bytes) {
  std::string buffer(bytes);
  TaskEvent event;
  bool any = false;
  for (size_t left = buffer.size(); noded::step::take_event(buffer, event); left = buffer.size()) {
    FUZZ_CHECK(buffer.size() < left);
    any = true;
  }
  return any;
}

constexpr bool (*kKinds[])(std::string_view) = {process, mounts, own_group, keyed, events};

bool run(std::string_view input) {
  Input in(input);
  const size_t kind = static_cast<size_t>(in.u8() - '0');
  return kKinds[kind % std::size(kKinds)](in.rest());
}

std::vector<std::string> made_inputs() {
  return {"4" +
          noded::step::encode({noded::step::TaskEventKind::kFailed, model::EndReason::kWorkDir, "no such folder"}) +
          noded::step::encode({noded::step::TaskEventKind::kReady, {}, {}})};
}

GW_FUZZ_TARGET("kernel", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
