// What a client says is to run, the file of --multi-prog, and what programs do to a terminal that somebody takes up
// again.
#include <set>

#include "base/screen_modes.h"
#include "cmds/grun/run_multi.h"
#include "noded/step/start/task_env.h"
#include "noded/step/tasks/step_order.h"
#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {
namespace {

constexpr int kPlaces = 4;

wire::StepSpec spec_of_places() {
  wire::StepSpec spec;
  for (int i = 0; i < kPlaces; ++i) spec.mutable_access()->add_places()->set_cpus(std::to_string(i));
  return spec;
}

/// Each task of what is accepted has a program with a name, and an environment in which no name comes twice.
bool order(std::string_view bytes) {
  wire::StepOrder order;
  if (!order.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !order.has_launch()) return false;
  const wire::StepSpec spec = spec_of_places();
  const wire::LaunchTasks& launch = order.launch();
  if (const base::Status fine = noded::step::check_launch(launch, spec.access()); !fine) {
    check_error(fine.error());
    return false;
  }
  FUZZ_CHECK(launch.tasks_size() > 0 && launch.tasks_size() <= kPlaces);
  for (int place = 0; place < launch.tasks_size(); ++place) {
    FUZZ_CHECK(!launch.programs(static_cast<int>(launch.tasks(place).program())).argv(0).empty());
    noded::step::Environment environment = noded::step::step_environment(launch, spec);
    noded::step::add_task_variables(environment, launch, spec.access(), static_cast<size_t>(place));
    std::set<std::string> names;
    for (const std::string& line : environment.lines()) {
      FUZZ_CHECK(line.find('\0') == std::string::npos);
      FUZZ_CHECK(names.insert(line.substr(0, line.find('='))).second);
    }
  }
  return true;
}

/// Every task has a command.
bool multi_prog(std::string_view text) {
  constexpr uint32_t kTasks = 5;
  const auto commands = cmds::parse_multi_prog(text, "tasks.conf", kTasks);
  if (!commands) {
    check_error(commands.error());
    return false;
  }
  FUZZ_CHECK(commands->size() == kTasks);
  for (const auto& words : *commands) FUZZ_CHECK(!words.empty() && !words.front().empty());
  return true;
}

/// Pieces mean what the whole means; what is undone leaves nothing, and what is done again is the same.
bool modes(std::string_view bytes) {
  base::ScreenModes whole, pieces, again;
  whole.feed(bytes);
  pieces.feed(bytes.substr(0, bytes.size() / 2));
  pieces.feed(bytes.substr(bytes.size() / 2));
  FUZZ_CHECK(whole.enter() == pieces.enter() && whole.leave() == pieces.leave());
  again.feed(whole.enter());
  FUZZ_CHECK(again.enter() == whole.enter());
  again.feed(whole.leave());
  FUZZ_CHECK(again.enter().empty());
  return !whole.enter().empty();
}

constexpr bool (*kKinds[])(std::string_view) = {order, multi_prog, modes};

bool run(std::string_view input) {
  Input in(input);
  const size_t kind = static_cast<size_t>(in.u8() - '0');
  return kKinds[kind % std::size(kKinds)](in.rest());
}

std::vector<std::string> made_inputs() {
  wire::StepOrder order;
  wire::LaunchTasks& launch = *order.mutable_launch();
  launch.set_work_dir("/tmp");
  for (const char* name : {"true", "./prog"}) launch.add_programs()->add_argv(name);
  for (uint32_t rank = 0; rank < kPlaces; ++rank) {
    wire::TaskOrder& task = *launch.add_tasks();
    task.set_rank(rank + 7);
    task.set_program(rank % 2);
    task.mutable_output()->set_kind(wire::TaskStream::kFile);
    task.mutable_output()->set_path("/tmp/out");
    task.add_env("SLURM_NODEID=1");
  }
  launch.add_env("HOME=/root");
  launch.add_env("PATH=/bin");
  return {"0" + order.SerializeAsString(), "1# a comment\n0,2-3 ./prog --rank %t \\\n  'two words' %o\n* true\n",
          "1* /bin/echo \"a b\" %t\n", "2\x1b[?1049h\x1b[?25l\x1b[2;20rtext\x1b=\x1b[?1;2004h\x1b[?25h\x1b[r",
          "2\x1b[?1000;1006h\x1b[?1l\x1b>\x1b[4h"};
}

GW_FUZZ_TARGET("launch", run, made_inputs);

}  // namespace
}  // namespace gw::fuzz
