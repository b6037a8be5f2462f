// Options of qsub of PBS Pro, Torque and Grid Engine, as words of gbatch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "client/options/directives.h"
#include "client/options/pbs.h"
#include "client/options/sge.h"

namespace gw::client {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string text_of(const base::Result<Words>& words) {
  return words ? base::join(*words, " ") : "ERROR " + words.error().text();
}
std::string of_pro(const Words& words) { return text_of(translate_pbs(words, {PbsKind::kPro, true})); }
std::string of_torque(const Words& words) { return text_of(translate_pbs(words, {PbsKind::kTorque, true})); }
std::string of_sge(const Words& words) { return text_of(translate_sge(words)); }

TEST(QsubOptions, TheTwoOfPbsDisagreeOnArrays) {
  EXPECT_EQ(of_pro({"-J", "1-9:2"}), "--array=1-9:2");
  EXPECT_EQ(of_torque({"-t", "1-9%2"}), "--array=1-9%2");
  EXPECT_THAT(of_pro({"-t", "1-9"}), HasSubstr("ERROR invalid option -- 't' (that is Torque's"));
  EXPECT_THAT(of_torque({"-J", "1-9"}), HasSubstr("ERROR invalid option -- 'J' (that is PBS Pro's"));
  EXPECT_THAT(of_pro({"-Z"}), HasSubstr("ERROR"));
}

TEST(QsubOptions, VariablesFilesAndShellAreThoseOfPbs) {
  EXPECT_EQ(of_pro({"-V", "-v", "A=1,B", "-j", "oe"}), "--queue-environment --queue-variables=A=1,B --queue-join=oe");
  EXPECT_EQ(of_pro({"-o", "host:/x/", "-eerr"}), "--queue-output=host:/x/ --queue-error=err");
  EXPECT_EQ(of_pro({"-S", "/bin/ksh@h1,/bin/sh"}), "--queue-shell=/bin/ksh");
  EXPECT_EQ(of_torque({"-F", "a b", "-z"}), "--queue-arguments=a b --quiet");
  EXPECT_EQ(of_pro({"-p", "-5"}), "--queue-priority=-5");
  EXPECT_THAT(of_pro({"-p", "2000"}), HasSubstr("ERROR"));
  EXPECT_THAT(of_pro({"-j", "x"}), HasSubstr("none of oe, eo, n"));
}

TEST(QsubOptions, ASizeReplacesAllOfTheSizeBefore) {
  EXPECT_EQ(of_pro({"-l", "nodes=2"}), "--nodes=2 --ntasks-per-node=1");
  EXPECT_EQ(of_pro({"-l", "nodes=2:ppn=4:gpus=0,walltime=1:00:00"}), "--nodes=2 --ntasks-per-node=4 --time=1:00:00");
  EXPECT_EQ(of_pro({"-lselect=1:ncpus=4"}), "--nodes=1 --ntasks-per-node=1 --cpus-per-task=4");
  EXPECT_EQ(of_pro({"-l", "ncpus=8", "-l", "nodes=1"}), "--nodes=1 --ntasks-per-node=1 --cpus-per-task=8")
      << "in whatever order they stand";
  EXPECT_EQ(of_pro({"-l", "select=1:ncpus=3:mpiprocs=2"}), "--nodes=1 --ntasks-per-node=2 --cpus-per-task=2")
      << "no fewer than were asked for";
  EXPECT_EQ(of_pro({"-l", "walltime=::30"}), "--time=0:0:30");
  EXPECT_EQ(text_of(translate_pbs({"-l", "nodes=2"}, {PbsKind::kPro, true, true})),
            "--queue-new-size --nodes=2 --ntasks-per-node=1")
      << "of the command line";
}

TEST(QsubOptions, MemoryIsOfTheWholeJob) {
  EXPECT_EQ(of_torque({"-l", "mem=4gb,nodes=2:ppn=4"}), "--nodes=2 --ntasks-per-node=4 --queue-mem=4294967296");
  EXPECT_EQ(of_torque({"-l", "mem=1000kb"}), "--queue-mem=1024000");
  EXPECT_EQ(of_torque({"-l", "mem=1kw"}), "--queue-mem=8192") << "words of eight bytes";
  EXPECT_EQ(of_torque({"-l", "mem=much"}), "--mem=much") << "gbatch says what is wrong";
  EXPECT_EQ(text_of(translate_pbs({"-l", "nodes=2,mem=4gb"})), "--nodes=2 --mem=4g") << "sbatch: of each node";
}

TEST(QsubOptions, BeginsThen) {
  EXPECT_EQ(of_pro({"-a", "2359"}), "--begin=23:59:00");
  EXPECT_EQ(of_pro({"-a", "12312359.30"}), "--begin=12/31-23:59:30");
  EXPECT_EQ(of_pro({"-a", "2612312359"}), "--begin=2026-12-31T23:59:00");
  EXPECT_EQ(of_pro({"-a", "202612312359.01"}), "--begin=2026-12-31T23:59:01");
  EXPECT_THAT(of_pro({"-a", "152359"}), testing::MatchesRegex("--begin=20..-..-15T23:59:00"));
  for (const char* bad : {"", "1", "123", "20261231235", "2026123123590", "12:00", "1200.x"})
    EXPECT_THAT(of_pro({"-a", bad}), HasSubstr("ERROR")) << bad;
}

TEST(QsubOptions, FlagsMayShareAWord) {
  EXPECT_EQ(of_pro({"-hV"}), "--hold --queue-environment");
  EXPECT_EQ(of_pro({"-hN", "x"}), "--hold --job-name=x");
  EXPECT_EQ(count_pbs_options({"-hV", "-N", "x", "script", "-N", "y"}, PbsKind::kPro), 3u);
  EXPECT_EQ(count_pbs_options({"-hN", "x", "script"}, PbsKind::kPro), 2u);
  EXPECT_EQ(count_pbs_options({"-Nx", "--", "cmd"}, PbsKind::kPro), 1u);
  EXPECT_EQ(count_pbs_options({"-N"}, PbsKind::kPro), 1u) << "its value is missing";
  EXPECT_EQ(count_pbs_options({}, PbsKind::kPro), 0u);
}

TEST(QsubOptions, DependenciesMayHaveCommasAndServers) {
  EXPECT_EQ(of_torque({"-W", "depend=afterok:1.lab:2[].lab,afternotok:3,block=true"}),
            "--dependency=afterok:1:2,afternotok:3 --wait");
  EXPECT_EQ(of_torque({"-W", "depend=afterok:16[3].lab:4@lab"}), "--dependency=afterok:16_3:4");
  EXPECT_EQ(of_torque({"-W", "depend=afterokarray:1[].lab"}), "--dependency=afterok:1");
  EXPECT_EQ(text_of(translate_pbs({"-W", "depend=afterok:3,umask=022"})),
            "--dependency=afterok:3 --pbs-left-out=-W umask")
      << "in scripts for sbatch, too";
}

TEST(QsubOptions, GridEngine) {
  EXPECT_EQ(of_sge({"-N", "x", "-cwd", "-j", "y", "-V", "-terse"}),
            "--job-name=x --chdir=. --queue-join=oe --queue-environment --queue-terse");
  EXPECT_EQ(of_sge({"-l", "h_rt=1:0:0,h_vmem=4G,gpu=2", "-q", "all.q@n1"}),
            "--time=1:0:0 --mem-per-cpu=4G --gpus=2 --partition=all.q --nodelist=n1");
  EXPECT_EQ(of_sge({"-l", "h_rt=90"}), "--time=90s");
  EXPECT_EQ(of_sge({"-l", "h_rt=::30,h=n*", "-j", "true"}),
            "--time=0:0:30 --pbs-left-out=-l h: patterns --queue-join=oe");
  EXPECT_EQ(of_sge({"-l", "h_rt=INFINITY"}), "--time=UNLIMITED");
  EXPECT_EQ(of_sge({"-pe", "smp", "4"}), "--queue-pe=smp --queue-slots=4");
  EXPECT_EQ(of_sge({"-pe", "mpi", "4-8"}), "--pbs-left-out=-pe: more than 4 slots --queue-pe=mpi --queue-slots=4");
  EXPECT_EQ(of_sge({"-t", "1-9:2", "-tc", "3"}), "--array=1-9:2 --queue-at-once=3");
  EXPECT_EQ(of_sge({"-t", "5"}), "--array=1-5") << "as Grid Engine has it";
  EXPECT_EQ(of_sge({"-hold_jid", "1,x", "-notify", "-h"}), "--queue-hold-jid=1,x --signal=B:USR2@60 --hold");
  EXPECT_EQ(of_sge({"-soft", "-l", "h_rt=5", "-hard", "-l", "h_rt=6"}), "--time=6s");
  EXPECT_EQ(of_sge({"-P", "lab", "-A", "word", "-m", "bea"}), "--account=lab --wckey=word --mail-type=BEGIN,END,FAIL");
  EXPECT_EQ(of_sge({"-a", "12241800"}), "--begin=12/24-18:00");
  EXPECT_EQ(of_sge({"-a", "202612241800.30"}), "--begin=2026-12-24T18:00:00");
  EXPECT_EQ(of_sge({"-l", "fluent=1"}), "--pbs-left-out=-l fluent");
}

TEST(QsubOptions, GridEngineRefuses) {
  EXPECT_THAT(of_sge({"-J", "1-3"}), HasSubstr("Unknown option -J (that is an option of PBS)"));
  EXPECT_THAT(of_sge({"-N"}), HasSubstr("option -N needs a value"));
  EXPECT_THAT(of_sge({"-pe", "smp"}), HasSubstr("option -pe needs a value"));
  EXPECT_THAT(of_sge({"-j", "maybe"}), HasSubstr("neither y nor n"));
  EXPECT_THAT(of_sge({"-t", "1-3%2"}), HasSubstr("is not FIRST[-LAST[:STEP]]"));
  EXPECT_THAT(of_sge({"word"}), HasSubstr("unexpected word"));
  EXPECT_FALSE(count_sge_options({"-nosuch", "x"})) << "nobody knows whether it has a value";
  EXPECT_EQ(count_sge_options({"-pe", "smp", "4", "job.sh", "-N"}).value_or(0), 3u);
}

TEST(QsubOptions, LinesOfGridEngineStandAnywhere) {
  const OwnDirectives sge{"#$", translate_sge, true};
  const auto found = read_own_directives("#!/bin/sh\necho\n#$ -N x\n#$HOME is set\n#$-cwd\n#PBS -N y\n", "job.sh", sge);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0).line, 3u);
  EXPECT_EQ(base::join(found->at(1).words, " "), "--chdir=.");
  const auto bad = read_own_directives("#$ -N x\n#$ -J 3\n", "job.sh", sge);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().what, HasSubstr("job.sh:2: #$: Unknown option -J"));
}

TEST(QsubOptions, LinesOfPbsStopAtTheFirstCommandAndMayBeginOtherwise) {
  const auto translate = [](const Words& words) { return translate_pbs(words, {PbsKind::kPro, true}); };
  const auto found =
      read_own_directives("#PBS -N a\n#X -N b\n#PBSX\ntrue\n#X -N c\n", "job.sh", {"#X", translate, false});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().words.front(), "--job-name=b");
  EXPECT_EQ(read_own_directives("#PBS -N a\n", "job.sh", {"", translate, false})->size(), 0u) << "of a command";
}

TEST(QsubOptions, LinesOfAnotherSystemAreSeen) {
  EXPECT_EQ(other_directives("#!/bin/sh\n#$ -N x\n", "#PBS"), "#$");
  EXPECT_EQ(other_directives("#PBS -N x\n#SBATCH -J y\n", "#PBS"), "#SBATCH");
  EXPECT_EQ(other_directives("#PBS -N x\ntrue\n#$ -N x\n", "#PBS"), "") << "behind the first command";
  EXPECT_EQ(other_directives("#$HOME\n", "#PBS"), "") << "a comment";
}

}  // namespace
}  // namespace gw::client
