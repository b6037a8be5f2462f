// Calls of grun with several parts: which steps they are, in which components, and what those launch as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cmds/grun/run_launch.h"
#include "cmds/grun/run_members.h"
#include "wire/convert.h"

namespace gw::cmds {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using Env = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

constexpr base::Time kNoon{1'800'000'000'000'000};
const Env kHetJob = {{"SLURM_JOB_ID", "7"},
                     {"SLURM_HET_SIZE", "3"},
                     {"SLURM_JOB_ID_HET_GROUP_0", "7"},
                     {"SLURM_JOB_ID_HET_GROUP_1", "8"},
                     {"SLURM_JOB_ID_HET_GROUP_2", "9"}};

/// The members of a call with these words, or its error.
struct Members {
  std::vector<MemberStep> all;
  std::string error;

  explicit Members(const Words& words, const Env& env = {}) {
    const client::GetEnv get = [&env](const char* name) {
      const auto found = env.find(name);
      return found == env.end() ? nullptr : found->second.c_str();
    };
    RunOptions first;
    client::CommonFlags flags;
    const auto table = run_table(first, flags, kNoon);
    (void)read_run_environment(table, get, !env.empty());
    first.is_distribution_of_environment = first.distribution.is_arbitrary;
    const auto rest = client::parse_options(table, words, {.stop_at_operand = true});
    if (!rest) {
      error = rest.error().text();
      return;
    }
    auto parts = read_parts(first, *rest, {get, kNoon, !env.empty()});
    auto members = parts ? members_of(std::move(*parts), get) : base::pass(parts);
    if (members)
      all = std::move(*members);
    else
      error = members.error().text();
  }
  /// "7: master x1, worker x2"
  std::vector<std::string> shown() const {
    std::vector<std::string> out;
    for (const MemberStep& member : all) {
      std::string& text = out.emplace_back(std::to_string(member.job.id) + ":");
      for (const StepPart& part : member.parts)
        text += (text.back() == ':' ? " " : ", ") + part.command.front() + " x" + std::to_string(part.tasks);
    }
    return out;
  }
};

TEST(GrunParts, ThoseThatSayOnlyTheirTasksAreOneStep) {
  const Members made({"-n4", "master", "-x", ":", "-n2", "worker", ":", "--ntasks=3", "--", "-odd", ":", "last"});
  EXPECT_THAT(made.shown(), ElementsAre("0: master x4, worker x2, -odd x3, last x1")) << made.error;
  EXPECT_EQ(made.all.front().options.job.spec.request.tasks, 10U);
  wire::Step step;
  const Commands commands = commands_of(made.all, {step});
  ASSERT_EQ(commands.size(), 10U);
  EXPECT_THAT(commands[0], ElementsAre("master", "-x"));
  EXPECT_THAT(commands[5], ElementsAre("worker"));
  EXPECT_THAT(commands[9], ElementsAre("last"));
  EXPECT_THAT(Members({"program", "::"}).shown(), ElementsAre("0: program x1"));
  EXPECT_THAT(Members({"-N2", "--ntasks-per-node=2", "a", ":", "b"}).shown(), ElementsAre("0: a x4, b x1"));
}

TEST(GrunParts, OneWithOptionsOfItsOwnIsAStepOfItsOwn) {
  const Members made({"-n4", "a", ":", "-n2", "-c3", "b", ":", "-n1", "c", ":", "--gpus-per-task=1", "d"});
  ASSERT_THAT(made.shown(), ElementsAre("0: a x4", "0: b x2, c x1", "0: d x1")) << made.error;
  EXPECT_EQ(made.all[0].options.job.spec.request.cpus_per_task, 1U);
  EXPECT_EQ(made.all[1].options.job.spec.request.cpus_per_task, 3U);
  EXPECT_EQ(made.all[1].options.job.spec.request.tasks, 3U);
  EXPECT_THAT(Members({"--jobid=5", "a", ":", "-c2", "b"}).shown(), ElementsAre("5: a x1", "5: b x1"));
}

TEST(GrunParts, EachHasItsComponentOfAHeterogeneousJob) {
  EXPECT_THAT(Members({"-n2", "a", ":", "b", ":", "-n5", "c"}, kHetJob).shown(),
              ElementsAre("7: a x2", "8: b x1", "9: c x5"));
  EXPECT_THAT(Members({"--het-group=0-1", "a", ":", "--het-group=2", "b"}, kHetJob).shown(),
              ElementsAre("7: a x1", "8: a x1", "9: b x1"));
  EXPECT_THAT(Members({"a", ":", "--pack-group=0", "b"}, kHetJob).shown(), ElementsAre("7: a x1", "7: b x1"));
  EXPECT_THAT(Members({"--het-group=2", "a"}, kHetJob).shown(), ElementsAre("9: a x1"));
  EXPECT_THAT(Members({"a"}, kHetJob).shown(), ElementsAre("0: a x1")) << "the job that it is called in";
  EXPECT_THAT(Members({"--jobid=4", "a", ":", "b"}, kHetJob).shown(), ElementsAre("4: a x1, b x1"));
}

TEST(GrunParts, AListOfHostsThatTheJobHadIsNoneOfTheirs) {
  Env env = kHetJob;
  env["SLURM_DISTRIBUTION"] = "arbitrary";
  for (const Words& words : {Words{"--het-group=0,1", "a"}, Words{"a", ":", "b"}}) {
    const Members made(words, env);
    ASSERT_EQ(made.all.size(), 2U) << made.error;
    for (const MemberStep& member : made.all) EXPECT_FALSE(member.options.distribution.is_arbitrary);
  }
  const Members planes({"-m", "plane=2", "a", ":", "b"}, env);
  ASSERT_EQ(planes.all.size(), 2U) << planes.error;
  EXPECT_EQ(planes.all.front().options.distribution.plane, 2U) << "said of this call";
}

TEST(GrunParts, WhatIsNoPartIsRefused) {
  const auto error = [](const Words& words) { return Members(words).error; };
  EXPECT_THAT(error({"a", ":"}), HasSubstr("a part of the call names no program"));
  EXPECT_THAT(error({":", "b"}), HasSubstr("names no program"));
  EXPECT_THAT(error({"a", ":", "-n2"}), HasSubstr("names no program"));
  EXPECT_THAT(error({"a", ":", "-n"}), HasSubstr("-n needs a value"));
  EXPECT_THAT(error({"a", ":", "-n0", "b"}), HasSubstr("-n/--ntasks"));
  EXPECT_THAT(error({"a", ":", "-o", "x", "b"}), HasSubstr("option --output of a further part"));
  EXPECT_THAT(error({"a", ":", "-t5", "b"}), HasSubstr("option --time of a further part"));
  EXPECT_THAT(error({"--multi-prog", "a", ":", "b"}), HasSubstr("do not go with --multi-prog"));
  EXPECT_THAT(error({"--bcast", "a", ":", "b"}), HasSubstr("do not go with --bcast"));
  EXPECT_THAT(error({"--het-group=1", "a"}), HasSubstr("this is no heterogeneous job"));
  EXPECT_THAT(Members({"--het-group=3", "a"}, kHetJob).error, HasSubstr("there is no component 3: the job has 3"));
  EXPECT_THAT(Members({"a", ":", "b", ":", "c", ":", "d"}, kHetJob).error, HasSubstr("part 3 of the call has no"));
  EXPECT_THAT(Members({"--het-group=0,1", "--bcast", "a"}, kHetJob).error, HasSubstr("--bcast does not go with"));
  EXPECT_THAT(Members({"--het-group=0", "--jobid=7", "a"}, kHetJob).error, HasSubstr("does not go with --jobid"));
  EXPECT_THAT(Members({"-m", "arbitrary", "a", ":", "b"}, kHetJob).error, HasSubstr("-m arbitrary does not go"));
  Words many = {"a"};
  for (int i = 0; i < 128; ++i) many.insert(many.end(), {":", "b"});
  EXPECT_THAT(error(many), HasSubstr("at most 128 parts"));
}

wire::Step step_of(uint32_t job, const std::vector<std::pair<std::string, uint32_t>>& nodes) {
  wire::Step step;
  step.set_job(job);
  step.set_step(job + 10);
  for (const auto& [name, tasks] : nodes) {
    wire::StepNode& node = *step.add_nodes();
    node.mutable_share()->set_node(name);
    node.mutable_share()->set_tasks(tasks);
    node.set_key(std::string(32, 'k'));
  }
  return step;
}

/// Of two steps, the second of which has its tasks by `distribution`.
std::vector<attach::NodePlan> plans_of_two(const Words& first, uint32_t plane) {
  const Members members(first, kHetJob);
  const std::vector<wire::Step> steps = [&] {
    std::vector<wire::Step> out = {step_of(7, {{"a", 1}, {"b", 2}}), step_of(8, {{"b", 2}, {"c", 2}})};
    model::StepRequest request;
    request.plane = plane;
    *out[1].mutable_request() = wire::to_wire(request);
    return out;
  }();
  std::vector<StepToLaunch> launched;
  for (size_t i = 0; i < 2; ++i) launched.push_back({steps[i], members.all[i].options});
  LaunchContext context;
  context.work_dir = "/dir";
  const auto made = make_plans(launched, commands_of(members.all, steps), context);
  EXPECT_TRUE(made) << made.error().text();
  return made ? *made : std::vector<attach::NodePlan>(4);
}

std::vector<uint32_t> ranks_of_plan(const attach::NodePlan& plan) {
  std::vector<uint32_t> out;
  for (const wire::TaskOrder& task : plan.launch.tasks()) out.push_back(task.rank());
  return out;
}

TEST(GrunParts, TheRanksOfSeveralStepsGoOn) {
  const auto plans = plans_of_two({"-o", "out.%j.%t.%n", "a", ":", "b"}, attach::kBlock);
  ASSERT_EQ(plans.size(), 4U);
  EXPECT_THAT(ranks_of_plan(plans[0]), ElementsAre(0));
  EXPECT_THAT(ranks_of_plan(plans[1]), ElementsAre(1, 2));
  EXPECT_THAT(ranks_of_plan(plans[2]), ElementsAre(3, 4));
  EXPECT_THAT(ranks_of_plan(plans[3]), ElementsAre(5, 6));
  EXPECT_EQ(plans[1].launch.programs(0).argv(0), "a");
  EXPECT_EQ(plans[2].launch.programs(0).argv(0), "b");
  EXPECT_EQ(plans[3].launch.tasks(1).output().path(), "/dir/out.7.6.3") << "files are named after the first step";
  EXPECT_THAT(plans[2].launch.shape_env(),
              IsSupersetOf({"SLURM_NTASKS=7", "SLURM_STEP_NUM_NODES=4", "GANGWAY_NPROCS=7", "SLURM_NODEID=2",
                            "SLURM_STEP_NODELIST=a,b,b,c", "SLURM_STEP_TASKS_PER_NODE=1,2(x3)"}));
  EXPECT_THAT(plans[3].launch.tasks(0).env(), IsSupersetOf({"SLURM_PROCID=5", "SLURM_LOCALID=0", "SLURM_GTIDS=5,6"}));
}

TEST(GrunParts, SeveralStepsAreOneWorldOfMpi) {
  const auto plans = plans_of_two({"a", ":", "b"}, attach::kBlock);
  for (uint32_t node = 0; node < plans.size(); ++node) {
    const wire::PmixLaunch& pmix = plans[node].launch.pmix();
    EXPECT_EQ(pmix.self(), node);
    EXPECT_EQ(pmix.secret(), plans[0].launch.pmix().secret());
    EXPECT_EQ(pmix.name(), "gangway.7.0.17");
    EXPECT_THAT(pmix.tasks(), ElementsAre(1, 2, 2, 2));
    EXPECT_EQ(pmix.nodes(), "a,b,b_1,c") << "a node with a helper of each step is two";
    EXPECT_THAT(pmix.nodes_of(), IsEmpty());
  }
  const auto cyclic = plans_of_two({"a", ":", "b"}, attach::kCyclic);
  EXPECT_THAT(ranks_of_plan(cyclic[2]), ElementsAre(3, 5));
  EXPECT_THAT(cyclic[0].launch.pmix().nodes_of(), ElementsAre(0, 1, 1, 2, 3, 2, 3));
}

}  // namespace
}  // namespace gw::cmds
