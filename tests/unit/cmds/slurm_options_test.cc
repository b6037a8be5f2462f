// Every option of sbatch, salloc and srun is taken: the list slurm_options.txt held against the tables, and the page
// that tells users what becomes of each.
#include "cmds/request/slurm_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "cmds/galloc/alloc_options.h"
#include "cmds/gbatch/batch_table.h"
#include "cmds/grun/run_options.h"
#include "cmds/request/option_groups.h"
#include "cmds/request/slurm_forms.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {
namespace {

using testing::HasSubstr;

constexpr base::Time kSubmittedAt{1'800'000'000'000'000};

struct Line {
  std::string name, letter, commands, outcome, value;
};

std::vector<Line> lines() {
  std::ifstream in(GW_SOURCE_DIR "/tests/unit/cmds/slurm_options.txt");
  std::vector<Line> all;
  for (std::string text; std::getline(in, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream words(text);
    Line line;
    words >> line.name >> line.letter >> line.commands >> line.outcome >> line.value;
    all.push_back(line);
  }
  return all;
}

/// What one command makes of its arguments.
struct Taken {
  std::string error, left_out;
};

Taken take(char command, const std::vector<std::string>& args) {
  BatchOptions batch;
  AllocOptions alloc;
  RunOptions run;
  client::CommonFlags flags;
  const auto table = command == 'b'   ? batch_table(batch, flags, kSubmittedAt)
                     : command == 'a' ? alloc_table(alloc, flags, kSubmittedAt)
                                      : run_table(run, flags, kSubmittedAt);
  const auto parsed = client::parse_options(table, args, {.stop_at_operand = true});
  BatchOptions& job = command == 'b' ? batch : command == 'a' ? alloc.job : run.job;
  static_cast<void>(apply_slurm_forms(job));  // one option alone may lack another that it needs
  return {parsed ? "" : parsed.error().text(), job.left_out.text()};
}

/// A value of this machine and user, where the list says so.
std::string value_of(const Line& line) {
  if (line.value == "own-uid") return std::to_string(::geteuid());
  if (line.value == "own-gid") return std::to_string(::getegid());
  if (line.value != "nodes-file") return line.value;
  const std::string path = testing::TempDir() + "/nodes-file";
  std::ofstream(path) << "n[1-2]\n";
  return path;
}

/// As `--name=value`, and with its letter.
std::vector<std::vector<std::string>> ways_to_say(const Line& line) {
  const std::string value = value_of(line);
  const bool has_value = line.value != "-";
  std::vector<std::vector<std::string>> ways = {{"--" + line.name + (has_value ? "=" + value : "")}};
  if (line.letter != "-") ways.push_back({"-" + line.letter + (has_value ? value : "")});
  return ways;
}

TEST(SlurmOptions, EachIsTakenAsTheListSays) {
  const auto all = lines();
  ASSERT_GE(all.size(), 145u);
  for (const Line& line : all)
    for (const char command : line.commands)
      for (const auto& args : ways_to_say(line)) {
        if (command == 'b' && line.name == "wait") continue;  // sbatch's takes no value
        const Taken taken = take(command, args);
        const std::string where = std::string(1, command) + ": " + testing::PrintToString(args);
        if (line.outcome == "refused")
          EXPECT_THAT(taken.error, HasSubstr("not supported in this version: ")) << where;
        else
          EXPECT_EQ(taken.error, "") << where;
        if (line.outcome == "less")
          EXPECT_THAT(taken.left_out, HasSubstr("--" + line.name)) << where;
        else
          EXPECT_EQ(taken.left_out, "") << where;
      }
}

TEST(SlurmOptions, EachRowIsInTheList) {
  const auto all = lines();
  for (const SlurmOption& row : slurm_options()) {
    const auto line = std::find_if(all.begin(), all.end(), [&](const Line& l) { return l.name == row.name; });
    ASSERT_NE(line, all.end()) << row.name;
    EXPECT_EQ(line->outcome, row.without == Without::kSame   ? "same"
                             : row.without == Without::kLess ? "less"
                                                             : "refused")
        << row.name;
  }
}

/// "all", "sbatch, srun"
std::string names_of(const std::string& commands) {
  if (commands == "bar") return "all";
  std::string text;
  for (const auto& [letter, name] : {std::pair{'b', "sbatch"}, std::pair{'a', "salloc"}, std::pair{'r', "srun"}})
    if (commands.find(letter) != std::string::npos) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::string row_of_page(const Line& line) {
  const auto row = std::find_if(slurm_options().begin(), slurm_options().end(),
                                [&](const SlurmOption& each) { return each.name == line.name; });
  std::string names = "`--" + line.name + "`";
  if (line.letter != "-") names = "`-" + line.letter + "`, " + names;
  const std::string outcome = line.outcome == "less"   ? "left out, with a warning"
                              : line.outcome == "same" ? "taken: nothing to do"
                                                       : line.outcome;
  const std::string why = row == slurm_options().end() ? std::string() : std::string(row->why);
  return "| " + names + " | " + names_of(line.commands) + " | " + outcome + " | " + why + " |";
}

TEST(SlurmOptions, ThePageHasARowForEach) {
  std::ifstream in(GW_SOURCE_DIR "/docs/migrating-from-slurm.md");
  std::stringstream page;
  page << in.rdbuf();
  std::string missing;
  for (const Line& line : lines())
    if (page.str().find(row_of_page(line)) == std::string::npos) missing += row_of_page(line) + "\n";
  EXPECT_EQ(missing, "") << "docs/migrating-from-slurm.md lacks these rows";
}

TEST(SlurmOptions, WhatIsLeftOutIsSaidOnceByItsReason) {
  EXPECT_EQ(take('b', {"--bbf=a", "--mcs-label=2", "--bb=b", "--bbf=c"}).left_out,
            "left out: --mcs-label (it is not kept); --bb, --bbf (there is no burst buffer: data "
            "are not staged)");
  EXPECT_EQ(take('b', {"--core-spec=1", "--core-spec=0", "-k", "--no-kill=off"}).left_out, "")
      << "later ones ask for nothing";
}

TEST(SlurmOptions, WrongValuesAreWrongAllTheSame) {
  const std::pair<std::vector<std::string>, std::string> kCases[] = {
      {{"--mail-type=ENDE"}, "--mail-type: \"ENDE\" is none of"},
      {{"--mail-user="}, "--mail-user: the value is empty"},
      {{"--tmp=much"}, "--tmp"},
      {{"--ntasks-per-socket=x"}, "--ntasks-per-socket"},
      {{"-B", "a:b"}, "is not SOCKETS[:CORES[:THREADS]]"},
      {{"--wait-all-nodes=2"}, "neither 0 nor 1"},
      {{"--kill-on-invalid-dep=maybe"}, "neither yes nor no"},
      {{"--delay-boot=soon"}, "--delay-boot"},
      {{"--hint=fast"}, "is no hint"},
      {{"--propagate=NOFILES"}, "is no resource limit"},
      {{"--tres-per-task=gpu:1"}, "Invalid Trackable RESource (TRES) specification"},
      {{"--tres-bind=fpga:closest"}, "is not gres/gpu:HOW"},
      {{"--nodefile=/no/such/file"}, "-F/--nodefile: /no/such/file: No such file"},
      {{"-w", "/no/such/file"}, "-w/--nodelist: /no/such/file: No such file"},
      {{"-m", "zigzag"}, "\"zigzag\" is not supported"},
      {{"-m", "block,Sideways"}, "is not supported"},
      {{"--exclusive=group"}, "neither user nor mcs"},
      {{"--uid=" + std::to_string(::geteuid() + 1)}, "Access/permission denied"},
      {{"--gid=" + std::to_string(::getegid() + 1)}, "Access/permission denied"},
      {{"--uid=somebody-else"}, "Access/permission denied"},
      {{"--mincpus=0"}, "--mincpus"}};
  for (const auto& [args, text] : kCases)
    EXPECT_THAT(take('b', args).error, HasSubstr(text)) << testing::PrintToString(args);
}

model::JobSpec spec(const std::vector<std::string>& args, std::string* error = nullptr) {
  BatchOptions o;
  client::CommonFlags flags;
  const auto parsed = client::parse_options(batch_table(o, flags, kSubmittedAt), args, {.stop_at_operand = true});
  EXPECT_TRUE(parsed) << testing::PrintToString(args);
  std::vector<std::string> notes;
  const auto done = complete(o, notes);
  if (error != nullptr) *error = done ? "" : done.error().text();
  if (error == nullptr) EXPECT_TRUE(done) << testing::PrintToString(args);
  return o.spec;
}

TEST(SlurmOptions, WhatIsLeftOutIsNoted) {
  BatchOptions o;
  client::CommonFlags flags;
  const std::vector<std::string> args = {"--mcs-label=2", "-k"};
  ASSERT_TRUE(client::parse_options(batch_table(o, flags, kSubmittedAt), args, {.stop_at_operand = true}));
  std::vector<std::string> notes;
  ASSERT_TRUE(complete(o, notes));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], testing::StartsWith("left out: --mcs-label ("));
}

TEST(SlurmForms, NeighboursAreAskedFor) {
  EXPECT_TRUE(spec({"-N2", "--contiguous"}).request.contiguous);
  EXPECT_FALSE(spec({"-N2"}).request.contiguous);
  std::string error;
  spec({"-N4", "--contiguous", "--segment=2"}, &error);
  EXPECT_THAT(error, HasSubstr("--contiguous does not go with --segment"));
  spec({"-N2-4", "--elastic", "--contiguous"}, &error);
  EXPECT_THAT(error, HasSubstr("the gang grows wherever there is room"));
}

TEST(SlurmForms, NodesAreChosenByTheirLayout) {
  const auto layout = [](const std::vector<std::string>& args) {
    const model::Request r = spec(args).request;
    return std::to_string(r.sockets) + ":" + std::to_string(r.socket_cores) + ":" + std::to_string(r.core_threads) +
           (r.whole_cores ? " whole" : "");
  };
  EXPECT_EQ(layout({"-B2:8:2"}), "2:8:2");
  EXPECT_EQ(layout({"-B", "2-4:*"}), "2:0:0");
  EXPECT_EQ(layout({"--extra-node-info=*:4:1"}), "0:4:0 whole");
  EXPECT_EQ(layout({"-B4", "--sockets-per-node=2"}), "2:0:0") << "the last one counts";
  EXPECT_EQ(layout({"--sockets-per-node=2", "--cores-per-socket=12"}), "2:12:0");
  EXPECT_EQ(layout({"--threads-per-core=2"}), "0:0:2");
  EXPECT_EQ(layout({"--threads-per-core=1"}), "0:0:0 whole");
  EXPECT_EQ(layout({"--sockets-per-node=2", "--gpus-per-socket=1"}), "2:0:0");
}

TEST(SlurmForms, TasksAreCountedBySockets) {
  EXPECT_EQ(spec({"-n8", "--ntasks-per-socket=2"}).request.tasks_per_socket, 2U);
  const auto derived = spec({"-N2", "--ntasks-per-socket=2", "-B2"}).request;
  EXPECT_EQ(derived.tasks_per_node, 4U);
  EXPECT_EQ(derived.tasks, 8U);
  EXPECT_EQ(spec({"-N2", "-n5", "--ntasks-per-socket=2", "--sockets-per-node=2"}).request.tasks_per_node, 0U);
  EXPECT_EQ(spec({"-n8", "-O", "--ntasks-per-socket=2"}).request.tasks_per_socket, 0U) << "no cores of their own";
  const auto memory = spec({"-n2", "--hint=memory_bound"}).request;
  EXPECT_TRUE(memory.whole_cores);
  EXPECT_EQ(memory.tasks_per_socket, 1U);
  EXPECT_TRUE(spec({"--hint=compute_bound"}).request.whole_cores);
  std::string error;
  spec({"--ntasks-per-socket=10000000", "--sockets-per-node=1024"}, &error);
  EXPECT_THAT(error, HasSubstr("10240000000 tasks on a node are too many"));
}

TEST(SlurmForms, ALaterHintTakesAnEarlierOneBack) {
  EXPECT_EQ(spec({"--hint=memory_bound", "--hint=nomultithread"}).request.tasks_per_socket, 0U);
  EXPECT_EQ(spec({"--hint=memory_bound", "--hint=multithread"}).request.tasks_per_socket, 0U);
  EXPECT_EQ(spec({"--ntasks-per-socket=3", "--hint=multithread"}).request.tasks_per_socket, 3U) << "no hint said that";
  EXPECT_EQ(spec({"--hint=memory_bound", "--ntasks-per-socket=3", "--hint=multithread"}).request.tasks_per_socket, 3U);
}

TEST(SlurmForms, TasksFollowFromGpusAndTheOtherWay) {
  EXPECT_EQ(spec({"--gpus=4", "--ntasks-per-gpu=2"}).request.tasks, 8u);
  EXPECT_EQ(spec({"-N2", "--gpus-per-node=4", "--ntasks-per-gpu=1"}).request.tasks, 8u);
  const auto by_tasks = spec({"-n8", "--ntasks-per-gpu=2"});
  EXPECT_EQ(by_tasks.request.gpus, 4u);
  EXPECT_EQ(by_tasks.gpu_bind, "single:2");
  EXPECT_EQ(spec({"-n8", "--ntasks-per-gpu=2", "--gpu-bind=none"}).gpu_bind, "none");
  std::string error;
  spec({"-n7", "--ntasks-per-gpu=2"}, &error);
  EXPECT_THAT(error, HasSubstr("not a multiple of --ntasks-per-gpu=2"));
  spec({"--ntasks-per-gpu=2"}, &error);
  EXPECT_THAT(error, HasSubstr("needs a number of GPUs or of tasks"));
  spec({"--gpus=4", "-n3", "--ntasks-per-gpu=2"}, &error);
  EXPECT_THAT(error, HasSubstr("means 8 tasks"));
}

TEST(SlurmForms, NumbersThatGrowTooLargeAreRefused) {
  std::string error;
  spec({"--gpus-per-socket=10000000", "--sockets-per-node=1024"}, &error);
  EXPECT_THAT(error, HasSubstr("10240000000 GPUs on a node are too many"));
  spec({"--gpus-per-node=1000", "--ntasks-per-gpu=100000000"}, &error);
  EXPECT_THAT(error, HasSubstr("100000000000 tasks on a node are too many"));
  spec({"--gpus=1000", "--ntasks-per-gpu=100000000"}, &error);
  EXPECT_THAT(error, HasSubstr("-n/--ntasks"));
}

TEST(SlurmForms, OtherWaysToSayWhatAttributesSay) {
  EXPECT_EQ(spec({"--gpus-per-socket=2", "--sockets-per-node=2"}).request.gpus, 4u);
  const auto tres = spec({"-n2", "--tres-per-task=cpu:3,gres/gpu:h100:1"});
  EXPECT_EQ(tres.request.cpus_per_task, 3u);
  EXPECT_EQ(tres.request.gpus, 1u);
  EXPECT_EQ(tres.request.gpu_type, "h100");
  EXPECT_EQ(spec({"--tres-bind=gres/gpu:closest"}).gpu_bind, "closest");
  EXPECT_EQ(spec({"--spread-job"}).request.fit, model::Fit::kSpread);
  EXPECT_TRUE(spec({"--hint=nomultithread"}).request.whole_cores);
  EXPECT_TRUE(spec({"--threads-per-core=1"}).request.whole_cores);
  EXPECT_TRUE(spec({"--ntasks-per-core=1"}).request.whole_cores);
  EXPECT_FALSE(spec({"--hint=nomultithread", "--hint=multithread"}).request.whole_cores);
  EXPECT_FALSE(spec({"--threads-per-core=2"}).request.whole_cores);
  EXPECT_TRUE(spec({"-O"}).request.overcommit);
  EXPECT_EQ(spec({"--mincpus=16"}).request.min_cpus, 16u);
  EXPECT_FALSE(spec({"--exclusive=user"}).request.exclusive);
}

TEST(SlurmForms, FilesOfNodesMayHaveAnyBlanks) {
  const std::string path = testing::TempDir() + "/hosts";
  std::ofstream(path) << "# mine\nn[3-4], n1\n\n n1\tn2 ,\n";
  EXPECT_THAT(spec({"-F", path}).request.nodelist, testing::ElementsAre("n1", "n2", "n3", "n4"));
  EXPECT_THAT(spec({"-w", path}).request.nodelist, testing::ElementsAre("n1", "n2", "n3", "n4"));
  std::ofstream(path) << "# none\n";
  EXPECT_THAT(take('b', {"-F", path}).error, HasSubstr("names no node"));
}

TEST(SlurmForms, LimitsThatArePropagated) {
  std::map<std::string, uint64_t> limits = {{"NOFILE", 1}, {"STACK", 2}, {"CORE", 3}};
  EXPECT_TRUE(keep_propagated("ALL", limits));
  EXPECT_EQ(limits.size(), 3u);
  EXPECT_TRUE(keep_propagated("stack,NOFILE", limits));
  EXPECT_EQ(limits, (std::map<std::string, uint64_t>{{"NOFILE", 1}, {"STACK", 2}}));
  EXPECT_TRUE(keep_propagated("NONE", limits));
  EXPECT_TRUE(limits.empty());
}

TEST(SlurmForms, VariablesComeFromAFile) {
  const std::string path = testing::TempDir() + "/variables";
  std::ofstream(path, std::ios::binary) << std::string("A=1\0B=two\nlines\0", 16);
  const auto lines = read_export_file(path);
  ASSERT_TRUE(lines) << lines.error().text();
  EXPECT_THAT(*lines, testing::ElementsAre("A=1", "B=two\nlines"));
  std::ofstream(path, std::ios::binary) << "A";
  EXPECT_FALSE(read_export_file(path));
  EXPECT_FALSE(read_export_file("/no/such/file"));
}

TEST(SlurmForms, OnlyTheOwnClusterIsThere) {
  EXPECT_TRUE(check_clusters("", "here"));
  EXPECT_TRUE(check_clusters("there,here", "here"));
  EXPECT_TRUE(check_clusters("all", "here"));
  const auto other = check_clusters("there", "here");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().what, HasSubstr("No cluster 'there' known by database."));
}

TEST(OptionGroups, NameOptionsThatAreThereOnceEach) {
  BatchOptions batch;
  AllocOptions alloc;
  RunOptions run;
  client::CommonFlags flags;
  std::set<std::string_view> known;
  for (const auto& table : {batch_table(batch, flags, kSubmittedAt), alloc_table(alloc, flags, kSubmittedAt),
                            run_table(run, flags, kSubmittedAt)})
    for (const client::Option& o : table) known.insert(o.name);
  std::set<std::string_view> seen;
  for (const client::OptionGroup& group : job_option_groups())
    for (const std::string_view name : group.options) {
      EXPECT_TRUE(known.contains(name)) << name;
      EXPECT_TRUE(seen.insert(name).second) << name << " stands in two groups";
    }
}

}  // namespace
}  // namespace gw::cmds
