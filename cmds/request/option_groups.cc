// See option_groups.h.
#include "cmds/request/option_groups.h"

namespace gw::cmds {

std::vector<client::OptionGroup> job_option_groups() {
  return {
      {"What it is",
       {"job-name", "partition", "qos", "account", "comment", "extra", "wckey", "reservation", "clusters", "uid", "gid",
        "priority", "nice", "array", "wrap"}},
      {"Size",
       {"nodes", "ntasks", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu", "cpus-per-task",
        "mincpus", "mem", "mem-per-cpu", "tmp", "licenses", "exclusive", "overcommit", "spread-job", "elastic",
        "min-tasks", "resize-signal"}},
      {"GPUs and other resources",
       {"gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "cpus-per-gpu", "mem-per-gpu", "gres",
        "gres-flags", "tres-per-task", "tres-bind"}},
      {"Which nodes",
       {"constraint", "nodelist", "from-offer", "nodefile", "exclude", "locality", "switches", "segment", "fit",
        "contiguous", "sockets-per-node", "cores-per-socket", "threads-per-core", "extra-node-info", "relative"}},
      {"Placing of tasks",
       {"distribution", "hint", "cpu-bind", "gpu-bind", "mem-bind", "exact", "whole", "overlap", "het-group",
        "multi-prog"}},
      {"Time, and when it starts",
       {"time", "time-min", "deadline", "begin", "dependency", "kill-on-invalid-dep", "hold", "immediate", "signal",
        "mail-type", "mail-user"}},
      {"Preemption and requeueing", {"requeue", "no-requeue", "on-preempt", "preempt-signal", "preemptible"}},
      {"Files and environment",
       {"output", "error", "input", "open-mode", "chdir", "export", "export-file", "get-user-env", "propagate", "label",
        "unbuffered", "pty", "bcast", "preserve-env", "task-prolog", "task-epilog", "prolog", "epilog"}},
      {"What the command does",
       {"parsable",
        "wait",
        "test-only",
        "ignore-pbs",
        "jobid",
        "no-shell",
        "shell-on-node",
        "bell",
        "no-bell",
        "mpi",
        "kill-on-bad-exit",
        "keep",
        "detach",
        "disable-status",
        "quit-on-interrupt",
        "quiet",
        "verbose",
        "help",
        "usage",
        "version"}},
  };
}

}  // namespace gw::cmds
