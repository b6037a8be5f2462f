// From arguments to a JobSpec: every option of gbatch, good and bad; scripts; the environment that goes along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "client/options/directives.h"
#include "cmds/gbatch/batch_table.h"
#include "cmds/request/batch_script.h"

namespace gw::cmds {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr base::Time kNow{1'800'000'000'000'000};

struct Outcome {
  BatchOptions options;
  std::vector<std::string> notes;
  std::string error;
};

Outcome run(std::vector<std::string> args) {
  Outcome out;
  client::CommonFlags flags;
  const auto table = batch_table(out.options, flags, kNow);
  auto parsed = client::parse_options(table, args, {.stop_at_operand = true});
  if (!parsed) {
    out.error = parsed.error().text();
    return out;
  }
  if (auto done = complete(out.options, out.notes); !done) out.error = done.error().text();
  return out;
}

model::JobSpec spec(std::vector<std::string> args) {
  Outcome out = run(std::move(args));
  EXPECT_EQ(out.error, "");
  return out.options.spec;
}

TEST(Gbatch, TextsGoIntoTheSpec) {
  const auto s = spec({"-J", "name", "-p", "a,b", "-q", "high", "-A", "acct", "--comment", "c", "-o", "o-%j", "-e", "e",
                       "-i", "in", "--open-mode=append"});
  EXPECT_EQ(s.name, "name");
  EXPECT_THAT(s.partitions, ElementsAre("a", "b"));
  EXPECT_EQ(s.qos, "high");
  EXPECT_EQ(s.account, "acct");
  EXPECT_EQ(s.comment, "c");
  EXPECT_EQ(s.launch.std_out, "o-%j");
  EXPECT_EQ(s.launch.std_err, "e");
  EXPECT_EQ(s.launch.std_in, "in");
  EXPECT_TRUE(s.launch.append_output);
}

TEST(Gbatch, LaterOptionsReplaceEarlierOnes) {
  const auto s =
      spec({"-p", "a,b", "-p", "c", "-N4", "-N2", "--mem=1G", "--mem-per-cpu=2G", "--no-requeue", "--requeue"});
  EXPECT_THAT(s.partitions, ElementsAre("c"));
  EXPECT_EQ(s.request.min_nodes, 2u);
  EXPECT_EQ(s.request.mem_per_node_mb, 0u);
  EXPECT_EQ(s.request.mem_per_cpu_mb, 2048u);
  EXPECT_TRUE(s.requeue);
}

struct Shape {
  std::vector<std::string> args;
  uint32_t min_nodes, max_nodes, tasks, per_node, cpus;
};

TEST(Gbatch, SizesFollowFromEachOther) {
  const Shape shapes[] = {
      {{}, 1, 1, 1, 0, 1},
      {{"-N2"}, 2, 2, 2, 0, 1},
      {{"-N2-4"}, 2, 4, 2, 0, 1},
      {{"-n8"}, 1, 8, 8, 0, 1},
      {{"-N2", "-n8", "-c3"}, 2, 2, 8, 0, 3},
      {{"-N2", "--ntasks-per-node=4"}, 2, 2, 8, 4, 1},
      {{"-n9", "--ntasks-per-node=4"}, 3, 9, 9, 4, 1},
      {{"--ntasks-per-node=4"}, 1, 1, 4, 4, 1},
      {{"-w", "n[1-3]"}, 3, 3, 3, 0, 1},
      {{"-N2", "-n1"}, 1, 1, 1, 0, 1},
  };
  for (const Shape& c : shapes) {
    const auto r = spec(c.args).request;
    EXPECT_EQ(r.min_nodes, c.min_nodes) << testing::PrintToString(c.args);
    EXPECT_EQ(r.max_nodes, c.max_nodes) << testing::PrintToString(c.args);
    EXPECT_EQ(r.tasks, c.tasks) << testing::PrintToString(c.args);
    EXPECT_EQ(r.tasks_per_node, c.per_node) << testing::PrintToString(c.args);
    EXPECT_EQ(r.cpus_per_task, c.cpus) << testing::PrintToString(c.args);
  }
  EXPECT_THAT(run({"-N2", "-n1"}).notes, ElementsAre("can't run 1 processes on 2 nodes, setting nnodes to 1"));
}

TEST(Gbatch, CoresGoByGpusUnlessSomebodySaysCpus) {
  EXPECT_TRUE(spec({"--gpus-per-node=2"}).request.cpus_by_gpus);
  EXPECT_TRUE(spec({"--gpus-per-node=2", "-n4"}).request.cpus_by_gpus);
  EXPECT_FALSE(spec({"--gpus-per-node=2", "-c1"}).request.cpus_by_gpus);
  EXPECT_FALSE(spec({"--gpus-per-node=2", "--cpus-per-gpu=1"}).request.cpus_by_gpus);
  EXPECT_FALSE(spec({"-n4"}).request.cpus_by_gpus);
}

struct Gpus {
  std::vector<std::string> args;
  model::GpuCounting counting;
  uint32_t count;
  std::string type;
  uint32_t nodes, tasks;
};

TEST(Gbatch, GpusAreCountedOneWay) {
  using model::GpuCounting;
  const Gpus cases[] = {
      {{"-G4"}, GpuCounting::kPerJob, 4, "", 1, 1},
      {{"--gpus=H100:4"}, GpuCounting::kPerJob, 4, "h100", 1, 1},
      {{"-N2", "--gpus-per-node=a100:8"}, GpuCounting::kPerNode, 8, "a100", 2, 2},
      {{"-n4", "--gpus-per-task=2"}, GpuCounting::kPerTask, 2, "", 1, 4},
      {{"--gres=gpu"}, GpuCounting::kPerNode, 1, "", 1, 1},
      {{"--gres=gpu:2"}, GpuCounting::kPerNode, 2, "", 1, 1},
      {{"--gres=gpu:h100:2"}, GpuCounting::kPerNode, 2, "h100", 1, 1},
      {{"--gres=gres/gpu=2"}, GpuCounting::kPerNode, 2, "", 1, 1},
      {{"--gres=gpu:h100"}, GpuCounting::kPerNode, 1, "h100", 1, 1},
      {{"--gres=gpu:2", "--gres=none"}, GpuCounting::kNone, 0, "", 1, 1},
      {{"--gpus=0"}, GpuCounting::kNone, 0, "", 1, 1},
      {{"--gpus=16", "--gpus-per-node=8"}, GpuCounting::kPerNode, 8, "", 2, 2},
      {{"--gpus=8", "--gpus-per-task=2"}, GpuCounting::kPerTask, 2, "", 1, 4},
      {{"--gpus-per-node=8", "--gpus-per-task=2"}, GpuCounting::kPerNode, 8, "", 1, 4},
  };
  for (const Gpus& c : cases) {
    const auto r = spec(c.args).request;
    EXPECT_EQ(r.gpu_counting, c.counting) << testing::PrintToString(c.args);
    EXPECT_EQ(r.gpus, c.count) << testing::PrintToString(c.args);
    EXPECT_EQ(r.gpu_type, c.type) << testing::PrintToString(c.args);
    EXPECT_EQ(r.min_nodes, c.nodes) << testing::PrintToString(c.args);
    EXPECT_EQ(r.tasks, c.tasks) << testing::PrintToString(c.args);
  }
}

TEST(Gbatch, ShardsArePartsOfOneGpu) {
  for (const char* gres : {"--gres=shard:250", "--gres=gres/shard=250", "--gres=shard:H100:250"}) {
    const auto r = spec({gres}).request;
    EXPECT_EQ(r.gpu_milli, 250u) << gres;
    EXPECT_EQ(r.gpu_counting, model::GpuCounting::kPerNode) << gres;
    EXPECT_EQ(r.gpus, 1u) << gres;
    EXPECT_EQ(r.gpu_type, std::string(gres).find("H100") == std::string::npos ? "" : "h100");
  }
  EXPECT_EQ(spec({"--gres=shard:250", "--gres=gpu:2"}).request.gpu_milli, 1000u);
  EXPECT_EQ(spec({"--gres=shard:250", "--gres=none"}).request.gpus, 0u);
  EXPECT_EQ(spec({"--gres=shard:1", "-n4"}).request.max_nodes, 1u);
}

TEST(Gbatch, LocalityGoesIntoTheRequest) {
  const auto r = spec({"--locality=nvlink@5m,node", "--switches=2@10", "--segment=2", "-N4", "--fit=spread", "-G8",
                       "--cpus-per-gpu=12", "--mem-per-gpu=64G"})
                     .request;
  EXPECT_EQ(model::format_locality(r.locality), "nvlink@00:05:00,node");
  EXPECT_EQ(r.max_switches, 2u);
  EXPECT_EQ(r.switches_wait, base::minutes(10));
  EXPECT_EQ(r.segment, 2u);
  EXPECT_EQ(r.fit, model::Fit::kSpread);
  EXPECT_EQ(r.cpus_per_gpu, 12u);
  EXPECT_EQ(r.cpus_per_task, 1u);
  EXPECT_EQ(r.mem_per_gpu_mb, 65536u);
  EXPECT_EQ(spec({"--switches=1"}).request.switches_wait, base::kUnlimited);
  EXPECT_EQ(spec({"--mem-per-gpu=1G", "-G1", "--mem=2G"}).request.mem_per_gpu_mb, 0u);
}

TEST(Gbatch, BindingWordsOfSlurm) {
  for (const char* word : {"closest", "none", "single:2", "per_task:1", "map_gpu:0,1,2,0x3", "map_gpu:0*4,1",
                           "mask_gpu:f,0x3,3*2", "verbose", "verbose,closest", "v,single:1", "quiet,none"})
    EXPECT_EQ(spec({"--gpu-bind", word}).gpu_bind, word);
  EXPECT_EQ(spec({"--gpu-bind=Closest"}).gpu_bind, "closest");
  EXPECT_EQ(spec({"--gres-flags=enforce-binding"}).gres_flags, "enforce-binding");
  EXPECT_EQ(spec({"--gres-flags=Disable-Binding,one-task-per-sharing"}).gres_flags,
            "disable-binding,one-task-per-sharing");
}

TEST(Gbatch, TimesToFitInto) {
  const auto s = spec({"--time-min=1:30", "-t", "60", "--deadline=now+2hours", "--reservation=maint_1"});
  EXPECT_EQ(s.time_min, base::minutes(2)) << "rounded up";
  EXPECT_EQ(s.deadline, kNow + base::hours(2));
  EXPECT_EQ(s.reservation, "maint_1");
  EXPECT_EQ(run({"--deadline=now+30minutes", "-t", "60", "--time-min=20"}).error, "");
  EXPECT_EQ(run({"--deadline=now+30minutes"}).error, "") << "the time limit is the partition's";
}

TEST(Gbatch, TimesAreRoundedUp) {
  EXPECT_EQ(spec({"-t", "90"}).time_limit, base::minutes(90));
  EXPECT_EQ(spec({"-t", "0:01"}).time_limit, base::minutes(1));
  EXPECT_EQ(spec({"--time=1-2:03:04"}).time_limit, base::hours(26) + base::minutes(4));
  EXPECT_EQ(spec({}).time_limit, base::Duration{}) << "not said";
  for (const char* none : {"0", "UNLIMITED", "infinite", "-1", "0:00", "0s"}) {
    EXPECT_EQ(spec({"-t", none}).time_limit, base::kUnlimited) << none;
  }
  EXPECT_EQ(spec({"--begin=now+1hour"}).begin, kNow + base::hours(1));
  EXPECT_EQ(spec({"--begin=now"}).begin, base::Time{});
}

TEST(Gbatch, SmallThings) {
  const auto s =
      spec({"-H", "--nice", "--priority=7", "--exclusive", "-C", "ib&(a|b)", "-x", "n3,n1", "--no-requeue", "--mem=0"});
  EXPECT_TRUE(s.hold_user);
  EXPECT_EQ(s.nice, 100);
  EXPECT_EQ(s.priority, 7);
  EXPECT_TRUE(s.request.exclusive);
  EXPECT_EQ(model::format_features(s.request.features), "ib&a|ib&b");
  EXPECT_THAT(s.request.exclude, ElementsAre("n1", "n3"));
  EXPECT_FALSE(s.requeue);
  EXPECT_TRUE(s.request.mem_all);
  EXPECT_EQ(spec({"--nice=-5"}).nice, -5);
}

TEST(Gbatch, SignalForms) {
  const auto warn = [](const char* text) { return spec({"--signal", text}).warn; };
  EXPECT_EQ(warn("USR1"), (model::WarnSignal{SIGUSR1, 60, false}));
  EXPECT_EQ(warn("B:USR2@30"), (model::WarnSignal{SIGUSR2, 30, true}));
  EXPECT_EQ(warn("SIGTERM@0"), (model::WarnSignal{SIGTERM, 0, false}));
  EXPECT_EQ(warn("10@90"), (model::WarnSignal{10, 90, false}));
  EXPECT_EQ(warn("R:B:USR1"), (model::WarnSignal{SIGUSR1, 60, true}));
  EXPECT_EQ(warn("R:USR1"), (model::WarnSignal{SIGUSR1, 60, false}));
}

TEST(Gbatch, WhatToDoWhenTakenOff) {
  EXPECT_EQ(spec({}).on_preempt, model::OnPreempt::kRequeue);
  EXPECT_EQ(spec({}).preempt_signo, 0);
  EXPECT_EQ(spec({"--on-preempt=cancel"}).on_preempt, model::OnPreempt::kCancel);
  EXPECT_EQ(spec({"--on-preempt=CHECKPOINT"}).on_preempt, model::OnPreempt::kCheckpoint);
  EXPECT_EQ(spec({"--preempt-signal=USR1"}).preempt_signo, SIGUSR1);
  EXPECT_EQ(spec({"--preempt-signal=12"}).preempt_signo, 12);
}

struct Bad {
  std::vector<std::string> args;
  const char* says;
};

TEST(Gbatch, BadOptionsSayWhatIsWrong) {
  const Bad cases[] = {
      {{"-N", "0"}, "-N/--nodes"},
      {{"-N", "4-2"}, "runs backwards"},
      {{"-N", "99999999999999999999"}, "-N/--nodes"},
      {{"-n", "-1"}, "-n/--ntasks"},
      {{"-c", "0"}, "-c/--cpus-per-task"},
      {{"--ntasks-per-node=x"}, "--ntasks-per-node"},
      {{"--mem=much"}, "--mem"},
      {{"-G", "-1"}, "-G/--gpus"},
      {{"-G", "a100:2,h100:2"}, "several GPU types"},
      {{"--gres=lic ense:2"}, "is not NAME[:TYPE][:COUNT]"},
      {{"--gpus=7", "--gpus-per-node=2"}, "not a multiple"},
      {{"--gpus=8", "--gpus-per-node=4", "--gpus-per-task=2"}, "at once"},
      {{"--gpus=8", "--gpus-per-node=4", "-N3"}, "means 2 nodes"},
      {{"--gpus=a100:8", "--gpus-per-task=h100:1"}, "different types"},
      {{"--gpus=1", "-N2"}, "fewer than one GPU"},
      {{"-n9", "-N2", "--ntasks-per-node=4"}, "does not fit"},
      {{"-t", "soon"}, "Invalid time limit specification"},
      {{"-t", ""}, "-t/--time"},
      {{"--begin=yesterday-ish"}, "--begin"},
      {{"-w", "n[1-"}, "-w/--nodelist"},
      {{"-w", "n[1-999999999]"}, "-w/--nodelist"},
      {{"-x", ""}, "-x/--exclude"},
      {{"-w", "n1", "-x", "n1"}, "both"},
      {{"-C", "a&"}, "feature"},
      {{"--exclusive=everybody"}, "neither user nor mcs"},
      {{"--signal=FOO"}, "unknown signal"},
      {{"--on-preempt=cancle"}, "did you mean \"cancel\"?"},
      {{"--on-preempt="}, "none of requeue, cancel, checkpoint"},
      {{"--preempt-signal=0"}, "--preempt-signal"},
      {{"--preempt-signal=FOO"}, "unknown signal"},
      {{"--signal=USR1@999999"}, "seconds"},
      {{"--open-mode=x"}, "neither append nor truncate"},
      {{"--nice=x"}, "--nice"},
      {{"--priority=-1"}, "--priority"},
      {{"-p", ""}, "-p/--partition"},
      {{"-p", "a,,b"}, "empty name"},
      {{"-J", ""}, "empty"},
      {{"--array=3-1"}, "--array=3-1: the range 3-1 ends before it begins"},
      {{"-a", "1-3%x"}, "a number is missing"},
      {{"-d", "afterok:x"}, "--dependency: Job dependency problem: \"afterok:x\": \"x\" is no job id"},
      {{"-d", ""}, "-d/--dependency: the value is empty"},
  };
  for (const Bad& c : cases) EXPECT_THAT(run(c.args).error, HasSubstr(c.says)) << testing::PrintToString(c.args);
}

TEST(Gbatch, BadPlacesAndTimesSayWhatIsWrong) {
  const Bad cases[] = {
      {{"--gres=shard"}, "--gres=shard"},
      {{"--gres=shard:0"}, "--gres=shard: 0 is out of range"},
      {{"--gres=shard:1000"}, "for a whole one write gpu:1"},
      {{"--gres=shard:1:2"}, "is not [TYPE:]COUNT"},
      {{"--gres=shard:500", "-G1"}, "together with --gpus"},
      {{"--gres=gpu:1,shard:500"}, "a part of one GPU, or whole GPUs"},
      {{"--gres=shard:500", "-N2"}, "more than one node"},
      {{"--gres=mps:2"}, "is not NAME[:TYPE][:COUNT]"},
      {{"--gres=gpu:1,gpu:2"}, "asks for GPUs twice"},
      {{"--gres=nvme:2x"}, "has a bad count"},
      {{"--gres="}, "the value is empty"},
      {{"--locality=leaff"}, "--locality: \"leaff\" is not a level of locality (did you mean \"leaf\"?)"},
      {{"--locality=leaf,node"}, "not wider"},
      {{"--locality="}, "--locality"},
      {{"--switches=0"}, "--switches"},
      {{"--switches=1@"}, "--switches"},
      {{"--switches=1@soon"}, "--switches"},
      {{"--segment=0"}, "--segment"},
      {{"--segment=3", "-N4"}, "--segment=3 does not divide the number of nodes (4)"},
      {{"--fit=tight"}, "--fit"},
      {{"--cpus-per-gpu=0", "-G1"}, "--cpus-per-gpu"},
      {{"--cpus-per-gpu=4"}, "no GPUs are asked for"},
      {{"--cpus-per-gpu=4", "-G1", "-c1"}, "mutually exclusive"},
      {{"--mem-per-gpu=much"}, "--mem-per-gpu"},
      {{"--mem-per-gpu=1G"}, "no GPUs are asked for"},
      {{"--gpu-bind=closer"}, "did you mean \"closest\"?"},
      {{"--gpu-bind=single"}, "--gpu-bind: single"},
      {{"--gpu-bind=single:0"}, "out of range"},
      {{"--gpu-bind=map_gpu:"}, "--gpu-bind"},
      {{"--gpu-bind=map_gpu:0,f"}, "\"f\" in map_gpu is no index"},
      {{"--gpu-bind=mask_gpu:0xg"}, "is no mask"},
      {{"--gpu-bind=map_gpu:1*"}, "is no index"},
      {{"--gpu-bind=verbose,"}, "--gpu-bind"},
      {{"--gpu-bind="}, "--gpu-bind"},
      {{"--gres-flags=enforce"}, "is no flag"},
      {{"--gres-flags=enforce-bindin"}, "did you mean \"enforce-binding\"?"},
      {{"--gres-flags=enforce-binding,disable-binding"}, "contradicts"},
      {{"--gres-flags="}, "--gres-flags"},
      {{"--time-min=x"}, "--time-min"},
      {{"--time-min=UNLIMITED"}, "--time-min"},
      {{"--time-min=61", "-t60"}, "--time-min=01:01:00 is more than the time limit of 01:00:00"},
      {{"--deadline=sometime"}, "--deadline"},
      {{"--deadline=2020-01-01"}, "has passed"},
      {{"--deadline=now+30minutes", "-t60"}, "does not end by"},
      {{"--deadline=now+90minutes", "-t60", "--begin=now+1hour"}, "does not end by"},
      {{"--reservation="}, "--reservation"},
      {{"--reservation=a,b"}, "several reservations"},
      {{"--reservation=a/b"}, "is not a name"},
  };
  for (const Bad& c : cases) EXPECT_THAT(run(c.args).error, HasSubstr(c.says)) << testing::PrintToString(c.args);
}

TEST(Gbatch, EveryDirectiveOptionIsReachableFromAScript) {
  BatchOptions o;
  client::CommonFlags flags;
  const auto table = batch_table(o, flags, kNow);
  auto directives = client::read_directives("#!/bin/sh\n#SBATCH --signal B:USR2@30\n#GBATCH -N2 --wait\n", "x.sh");
  ASSERT_TRUE(directives.has_value());
  EXPECT_TRUE(client::apply_directives(table, *directives, "x.sh").has_value());
  EXPECT_EQ(o.spec.warn.signo, SIGUSR2);
  EXPECT_TRUE(o.wait);
  auto wrap = client::read_directives("#!/bin/sh\n#SBATCH --wrap=x\n", "x.sh");
  EXPECT_FALSE(client::apply_directives(table, *wrap, "x.sh").has_value());
}

TEST(Gbatch, TableHasNoDoubleNames) {
  BatchOptions o;
  client::CommonFlags flags;
  std::set<std::string> names;
  std::set<char> letters;
  for (const client::Option& option : batch_table(o, flags, kNow)) {
    EXPECT_TRUE(names.insert(std::string(option.name)).second) << option.name;
    if (option.letter != 0) {
      EXPECT_TRUE(letters.insert(option.letter).second) << option.letter;
    }
  }
}

TEST(Script, IsChecked) {
  const auto says = [](std::string_view bytes) {
    auto fine = check_script(bytes);
    return fine ? std::string() : fine.error().what;
  };
  EXPECT_EQ(says("#!/bin/sh\necho\n"), "");
  EXPECT_EQ(says(""), "Batch script is empty!");
  EXPECT_EQ(says(" \n\t\n"), "Batch script contains only whitespace!");
  EXPECT_THAT(says("echo hi\n"), HasSubstr("does not look like a batch script"));
  EXPECT_THAT(says(std::string_view("#!/bin/sh\n\0", 11)), HasSubstr("NUL"));
  EXPECT_THAT(says("#!/bin/sh\r\necho\r\n"), HasSubstr("DOS line breaks"));
  EXPECT_THAT(says(std::string(kMaxScript + 1, 'x')), HasSubstr("larger than 4 MiB"));
}

TEST(Script, WrapRunsUnderSh) { EXPECT_THAT(wrapped_script("true").bytes, testing::StartsWith("#!/bin/sh\n")); }

std::string exported(std::string_view form) {
  const std::vector<std::string> env = {"HOME=/h", "PATH=/p", "SLURM_X=1", "GANGWAY_Y=2", "broken"};
  auto block = export_environment(form, env);
  if (!block) return "ERROR " + block.error().what;
  std::string text = *block;
  for (char& c : text)
    if (c == '\0') c = '|';
  return text;
}

TEST(Export, FormsOfSlurm) {
  EXPECT_EQ(exported(""), "HOME=/h|PATH=/p|SLURM_X=1|GANGWAY_Y=2|");
  EXPECT_EQ(exported("ALL"), "HOME=/h|PATH=/p|SLURM_X=1|GANGWAY_Y=2|");
  EXPECT_EQ(exported("NONE"), "SLURM_X=1|GANGWAY_Y=2|SLURM_EXPORT_ENV=NONE|");
  EXPECT_EQ(exported("NIL"), "SLURM_EXPORT_ENV=NIL|");
  EXPECT_EQ(exported("HOME,A=b"), "HOME=/h|SLURM_X=1|GANGWAY_Y=2|A=b|SLURM_EXPORT_ENV=HOME,A=b|");
  EXPECT_EQ(exported("ALL,PATH=/q"), "HOME=/h|SLURM_X=1|GANGWAY_Y=2|PATH=/q|SLURM_EXPORT_ENV=ALL,PATH=/q|");
  EXPECT_THAT(exported("ALL,A='x,y'"), HasSubstr("A=x,y|"));
  EXPECT_THAT(exported("ALL,a.b-c=2"), HasSubstr("a.b-c=2|")) << "any name without = is one";
  EXPECT_THAT(exported("=2"), HasSubstr("ERROR"));
  EXPECT_THAT(exported("NONE,HOME"), HasSubstr("ERROR"));
  EXPECT_THAT(exported("A='x"), HasSubstr("ERROR"));
}

TEST(SubmitLine, HidesWhatOthersMayNotRead) {
  const std::vector<std::string> args = {"-N2", "--wrap", "secret work", "--export=KEY=secret", "a b"};
  EXPECT_EQ(submit_line("gbatch", args), "gbatch -N2 --wrap ... --export=... 'a b'");
}

TEST(Signals, ByNameOrNumber) {
  EXPECT_EQ(*parse_signal("KILL", "-s"), SIGKILL);
  EXPECT_EQ(*parse_signal("sigterm", "-s"), SIGTERM);
  EXPECT_EQ(*parse_signal("12", "-s"), 12);
  EXPECT_FALSE(parse_signal("0", "-s").has_value());
  EXPECT_FALSE(parse_signal("65", "-s").has_value());
  // The option is named once, before what is wrong.
  EXPECT_TRUE(parse_signal("99", "-s/--signal").error().what.starts_with("-s/--signal: 99 "))
      << parse_signal("99", "-s/--signal").error().what;
  EXPECT_TRUE(parse_signal("BOO", "-s/--signal").error().what.starts_with("-s/--signal: unknown signal"));
  EXPECT_EQ(parse_signal("TREM", "-s").error().hint, "did you mean \"term\"?");
}

}  // namespace
}  // namespace gw::cmds
