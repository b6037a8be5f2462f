// Components of heterogeneous jobs: where they end, what they take over, which source wins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cmds/gbatch/batch_components.h"

namespace gw::cmds {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;

constexpr base::Time kNow{1'800'000'000'000'000};

base::Result<CommandLine> split(const Words& args) {
  BatchOptions early;
  client::CommonFlags flags;
  return split_components(batch_table(early, flags, kNow), args);
}

TEST(Components, EndAtAColonBeforeTheScript) {
  struct Case {
    Words args;
    std::vector<Words> components;
    Words operands;
  };
  const Case kCases[] = {
      {{}, {{}}, {}},
      {{"-N2", "x.sh"}, {{"-N2"}}, {"x.sh"}},
      {{"-N2", ":", "-N", "4", "x.sh", "a"}, {{"-N2"}, {"-N", "4"}}, {"x.sh", "a"}},
      {{"-N2", "x.sh", ":", "-N4"}, {{"-N2"}}, {"x.sh", ":", "-N4"}},  // arguments of the script
      {{"--comment", ":", "x.sh"}, {{"--comment", ":"}}, {"x.sh"}},    // the value of an option
      {{":", "-N4", ":"}, {{}, {"-N4"}, {}}, {}},
  };
  for (const Case& c : kCases) {
    const auto line = split(c.args);
    ASSERT_TRUE(line.has_value()) << line.error().text();
    EXPECT_EQ(line->components, c.components) << testing::PrintToString(c.args);
    EXPECT_EQ(line->operands, c.operands) << testing::PrintToString(c.args);
  }
  EXPECT_FALSE(split({"-N2", ":", "--no-such-option"}).has_value());
  EXPECT_TRUE(split(Words(127, ":")).has_value());
  EXPECT_THAT(split(Words(128, ":")).error().what, HasSubstr("at most 128 components"));
}

base::Result<std::vector<BatchOptions>> read(const std::string& script, const Words& args,
                                             const std::map<std::string, std::string>& env = {}) {
  auto directives = client::read_directives(script, "x.sh");
  EXPECT_TRUE(directives.has_value());
  return read_components({*directives, "x.sh",
                          [&env](const char* name) {
                            const auto found = env.find(name);
                            return found == env.end() ? nullptr : found->second.c_str();
                          },
                          split(args)->components, kNow});
}

std::vector<uint32_t> nodes(const std::vector<BatchOptions>& components) {
  std::vector<uint32_t> all;
  for (const BatchOptions& o : components) all.push_back(o.spec.request.min_nodes);
  return all;
}

TEST(Components, OfScriptAndCommandLineMatchByNumber) {
  const char* kTwo = "#!/bin/sh\n#SBATCH -N2\n#SBATCH hetjob\n#GBATCH -N3\ntrue\n";
  struct Case {
    const char* script;
    Words args;
    std::vector<uint32_t> nodes;
  };
  const Case kCases[] = {
      {"#!/bin/sh\n", {}, {1}},
      {kTwo, {}, {2, 3}},
      {kTwo, {"-N5"}, {5, 3}},
      {kTwo, {":", "-N5"}, {2, 5}},
      {kTwo, {"-N5", ":", "-N6", ":", "-N7"}, {5, 6, 7}},
      {"#!/bin/sh\n#SBATCH packjob\n#SBATCH -N4\n", {}, {1, 4}},
      {"#!/bin/sh\n#SBATCH -N4\n", {":"}, {4, 1}},
  };
  for (const Case& c : kCases) {
    const auto components = read(c.script, c.args);
    ASSERT_TRUE(components.has_value()) << components.error().text();
    EXPECT_EQ(nodes(*components), c.nodes) << c.script << testing::PrintToString(c.args);
  }
}

TEST(Components, TakeOverWhatIsTheWholeJobs) {
  const auto components = read("#!/bin/sh\n", {"-J",
                                               "name",
                                               "-t",
                                               "60",
                                               "-A",
                                               "acct",
                                               "-o",
                                               "out",
                                               "-x",
                                               "n9",
                                               "--comment=c",
                                               "-p",
                                               "gpu",
                                               "-N2",
                                               "-c4",
                                               "--gres=gpu:2",
                                               "--mem=1G",
                                               "-C",
                                               "ib",
                                               "--gpu-bind=closest",
                                               "--locality=leaf",
                                               ":",
                                               "-n8",
                                               "-t",
                                               "30"});
  ASSERT_TRUE(components.has_value());
  ASSERT_EQ(components->size(), 2u);
  const model::JobSpec& next = (*components)[1].spec;
  EXPECT_EQ(next.name, "name");
  EXPECT_EQ(next.account, "acct");
  EXPECT_EQ(next.comment, "c");
  EXPECT_EQ(next.launch.std_out, "out");
  EXPECT_EQ(next.time_limit, base::minutes(30));
  EXPECT_THAT(next.request.exclude, ElementsAre("n9"));
  EXPECT_THAT(next.partitions, IsEmpty());
  EXPECT_EQ(next.gpu_bind, "");
  model::Request only_size;
  only_size.exclude = {"n9"};
  only_size.tasks = 8;
  only_size.tasks_given = true;
  EXPECT_EQ(next.request, only_size);
  EXPECT_FALSE((*components)[1].gpus.per_node.given);
}

// In whatever component it stands; the order of the sources holds for the whole job.
TEST(Components, ShareWhatIsNotAboutResources) {
  struct Case {
    const char* script;
    Words args;
    std::map<std::string, std::string> env;
    int64_t minutes;
    bool is_held;
  };
  const Case kCases[] = {
      {"#!/bin/sh\n", {"-t", "10", ":", "-N2", "--hold"}, {}, 10, true},
      {"#!/bin/sh\n", {"-t", "10", ":", "-N2", "-t", "20"}, {}, 20, false},
      {"#!/bin/sh\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -t 5\n", {"-t", "10"}, {}, 10, false},
      {"#!/bin/sh\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -t 5\n", {}, {{"SBATCH_TIMELIMIT", "7"}}, 7, false},
      {"#!/bin/sh\n", {"-t", "10", ":", "-N2"}, {{"SBATCH_TIMELIMIT", "7"}}, 10, false},
  };
  for (const Case& c : kCases) {
    const auto components = read(c.script, c.args, c.env);
    ASSERT_TRUE(components.has_value()) << components.error().text();
    ASSERT_EQ(components->size(), 2u);
    for (const BatchOptions& o : *components) {
      EXPECT_EQ(o.spec.time_limit, base::minutes(c.minutes)) << c.script << testing::PrintToString(c.args);
      EXPECT_EQ(o.spec.hold_user, c.is_held) << testing::PrintToString(c.args);
    }
  }
}

TEST(Components, EnvironmentStandsBetweenScriptAndCommandLine) {
  const std::map<std::string, std::string> env = {{"SBATCH_NODES", "7"}, {"SBATCH_PARTITION", "p"}};
  const auto components = read("#!/bin/sh\n#SBATCH -N2\n", {":", "-N5"}, env);
  ASSERT_TRUE(components.has_value());
  EXPECT_EQ(nodes(*components), (std::vector<uint32_t>{7, 5}));
  EXPECT_THAT((*components)[1].spec.partitions, ElementsAre("p"));
}

TEST(Components, ALaterSourceReplacesWhatExcludesIt) {
  const char* kScript = "#!/bin/sh\n#SBATCH -c4\n";
  auto components = read(kScript, {"--cpus-per-gpu=8"});
  ASSERT_TRUE(components.has_value());
  EXPECT_EQ((*components)[0].spec.request.cpus_per_task, 1u);
  EXPECT_EQ((*components)[0].spec.request.cpus_per_gpu, 8u);
  components = read("#!/bin/sh\n", {"-c4"}, {{"SBATCH_CPUS_PER_GPU", "8"}});
  ASSERT_TRUE(components.has_value());
  EXPECT_EQ((*components)[0].spec.request.cpus_per_task, 4u);
  EXPECT_EQ((*components)[0].spec.request.cpus_per_gpu, 0u);
  EXPECT_THAT(read(kScript, {"-c4", "--cpus-per-gpu=8"}).error().what, HasSubstr("mutually exclusive"));
  EXPECT_THAT(read("#!/bin/sh\n#SBATCH -c4 --cpus-per-gpu=8\n", {}).error().what, HasSubstr("mutually exclusive"));
}

TEST(Components, MistakesInAnyOfThemAreTold) {
  EXPECT_THAT(read("#!/bin/sh\n#SBATCH hetjob\n#SBATCH -N0\n", {}).error().what, HasSubstr("x.sh:3: #SBATCH: -N"));
  EXPECT_THAT(read("#!/bin/sh\n#SBATCH hetjob -N2\n", {}).error().what, HasSubstr("x.sh:2: "));
  std::string many = "#!/bin/sh\n";
  for (int i = 0; i < 128; ++i) many += "#SBATCH hetjob\n";
  EXPECT_THAT(read(many, {}).error().what, HasSubstr("at most 128 components"));
}

TEST(Components, WhatIsInEffectComesFromAllSourcesTheCommandLineLast) {
  client::OptionsInEffect seen;
  auto directives = client::read_directives("#!/bin/sh\n#SBATCH -N2 -J script --mem=1G\n", "x.sh");
  const auto variable = [](const char* name) { return std::string_view(name) == "SBATCH_TIMELIMIT" ? "7" : nullptr; };
  ASSERT_TRUE(
      read_components({*directives, "x.sh", variable, split({"-J", "line", "-v", "x.sh"})->components, kNow, &seen}));
  using Shown = std::pair<std::string, std::string>;
  EXPECT_THAT(seen.shown(), ElementsAre(Shown("job-name", "line"), Shown("mem", "1G"), Shown("nodes", "2"),
                                        Shown("time", "7"), Shown("verbose", "1")));
}

}  // namespace
}  // namespace gw::cmds
