// Directives in scripts: where they stop, quotes and comments, places in errors, #PBS.
#include "client/options/directives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words(std::string_view script, bool ignore_pbs = false) {
  auto found = read_directives(script, "job.sh", ignore_pbs);
  EXPECT_TRUE(found.has_value()) << (found ? "" : found.error().text());
  std::vector<std::string> all;
  if (found)
    for (const Directive& d : *found)
      for (const std::string& w : d.words) all.push_back(std::to_string(d.line) + ":" + w);
  return all;
}

std::string error(std::string_view script) {
  auto found = read_directives(script, "job.sh");
  return found ? "" : found.error().text();
}

TEST(Directives, StopAtTheFirstCommand) {
  EXPECT_THAT(words("#!/bin/sh\n#SBATCH -N 2\n\n# a comment\n#GBATCH --hold\necho hi\n#SBATCH -N 3\n"),
              ElementsAre("2:-N", "2:2", "5:--hold"));
}

TEST(Directives, TakeQuotesCommentsAndSpaces) {
  EXPECT_THAT(words("#!/bin/sh\n#SBATCH --signal B:USR2@30   # soon\n#SBATCH -J \"a b\" --comment='x # y'\n"),
              ElementsAre("2:--signal", "2:B:USR2@30", "3:-J", "3:a b", "3:--comment=x # y"));
}

TEST(Directives, OnlyAtTheMarginAndAsAWholeWord) {
  EXPECT_THAT(words("#!/bin/sh\n #SBATCH -N1\n##SBATCH -N1\n#SBATCHX -N1\n#SBATCH\t-N2\n#SBATCH\n"),
              ElementsAre("5:-N2"));
}

TEST(Directives, LastLineNeedsNoNewline) { EXPECT_THAT(words("#!/bin/sh\n#SBATCH -H"), ElementsAre("2:-H")); }

TEST(Directives, ErrorsHaveAPlace) {
  EXPECT_THAT(error("#!/bin/sh\n\n#SBATCH -J \"a\n"), HasSubstr("job.sh:3: #SBATCH: "));
  std::vector<Option> table = {
      {"nodes", 'N', Arg::kRequired, {}, {}, {}, kDirective, [](std::string_view) { return base::Status{}; }}};
  const std::vector<Directive> bad = {{7, "#GBATCH", {"--nodse=3"}}};
  auto done = apply_directives(table, bad, "job.sh");
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().text(), "job.sh:7: #GBATCH: unrecognized option '--nodse' (did you mean \"--nodes\"?)");
}

TEST(Directives, PbsIsTranslated) {
  EXPECT_THAT(
      words("#!/bin/sh\n#PBS -N x -q gpu\n#PBS -l nodes=2:ppn=8:gpus=4,walltime=1:00:00,mem=4gb\n#PBS -j oe -V\n"),
      ElementsAre("2:--job-name=x", "2:--partition=gpu", "3:--nodes=2", "3:--ntasks-per-node=8", "3:--gpus-per-node=4",
                  "3:--time=1:00:00", "3:--mem=4g"));
  EXPECT_THAT(words("#!/bin/sh\n#PBS -Z what\n", true), ElementsAre());
}

/// What one #PBS line becomes.
std::string pbs(const std::string& line) {
  auto found = read_directives("#!/bin/sh\n#PBS " + line + "\n", "job.sh");
  if (!found) return "ERROR " + found.error().text();
  std::string all;
  for (const std::string& word : found->front().words) all += (all.empty() ? "" : " ") + word;
  return all;
}

TEST(Directives, PbsSizesOfBothKinds) {
  EXPECT_EQ(pbs("-l nodes=3"), "--nodes=3");
  EXPECT_EQ(pbs("-l nodes=3:ppn=1"), "--nodes=3 --ntasks-per-node=1");
  EXPECT_EQ(pbs("-l nodes=3+ppn=2"), "--nodes=3 --ntasks-per-node=2");
  EXPECT_EQ(pbs("-l nodes=2:ppn=4+1:ppn=2"), "--nodes=3 --ntasks=10");
  EXPECT_EQ(pbs("-l nodes=n1+n2:ppn=2"), "--nodes=2 --ntasks=3 --nodelist=n1,n2");
  EXPECT_EQ(pbs("-l nodes=2:ppn=4:ib:fast"), "--nodes=2 --ntasks-per-node=4 --constraint=ib&fast");
  EXPECT_EQ(pbs("-l select=4:ncpus=32:mpiprocs=16:mem=64gb:ngpus=2"),
            "--nodes=4 --ntasks-per-node=16 --cpus-per-task=2 --gpus-per-node=2 --mem=64g");
  EXPECT_EQ(pbs("-l select=1:ncpus=8+1:ncpus=8 -l place=scatter:excl"),
            "--nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --exclusive");
  EXPECT_THAT(pbs("-l select=1:ncpus=8+2:ncpus=4"),
              HasSubstr("ERROR job.sh:2: #PBS: -l select: chunks of several kinds"));
  EXPECT_EQ(pbs("-l ncpus=4,ngpus=1,procs=2,pmem=2gb,nodect=3"),
            "--cpus-per-task=4 --gpus=1 --ntasks=2 --mem-per-cpu=2g");
  EXPECT_EQ(pbs("-l walltime=3600"), "--time=3600s") << "a number alone is seconds";
  EXPECT_EQ(pbs("-l mem=1048576"), "--mem=1024k") << "a number alone is bytes";
  EXPECT_THAT(pbs("-l nodes=0"), HasSubstr("ERROR"));
  EXPECT_THAT(pbs("-l nodes=x=y=z:ppn=none"), HasSubstr("ERROR"));
  EXPECT_THAT(pbs("-l select="), HasSubstr("ERROR"));
}

TEST(Directives, PbsThatInformsMailsAndTunes) {
  EXPECT_EQ(pbs("-m abe -M me@example.org"), "--mail-type=BEGIN,END,FAIL --mail-user=me@example.org");
  EXPECT_EQ(pbs("-m n"), "--mail-type=NONE");
  EXPECT_EQ(pbs("-V -S /bin/bash -k oe -c n -j oe"), "");
  EXPECT_EQ(pbs("-r n"), "--no-requeue");
  EXPECT_EQ(pbs("-r y -h"), "--requeue --hold");
  EXPECT_EQ(pbs("-o host:/home/me/out.txt -e logs/"), "--output=/home/me/out.txt --error=logs/%x.e%j");
  EXPECT_EQ(pbs("-a 202701201234.30"), "--begin=2027-01-20T12:34:30");
  EXPECT_EQ(pbs("-v HOME,A=1,B=2"), "--export=ALL,A=1,B=2");
  EXPECT_EQ(pbs("-q long@server -A team -P proj -d /work"),
            "--partition=long --account=team --wckey=proj --chdir=/work");
  EXPECT_EQ(pbs("-J 1-10"), "--array=1-10");
  EXPECT_EQ(pbs("-W depend=afterok:3,block=true,group_list=x"),
            "--dependency=afterok:3 --wait --pbs-left-out=-W group_list");
  EXPECT_EQ(pbs("-l software=x -p 5"), "--pbs-left-out=-l software --pbs-left-out=-p");
  EXPECT_THAT(pbs("-I"), HasSubstr("ERROR job.sh:2: #PBS: option -I asks for an interactive job"));
  EXPECT_THAT(pbs("-N"), HasSubstr("needs a value"));
  EXPECT_THAT(pbs("word"), HasSubstr("unexpected word"));
}

}  // namespace
}  // namespace gw::client
