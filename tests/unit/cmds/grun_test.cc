// From grun's arguments to a step and to what its nodes launch: options, sizes, redirections, --multi-prog.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cmds/grun/run_launch.h"
#include "cmds/grun/run_multi.h"
#include "cmds/grun/run_options.h"

namespace gw::cmds {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using To = Redirect::To;
using Env = std::map<std::string, std::string>;

constexpr base::Time kNow{1'800'000'000'000'000};

client::GetEnv getter(const Env& env) {
  return [&env](const char* name) {
    const auto found = env.find(name);
    return found == env.end() ? nullptr : found->second.c_str();
  };
}

/// Options, read as grun does.
struct Call {
  RunOptions options;
  std::string error;
  std::vector<std::string> operands, notes;
  JobFacts facts;
  model::StepRequest step;

  explicit Call(std::vector<std::string> args, const Env& env = {}) {
    client::CommonFlags flags;
    const auto table = run_table(options, flags, kNow);
    facts = facts_of_environment(getter(env));
    if (const auto read = read_run_environment(table, getter(env), facts.id != 0); !read) error = read.error().text();
    auto parsed = client::parse_options(table, args, {.stop_at_operand = true});
    if (parsed)
      operands = *parsed;
    else
      error = parsed.error().text();
    if (!error.empty()) return;
    auto made = facts.id != 0 ? step_inside(options, facts) : step_outside(options, notes);
    if (made)
      step = *made;
    else
      error = made.error().text();
  }
};

const Env kJob = {{"SLURM_JOB_ID", "7"},         {"SLURM_JOB_NODELIST", "n[1-4]"}, {"SLURM_NTASKS", "8"},
                  {"SLURM_NNODES", "4"},         {"SLURM_CPUS_PER_TASK", "3"},     {"SLURM_JOB_NAME", "job"},
                  {"SLURM_MEM_PER_NODE", "100"}, {"SLURM_JOB_PARTITION", "p"},     {"SLURM_GPUS_PER_TASK", "1"}};

TEST(Grun, TheCommandIsWhatFollowsTheOptions) {
  const Call call({"-n", "4", "-l", "prog", "-n", "8"});
  EXPECT_EQ(call.error, "");
  EXPECT_THAT(call.operands, ElementsAre("prog", "-n", "8"));
  EXPECT_TRUE(call.options.label);
  EXPECT_EQ(call.options.job.spec.request.tasks, 4u);
  EXPECT_TRUE(call.step.whole);
}

TEST(Grun, RedirectionsHaveFourForms) {
  EXPECT_EQ(parse_redirect("all").to, To::kAll);
  EXPECT_EQ(parse_redirect("NONE").to, To::kNone);
  EXPECT_EQ(parse_redirect("12").to, To::kTask);
  EXPECT_EQ(parse_redirect("12").task, 12u);
  EXPECT_EQ(parse_redirect("12.txt").to, To::kFile);
  EXPECT_EQ(parse_redirect("-1").path, "-1");
  EXPECT_TRUE(is_opened_there(parse_redirect("o-%t")));
  EXPECT_TRUE(is_opened_there(parse_redirect("o-%4t")));
  EXPECT_TRUE(is_opened_there(parse_redirect("%N/x")));
  EXPECT_FALSE(is_opened_there(parse_redirect("o-%j")));
  EXPECT_FALSE(is_opened_there(parse_redirect("o-%%t")));
  EXPECT_FALSE(is_opened_there(parse_redirect("o-\\%t")));
}

TEST(Grun, BadValuesNameTheirOption) {
  const std::pair<std::vector<std::string>, std::string> kCases[] = {
      {{"--mpi=pmi2"}, "there is no \"pmi2\""},
      {{"--cpu-bind=map_cpu:0,x"}, "--cpu-bind: \"x\" in map_cpu is no index"},
      {{"--cpu-bind=fast"}, "--cpu-bind: \"fast\" is no way of binding"},
      {{"--cpu-bind="}, "--cpu-bind needs a value"},
      {{"--gpu-bind=map_gpu:-1"}, "--gpu-bind: \"-1\" in map_gpu is no index"},
      {{"--mem-bind=far"}, "--mem-bind: \"far\" is no way of binding"},
      {{"-m", "plane=x"}, "--distribution: \"plane=x\" is not supported"},
      {{"-K2"}, "takes 0 or 1"},
      {{"--het-group=0,x"}, "--het-group: \"0,x\" names no components"},
      {{"--het-group=128"}, "names no components"},
      {{"--het-group="}, "names no components"},
      {{"-W", "soon"}, "--wait"},
      {{"--output="}, "--output needs a value"},
      {{"--jobid=5-6"}, "--jobid: one job is needed, not \"5-6\""},
      {{"--jobid=5,6_1"}, "--jobid: one job is needed"},
      {{"--jobid=x"}, "Invalid job id x"},
      {{"--jobid=0"}, "Invalid job id"}};
  for (const auto& [args, text] : kCases) EXPECT_THAT(Call(args).error, HasSubstr(text));
}

TEST(Grun, AJobIsNamedByItsNumberOrAsATask) {
  EXPECT_EQ(Call({"--jobid=7"}).options.job_id, 7u);
  const RunOptions task = Call({"--jobid=7", "--jobid=5_3"}).options;
  EXPECT_EQ(task.job_id, 0u) << "until the controller is asked";
  EXPECT_EQ(task.array_task.at(5), "3");
  EXPECT_TRUE(Call({"--jobid=5_3", "--jobid=7"}).options.array_task.empty());
}

TEST(Grun, SwitchesAndWordsAreTaken) {
  const Call call({"--cpu-bind=verbose,none", "--gpu-bind=none", "--mem-bind=local", "-m", "cyclic:block", "-K",
                   "--wait=30", "--mpi=none", "-I5", "--overlap", "--open-mode=append"});
  EXPECT_EQ(call.error, "");
  const RunOptions& o = call.options;
  EXPECT_EQ(call.step.cpu_bind, "verbose,none");
  EXPECT_EQ(call.step.gpu_bind, "none");
  EXPECT_EQ(call.step.mem_bind, "local");
  EXPECT_EQ(call.step.plane, 1U);
  EXPECT_TRUE(o.kill_on_bad_exit && o.overlap && o.append);
  EXPECT_EQ(o.distribution.text(), "cyclic");
  EXPECT_EQ(o.wait_seconds, 30u);
  EXPECT_EQ(o.immediate_seconds, 5u);
  EXPECT_FALSE(Call({"-K", "--kill-on-bad-exit=0"}).options.kill_on_bad_exit);
}

TEST(Grun, PmixIsUsedWhereItIsThereUnlessSomethingIsSaid) {
  EXPECT_EQ(Call({}).options.pmix, std::nullopt);
  EXPECT_EQ(Call({"--mpi=none"}).options.pmix, false);
  EXPECT_EQ(Call({"--mpi=pmix_v4"}).options.pmix, true);
  EXPECT_EQ(Call({}, {{"SLURM_MPI_TYPE", "none"}}).options.pmix, false);
}

TEST(Grun, TheEnvironmentComesBeforeTheCommandLine) {
  const Env env = {{"SLURM_LABELIO", "1"}, {"SLURM_NNODES", "3"}, {"SLURM_CPU_BIND", "none"}, {"GRUN_WAIT", "7"}};
  const Call call({"-N2"}, env);
  EXPECT_EQ(call.error, "");
  EXPECT_TRUE(call.options.label);
  EXPECT_EQ(call.step.cpu_bind, "none");
  EXPECT_EQ(call.options.wait_seconds, 7u);
  EXPECT_EQ(call.options.job.spec.request.min_nodes, 2u);
}

TEST(Grun, TheBindingOfTheEnclosingStepIsNotThatOfAnother) {
  Env env = kJob;
  for (const char* name : {"SLURM_CPU_BIND", "GANGWAY_CPU_BIND"}) env[name] = "quiet,mask_cpu:0x1";
  for (const char* name : {"SLURM_GPU_BIND", "GANGWAY_GPU_BIND"}) env[name] = "single:1";
  EXPECT_EQ(Call({"prog"}, env).step.gpu_bind, "single:1") << "what the job was asked with is for its steps";
  env["GANGWAY_STEP_ID"] = "3";
  EXPECT_EQ(Call({"prog"}, env).step.gpu_bind, "");
  EXPECT_EQ(Call({"prog"}, env).step.cpu_bind, "");
  env["SLURM_CPU_BIND"] = "none";
  EXPECT_EQ(Call({"prog"}, env).step.cpu_bind, "none") << "the user has set it";
}

TEST(Grun, AStepHasTheSizeOfItsJob) {
  const Call call({"prog"}, kJob);
  EXPECT_EQ(call.error, "");
  EXPECT_EQ(call.facts.id, 7u);
  EXPECT_EQ(call.step.tasks, 8u);
  EXPECT_EQ(call.step.min_nodes, 4u);
  EXPECT_EQ(call.step.cpus_per_task, 3u);
  EXPECT_EQ(call.step.gpus_per_task, 1u);
  EXPECT_EQ(call.options.job.spec.name, "");
  EXPECT_EQ(call.options.job.spec.request.mem_per_node_mb, 0u);
}

TEST(Grun, OneCpuATaskIsNotTheSameAsNotSaid) {
  EXPECT_EQ(Call({"-n4"}, kJob).step.cpus_per_task, 0u);
  EXPECT_EQ(Call({"-n4", "-c1"}, kJob).step.cpus_per_task, 1u);
  EXPECT_EQ(Call({"-n4"}).step.cpus_per_task, 0u);
  EXPECT_EQ(Call({"-n4", "-c1"}).step.cpus_per_task, 1u);
  Env env = kJob;
  env["SRUN_CPUS_PER_TASK"] = "1";
  EXPECT_EQ(Call({"-n4"}, env).step.cpus_per_task, 1u);
  env["SLURM_TRES_PER_TASK"] = "cpu:9";
  EXPECT_EQ(Call({"-n4"}, env).step.cpus_per_task, 1u) << "what it is told of the job is no option of the step";
}

TEST(Grun, ASizeOfItsOwnReplacesTheJobs) {
  const auto one = Call({"-n1"}, kJob).step;
  EXPECT_EQ(one.tasks, 1u);
  EXPECT_EQ(one.min_nodes, 1u);
  EXPECT_EQ(one.cpus_per_task, 0u);
  EXPECT_EQ(one.gpus_per_task, 0u);
  const auto per_node = Call({"-N2", "--ntasks-per-node=3"}, kJob).step;
  EXPECT_EQ(per_node.tasks, 0u);
  EXPECT_EQ(per_node.tasks_per_node, 3u);
  EXPECT_EQ(per_node.min_nodes, 2u);
  EXPECT_EQ(per_node.max_nodes, 2u);
  const auto named = Call({"-w", "n2", "-n2"}, kJob).step;
  EXPECT_THAT(named.nodelist, ElementsAre("n2"));
  const auto relative = Call({"-r2", "-n8"}, kJob).step;
  EXPECT_THAT(relative.exclude, ElementsAre("n1", "n2"));
  EXPECT_EQ(relative.min_nodes, 2u);
  EXPECT_THAT(Call({"-r4"}, kJob).error, HasSubstr("the job has 4 nodes"));
  EXPECT_THAT(Call({"-n2", "-N3"}, kJob).error, HasSubstr("can't run 2 processes on 3 nodes"));
}

TEST(Grun, GpusOfAStepAreThoseOfItsTasks) {
  EXPECT_EQ(Call({"-n2", "--gpus-per-task=2"}, kJob).step.gpus_per_task, 2u);
  EXPECT_EQ(Call({"-n1", "--gpus=1"}, kJob).step.gpus_per_task, 1u);
  EXPECT_EQ(Call({"-n4", "-N2", "--gpus-per-node=8"}, kJob).step.gpus_per_task, 4u);
  EXPECT_THAT(Call({"-n3", "--gpus=4"}, kJob).error, HasSubstr("4 GPUs cannot be shared out evenly among 3 tasks"));
}

TEST(Grun, AnOvercommittedAllocationAsksForWhatItHolds) {
  const Call call({"-n8", "-O"});
  EXPECT_EQ(call.options.job.spec.request.tasks, 1u);
  EXPECT_EQ(call.step.tasks, 8u);
  EXPECT_TRUE(call.step.overcommit);
}

/// A step of two nodes with two tasks and one.
wire::Step step_of_two() {
  wire::Step step;
  step.set_job(7);
  step.set_step(3);
  for (const auto& [name, tasks] : {std::pair("a", 2u), std::pair("b", 1u)}) {
    wire::StepNode& node = *step.add_nodes();
    node.mutable_share()->set_node(name);
    node.mutable_share()->set_tasks(tasks);
    node.set_address(std::string(name) + ":1");
    node.set_key(std::string(32, 'k'));
  }
  return step;
}

std::vector<attach::NodePlan> plans(const std::vector<std::string>& args, const Commands& commands = {{"prog"}}) {
  const Call call(args);
  LaunchContext context;
  context.work_dir = "/dir";
  context.environment = {"A=1"};
  wire::Step step = step_of_two();
  *step.mutable_request() = wire::to_wire(call.step);
  auto made = make_plans({{step, call.options}}, commands, context);
  EXPECT_TRUE(made) << made.error().text();
  return made ? *made : std::vector<attach::NodePlan>(2);
}

TEST(GrunLaunch, RanksGoOverThePlaces) {
  const auto block = plans({});
  ASSERT_EQ(block.size(), 2u);
  EXPECT_EQ(block[0].launch.tasks(1).rank(), 1u);
  EXPECT_EQ(block[1].launch.tasks(0).rank(), 2u);
  EXPECT_THAT(block[0].launch.env(), Contains("SLURM_GTIDS=0,1"));
  EXPECT_THAT(block[0].launch.tasks(1).env(), Contains("SLURM_GTIDS=0,1"));
  EXPECT_THAT(block[0].launch.env(), Contains("A=1"));
  EXPECT_THAT(block[1].launch.tasks(0).env(), Contains("SLURM_PROCID=2"));
  EXPECT_THAT(block[1].launch.tasks(0).env(), Contains("SLURM_LOCALID=0"));
  const auto cyclic = plans({"-m", "cyclic"});
  EXPECT_EQ(cyclic[0].launch.tasks(1).rank(), 2u);
  EXPECT_EQ(cyclic[1].launch.tasks(0).rank(), 1u);
}

TEST(GrunLaunch, RanksGoByPlanesAndByHosts) {
  const auto planes = plans({"-m", "plane=2"});
  EXPECT_EQ(planes[0].launch.tasks(1).rank(), 1u);
  EXPECT_EQ(planes[1].launch.tasks(0).rank(), 2u);
  EXPECT_THAT(planes[0].launch.env(), IsSupersetOf({"SLURM_DISTRIBUTION=plane", "SLURM_DIST_PLANESIZE=2"}));
  EXPECT_EQ(planes[0].launch.pmix().plane(), 2u);
  Call call({"-m", "arbitrary"});
  call.step.hosts = {"b", "a", "a"};
  wire::Step step = step_of_two();
  *step.mutable_request() = wire::to_wire(call.step);
  const auto made = make_plans({{step, call.options}}, {{"prog"}}, {});
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)[0].launch.tasks(0).rank(), 1u);
  EXPECT_EQ((*made)[1].launch.tasks(0).rank(), 0u);
  EXPECT_THAT((*made)[0].launch.env(), Contains("SLURM_DISTRIBUTION=arbitrary"));
  EXPECT_THAT((*made)[0].launch.pmix().nodes_of(), ElementsAre(1, 0, 0));
}

TEST(GrunLaunch, IsToldNodeByNode) {
  wire::Step step = step_of_two();
  const auto lines = [&step](const std::vector<std::string>& args) { return launch_lines({step}, plans(args)); };
  for (int n : {0, 1}) step.mutable_nodes(n)->mutable_share()->set_cpus(4);
  EXPECT_THAT(lines({}), ElementsAre("jobid 7: nodes(2):`a,b', cpu counts: 4(x2)",
                                     "launching StepId=7.3 on host a, 2 tasks: [0-1]",
                                     "launching StepId=7.3 on host b, 1 tasks: 2"));
  step.mutable_nodes(1)->mutable_share()->set_cpus(2);
  EXPECT_THAT(lines({"-m", "cyclic"}), ElementsAre("jobid 7: nodes(2):`a,b', cpu counts: 4(x1),2(x1)",
                                                   "launching StepId=7.3 on host a, 2 tasks: [0,2]",
                                                   "launching StepId=7.3 on host b, 1 tasks: 1"));
}

TEST(GrunLaunch, NodesAreToldOfEachOtherForMpi) {
  const auto made = plans({"-m", "cyclic"}), others = plans({"--mpi=pmix"});
  for (uint32_t node = 0; node < made.size(); ++node) {
    const wire::PmixLaunch& pmix = made[node].launch.pmix();
    EXPECT_EQ(pmix.secret(), made[0].launch.pmix().secret());
    EXPECT_EQ(pmix.self(), node);
    EXPECT_EQ(pmix.tasks(static_cast<int>(node)), static_cast<uint32_t>(made[node].launch.tasks_size()));
    EXPECT_TRUE(pmix.is_cyclic() && pmix.is_optional());
  }
  EXPECT_EQ(made[0].launch.pmix().secret().size(), 32u);
  EXPECT_NE(made[0].launch.pmix().secret(), others[0].launch.pmix().secret());
  EXPECT_FALSE(others[0].launch.pmix().is_optional());
  EXPECT_FALSE(plans({"--mpi=none"})[0].launch.has_pmix());
}

TEST(GrunLaunch, FilesOfTasksHaveTheirPatternsFilledIn) {
  const auto made = plans({"-o", "out-%J-%N-%n-%2t-%%"});
  const wire::TaskOrder& task = made[1].launch.tasks(0);
  EXPECT_EQ(task.output().kind(), wire::TaskStream::kFile);
  EXPECT_EQ(task.output().path(), "/dir/out-7.3-b-1-02-%");
  EXPECT_EQ(task.error().path(), task.output().path());
  EXPECT_EQ(task.input().kind(), wire::TaskStream::kClient);
}

TEST(GrunLaunch, AStreamOfOneTaskIsThatTasksAlone) {
  const auto made = plans({"-o", "2", "-i", "none", "-e", "all"});
  EXPECT_EQ(made[0].launch.tasks(0).output().kind(), wire::TaskStream::kNothing);
  EXPECT_EQ(made[1].launch.tasks(0).output().kind(), wire::TaskStream::kClient);
  EXPECT_EQ(made[0].launch.tasks(0).error().kind(), wire::TaskStream::kClient);
  EXPECT_EQ(made[0].launch.tasks(0).input().kind(), wire::TaskStream::kNothing);
  const Call call({"-o", "3"});
  const wire::Step step = step_of_two();
  EXPECT_FALSE(make_plans({{step, call.options}}, {{"prog"}}, {}));
}

TEST(GrunLaunch, ATerminalIsForTaskZero) {
  const auto made = plans({"--pty"});
  EXPECT_TRUE(made[0].launch.pty());
  EXPECT_FALSE(made[1].launch.pty());
  EXPECT_EQ(made[0].launch.tasks(0).input().kind(), wire::TaskStream::kClient);
  EXPECT_EQ(made[0].launch.tasks(1).input().kind(), wire::TaskStream::kNothing);
}

TEST(GrunLaunch, AFileOfAllTasksIsOpenedHere) {
  const Call call({"-o", "all-%j.%s.%u"});
  LaunchContext context;
  context.work_dir = "/dir";
  context.user = "alice";
  EXPECT_EQ(local_path(call.options.output, step_of_two(), call.options, context), "/dir/all-7.3.alice");
  const auto made = plans({"-o", "all-%j"});
  EXPECT_EQ(made[0].launch.tasks(0).output().kind(), wire::TaskStream::kClient);
}

TEST(GrunLaunch, EqualProgramsAreToldOnce) {
  const auto made = plans({}, {{"a"}, {"b"}, {"a"}});
  EXPECT_EQ(made[0].launch.programs_size(), 2);
  EXPECT_EQ(made[0].launch.tasks(1).program(), 1u);
  EXPECT_EQ(made[1].launch.programs_size(), 1);
  EXPECT_THAT(made[1].launch.programs(0).argv(), ElementsAre("a"));
}

TEST(MultiProg, EachTaskHasItsProgram) {
  const auto commands =
      parse_multi_prog("# comment\n\n* rest %t %o\n1,3-4  ./prog 'two words' \\\n  %t-%o %d # end\r\n0 zero", "f", 6);
  ASSERT_TRUE(commands) << commands.error().text();
  EXPECT_THAT(*commands, ElementsAre(ElementsAre("zero"), ElementsAre("./prog", "two words", "1-0", "%d"),
                                     ElementsAre("rest", "2", "0"), ElementsAre("./prog", "two words", "3-1", "%d"),
                                     ElementsAre("./prog", "two words", "4-2", "%d"), ElementsAre("rest", "5", "1")));
}

TEST(MultiProg, ErrorsNameTheirLine) {
  const std::pair<std::string, std::string> kCases[] = {{"0 a\n\n1\n", "f:3: no program for 1"},
                                                        {"0 a\n0-1 b", "f:2: task 0 has a program already"},
                                                        {"0-2 a", "f:1: there is no task 2: the step has 2"},
                                                        {"0 \\\n a\nx b", "f:3: \"x\" is no list of task numbers"},
                                                        {"1-0 a", "f:1: \"1-0\" is no list"},
                                                        {"0 'a", "f:1: "},
                                                        {"0 a", "f: no line names a program for task 1"},
                                                        {"", "f: no line names a program for task 0"}};
  for (const auto& [text, error] : kCases) {
    const auto commands = parse_multi_prog(text, "f", 2);
    ASSERT_FALSE(commands) << text;
    EXPECT_THAT(commands.error().what, HasSubstr(error));
  }
}

}  // namespace
}  // namespace gw::cmds
