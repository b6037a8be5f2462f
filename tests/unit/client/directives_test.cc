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
  EXPECT_EQ(error("#!/bin/sh\n#PBS -Z what\n"), "job.sh:2: #PBS: option -Z is not supported");
  EXPECT_THAT(error("#!/bin/sh\n#PBS -l software=x\n"), HasSubstr("job.sh:2: #PBS: -l software is not supported"));
}

}  // namespace
}  // namespace gw::client
