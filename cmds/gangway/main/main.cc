// gangway VERB: the table of verbs, and the entry point.
#include <csignal>

#include "cmds/gangway/shared/verbs.h"

namespace gw::cmds {
namespace {

constexpr Verb kVerbs[] = {
    {"backup", "FILE", "write a copy of the controller's state", backup_verb},
    {"checkpointed", "[JOBID]", "tell that a job's work is saved as of now", checkpointed_verb},
    {"config", "check FILE | dump", "check a configuration, or print one", config_verb},
    {"dev", "up|down|status|env|run", "a private cluster on this machine", dev_verb},
    {"doctor", "", "check this host: MUNGE, clock, ports, disk", doctor_verb},
    {"import", "SLURM.CONF...", "make a configuration of Slurm's", import_verb},
    {"logs", "[-f] JOB", "show a job's output", logs_verb},
    {"offers", "[-q QOS]", "say what a QOS could have now", offers_verb},
    {"progress", "[--step N | --rate X]", "tell how far a job has come", progress_verb},
    {"quota", "explain A B", "say why a QOS may take from another, or not", quota_verb},
    {"simulate", "--scenario|--trace FILE", "run the scheduler over a scenario or trace", simulate_verb},
    {"token", "make|list|revoke", "tokens, by which programs act for you", token_verb},
    {"top", "", "watch the cluster in full screen", top_verb},
    {"topo", "[NODE|JOB]", "draw a node: sockets, switches, GPUs, links", topo_verb},
    {"watch", "JOB", "tell what happens to a job", watch_verb},
    {"why", "JOB", "say why a job waits, or runs where it does", why_verb},
};

}  // namespace
}  // namespace gw::cmds

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> args(argv + 1, argv + argc);
  return gw::cmds::run_verb({"gangway", false}, "Gangway: a batch queue system for GPU clusters.", gw::cmds::kVerbs,
                            args);
}
