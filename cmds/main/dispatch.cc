// The table of commands: which one a name means.
#include "cmds/main/dispatch.h"

#include <array>
#include <optional>

#include "cmds/pbs/commands.h"
#include "cmds/sge/commands.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

using client::Program;

struct Entry {
  std::string_view own_name;  ///< Empty: it is there for Slurm's users alone.
  std::string_view slurm_name;
  int (*run)(const Program&, Args);
};
constexpr std::array<Entry, 17> kCommands = {{
    {"gbatch", "sbatch", run_gbatch},
    {"galloc", "salloc", run_galloc},
    {"grun", "srun", run_grun},
    {"gattach", "sattach", run_gattach},
    {"gstat", "sstat", run_gstat},
    {"gacct", "sacct", run_gacct},
    {"", "seff", run_seff},
    {"gbcast", "sbcast", run_gbcast},
    {"gqueue", "squeue", run_gqueue},
    {"gcancel", "scancel", run_gcancel},
    {"ginfo", "sinfo", run_ginfo},
    {"gcontrol", "scontrol", run_gcontrol},
    {"gprio", "sprio", run_gprio},
    {"gacctmgr", "sacctmgr", run_gacctmgr},
    {"gshare", "sshare", run_gshare},
    {"gdiag", "sdiag", run_gdiag},
    {"greport", "sreport", run_greport},
}};

/// Commands of other batch systems, two of which may have the same name.
struct QueueEntry {
  std::string_view name;
  int (*of_pbs)(const queue::Caller&, Args);  ///< Null: there it has none; and so the next.
  int (*of_sge)(const queue::Caller&, Args);
};
constexpr std::array<QueueEntry, 9> kQueueCommands = {{
    {"qsub", pbs::run_qsub, sge::run_qsub},
    {"qstat", pbs::run_qstat, sge::run_qstat},
    {"qdel", pbs::run_qdel, sge::run_qdel},
    {"qhold", pbs::run_qhold, sge::run_qhold},
    {"qrls", pbs::run_qhold, sge::run_qhold},
    {"qalter", pbs::run_qalter, sge::run_qalter},
    {"qselect", pbs::run_qselect, sge::run_qselect},
    {"pbsnodes", pbs::run_pbsnodes, nullptr},
    {"qacct", nullptr, sge::run_qacct},
}};

/// Runs it, if the name is one of these, and the folder that it was called from says whose it is.
std::optional<int> run_of_queue(const Program& program, const std::string& path, Args args) {
  for (const QueueEntry& e : kQueueCommands) {
    if (e.name != program.name) continue;
    auto system = queue::system_of_program();
    if (!system) system = queue::system_of(path);
    if (!system) break;
    const auto run = *system == queue::System::kSge ? e.of_sge : e.of_pbs;
    if (run == nullptr) break;
    return run({{program.name, false}, *system}, args);
  }
  return std::nullopt;
}

const Entry* find(std::string_view name) {
  for (const Entry& e : kCommands)
    if (!name.empty() && (e.own_name == name || e.slurm_name == name)) return &e;
  return nullptr;
}

}  // namespace

int run_by_name(const std::vector<std::string>& argv) {
  Args args(argv);
  if (args.empty()) return client::kExitFailed;
  Program program = client::program_from(args.front());
  const Entry* entry = find(program.name);
  if (entry == nullptr)
    if (const auto code = run_of_queue(program, args.front(), args.subspan(1))) return *code;
  if (entry == nullptr && args.size() > 1) {
    args = args.subspan(1);
    program = client::program_from(args.front());
    entry = find(program.name);
  }
  if (entry != nullptr) return entry->run(program, args.subspan(1));
  std::string names;
  for (const Entry& e : kCommands) names += " " + std::string(e.own_name.empty() ? e.slurm_name : e.own_name);
  client::print_error({"gangway-commands", false}, "call this program as one of:" + names);
  return client::kExitFailed;
}

}  // namespace gw::cmds
