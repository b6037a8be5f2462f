// The rows, and how they are read.
#include "cmds/request/slurm_options.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

using base::invalid;
using base::Status;
using client::Arg;
using client::kDirective;
using client::kHidden;
using client::Option;
using Text = std::string_view;

// ---- Values that are wrong in any case

Status a_number(Text option, Text value) {
  auto number = base::parse_int(value, 0, UINT32_MAX, option);
  if (!number) return tl::unexpected(number.error());
  return {};
}

Status an_optional_number(Text option, Text value) { return value.empty() ? Status{} : a_number(option, value); }

Status some_text(Text option, Text value) {
  return value.empty() ? Status(invalid(std::string(option) + ": the value is empty")) : Status{};
}

Status a_time(Text option, Text value) {
  if (auto time = base::parse_duration(value); !time)
    return base::fail(time.error().code, std::string(option) + ": " + time.error().what, time.error().hint);
  return {};
}

Status zero_or_one(Text option, Text value) {
  if (value == "0" || value == "1") return {};
  return invalid(std::string(option) + ": \"" + base::printable(value, 40) + "\" is neither 0 nor 1");
}

// ---- The rows. `why` is shown to whoever used the option, behind its name.

constexpr Text kNoFrequency = "frequencies stay as they are";
constexpr Text kNoBroadcast = "--bcast copies the program alone, as it is";
constexpr Text kNoSpecialCores = "no cores are set aside for the system";
constexpr Text kNoBuffer = "there is no burst buffer: data are not staged";
constexpr Text kNotKept = "it is not kept";
constexpr Text kNoContainer = "programs run without a container";
constexpr Text kNoTuning = "connections to the nodes need no tuning";

using enum Without;

constexpr auto kRows = std::to_array<SlurmOption>({
    // What is told to people.
    {"admin-comment", 0, Arg::kRequired, {}, kByAll, kLess, "administrators add it with gcontrol update"},
    {"mcs-label", 0, Arg::kRequired, {}, kByAll, kLess, kNotKept},
    {"profile", 0, Arg::kRequired, "PROFILE", kByAll, kLess, "no profile is written", some_text, "none"},
    {"acctg-freq", 0, Arg::kRequired, "ACCTG_FREQ", kByAll, kLess, "use is sampled as often as the cluster does",
     some_text},

    // Resources.
    {"prefer", 0, Arg::kRequired, {}, kByAll, kLess, "only -C/--constraint chooses nodes by their features", some_text},
    {"core-spec", 'S', Arg::kRequired, "CORE_SPEC", kByAll, kLess, kNoSpecialCores, a_number, "0"},
    {"thread-spec", 0, Arg::kRequired, "THREAD_SPEC", kByAll, kLess, kNoSpecialCores, a_number, "0"},
    {"oversubscribe", 's', Arg::kNone, {}, kByAll, kSame, "jobs share nodes anyway, and never a core"},
    {"use-min-nodes", 0, Arg::kNone, "USE_MIN_NODES", kByAll, kSame, "the fewest nodes that do are taken anyway"},
    {"cluster-constraint", 0, Arg::kRequired, {}, kByAll, kSame, "there is one cluster", some_text},
    {"bb", 0, Arg::kRequired, "BURST_BUFFER", kByAll, kLess, kNoBuffer, some_text},
    {"bbf", 0, Arg::kRequired, {}, kByAll, kLess, kNoBuffer, some_text},
    {"network", 0, Arg::kRequired, "NETWORK", kByAll, kLess, "the network is used as it is", some_text},

    // How nodes run.
    {"cpu-freq", 0, Arg::kRequired, "CPU_FREQ_REQ", kByAll, kLess, kNoFrequency, some_text},
    {"gpu-freq", 0, Arg::kRequired, "GPU_FREQ", kByAll, kLess, kNoFrequency, some_text},
    {"power", 0, Arg::kRequired, "POWER", kByAll, kLess, "power is not limited", some_text},
    {"delay-boot", 0, Arg::kRequired, "DELAY_BOOT", kByAll, kSame, "no node is booted for a job", a_time},
    {"reboot", 0, Arg::kNone, {}, kByAll, kRefused, "nodes are not rebooted for a job"},
    {"wait-all-nodes", 0, Arg::kRequired, "WAIT_ALL_NODES", kByBatch | kByAlloc, kSame,
     "a job starts when all of its nodes are ready", zero_or_one},
    {"no-kill", 'k', Arg::kOptional, "NO_KILL", kByAll, kLess,
     "a job ends when one of its nodes fails, unless it is --elastic", nullptr, "off"},
    {"batch", 0, Arg::kRequired, "BATCH", kByBatch, kLess, "the script runs on the first node", some_text},
    {"x11", 0, Arg::kOptional, {}, kByAlloc | kByRun, kLess, "windows are not forwarded"},
    {"kill-command", 'K', Arg::kOptional, "KILL_CMD", kByAlloc, kLess,
     "the command gets SIGHUP when its allocation ends"},
    {"container", 0, Arg::kRequired, "CONTAINER", kByAll, kRefused, kNoContainer},
    {"container-id", 0, Arg::kRequired, "CONTAINER_ID", kByAll, kRefused, kNoContainer},

    // Of steps.
    {"accel-bind", 0, Arg::kRequired, {}, kByRun, kLess, "--gpu-bind binds GPUs", some_text},
    {"bcast-exclude", 0, Arg::kRequired, "BCAST_EXCLUDE", kByRun, kLess, kNoBroadcast},
    {"send-libs", 0, Arg::kOptional, "SEND_LIBS", kByRun, kLess, kNoBroadcast},
    {"compress", 0, Arg::kOptional, "COMPRESS", kByRun, kLess, kNoBroadcast},
    {"resv-ports", 0, Arg::kOptional, "RESV_PORTS", kByRun, kSame, "MPI programs find each other by PMIx",
     an_optional_number},
    {"threads", 'T', Arg::kRequired, "THREADS", kByRun, kSame, kNoTuning, a_number},
    {"msg-timeout", 0, Arg::kRequired, {}, kByRun, kSame, kNoTuning, a_number},
    {"treewidth", 0, Arg::kRequired, {}, kByRun, kSame, kNoTuning},
    {"slurmd-debug", 0, Arg::kRequired, {}, kByRun, kSame, "node daemons log by their own configuration"},
    {"debugger-test", 0, Arg::kNone, {}, kByRun, kSame, "it is for tests of Slurm itself"},
    {"no-allocate", 'Z', Arg::kNone, {}, kByRun, kRefused, "nothing runs on nodes beside the controller"},
});

/// "--mail-type", "-B/--extra-node-info"
std::string shown(const SlurmOption& row) {
  return (row.letter != 0 ? std::string("-") + row.letter + "/" : std::string()) + "--" + std::string(row.name);
}

Status take(const SlurmOption& row, BatchOptions& o, Text value) {
  if (row.without == kRefused)
    return invalid("option " + shown(row) + " is not supported in this version: " + std::string(row.why));
  if (!row.nothing.empty() && base::iequals(value, row.nothing)) {
    o.left_out.remove(row.name);
    return {};
  }
  if (row.check != nullptr) GW_TRY_STATUS(row.check(shown(row), value));
  if (row.without == kLess) o.left_out.add(row.name, row.why);
  return {};
}

}  // namespace

std::span<const SlurmOption> slurm_options() { return kRows; }

void add_slurm_options(std::vector<Option>& table, BatchOptions& options, uint8_t commands) {
  for (const SlurmOption& row : kRows)
    if ((row.commands & commands) != 0)
      table.push_back({row.name,
                       row.letter,
                       row.arg,
                       {},
                       {},
                       row.variable,
                       client::kUnlisted | kDirective,
                       [&row, &options](Text value) { return take(row, options, value); }});
}

void add_older_spellings(std::vector<Option>& table) {
  constexpr std::pair<Text, Text> kSpellings[] = {{"tasks-per-node", "ntasks-per-node"},
                                                  {"cpu_bind", "cpu-bind"},
                                                  {"mem_bind", "mem-bind"},
                                                  {"pack-group", "het-group"},
                                                  {"cluster", "clusters"}};
  for (const auto& [older, present] : kSpellings) also_called(table, older, present);
}

}  // namespace gw::cmds
