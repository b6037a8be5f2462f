// The pages of grun.
#include "cmds/grun/run_options.h"
#include "cmds/request/option_groups.h"

namespace gw::cmds {

client::CommandDoc run_doc() {
  client::CommandDoc d;
  d.summary = "run a command in parallel";
  d.synopsis = "[OPTIONS] COMMAND [ARGUMENTS] [: [OPTIONS] COMMAND [ARGUMENTS]]...";
  d.description =
      "Runs the command once for each task. Inside an allocation the tasks are a step of it, and share it with other "
      "steps; without sizes of its own the step has those of the allocation. Outside, an allocation is asked for "
      "first, with the same options as gbatch, and given back at the end.\n\n"
      "Without -c a step claims a CPU for each task, so that several run at once, and its tasks may run on all cores "
      "of "
      "the allocation that no other step has claimed, shared out among them; with -c on those alone that it has "
      "claimed.\n\n"
      "A colon by itself begins a further part: grun -n1 A : -n7 -c2 B starts two programs together, with one range of "
      "ranks and one world of MPI. Sizes, places and bindings are those of their part; all else stands before the "
      "first "
      "program and holds for all. Each part that says more than -n is a step of its own, and outside an allocation a "
      "component of the job. In a heterogeneous job each part runs in its component, or in those that --het-group "
      "names.\n\n"
      "Standard input goes to all tasks, and what they print comes here, by whole lines if there are several. No task "
      "runs before all can, and if one cannot be started none runs.\n\n"
      "Ctrl-C shows how the tasks are; twice within a second it ends them, three times at once. SIGQUIT ends them at "
      "once; SIGTERM and SIGHUP end them; SIGUSR1, SIGUSR2, SIGALRM and SIGCONT are passed on. With --keep and --pty, "
      "ctrl-\\ twice within 0.7 seconds leaves the tasks alone; gattach comes back to them.\n\n"
      "A file that -o, -e or -i names is opened here; with %t (task), %N (node) or %n (its number) in its name, by "
      "each "
      "task on its node.";
  d.exit_codes = {{"N", "the highest exit code of the tasks"},
                  {"128+N", "the highest, of a task that ended by signal N"},
                  {"1", "refused, a bad option, a connection was lost for good, or the controller is out of reach"},
                  {"2", "with --test-only: it could run, but would not start now"},
                  {"75", "another client took the step over, which is kept"},
                  {"127, 126", "the program was not found, or cannot be executed; as srun its errno, such as 2"},
                  {"130", "interrupted before any task ran; the job was cancelled"},
                  {"141", "nobody reads standard output any more; the tasks were ended"}};
  d.environment = {{"GANGWAY_CONF", "configuration file (/etc/gangway/gangway.yaml)"},
                   {"GANGWAY_TIMEOUT", "seconds to keep trying to reach the controller (60)"},
                   {"GANGWAY_JOB_ID, SLURM_JOB_ID", "the allocation to run in"}};
  d.examples = {{"grun -n4 hostname", "four tasks, wherever there is room"},
                {"grun -N2 --ntasks-per-node=8 --gpus-per-task=1 python train.py", "sixteen tasks, each with a GPU"},
                {"grun --pty bash", "a shell on a node"},
                {"grun -l -n2 --multi-prog both.conf", "two programs, lines with the number of their task"}};
  d.groups = job_option_groups();
  d.env_prefixes = {"SLURM_", "SRUN_", "GRUN_"};
  return d;
}

}  // namespace gw::cmds
