// File name patterns.
#include "model/output_path.h"

#include <gtest/gtest.h>

namespace gw::model {
namespace {

TEST(OutputPath, ExpandsPatterns) {
  PatternValues v;
  v.job_id = 42;
  v.job_name = "a/../b";
  v.user = "ann";
  v.node = "n3.example.org";
  const std::pair<const char*, const char*> cases[] = {{"x-%j.out", "x-42.out"},
                                                       {"%J", "42"},
                                                       {"%A_%a", "42_4294967294"},
                                                       {"%5j", "00042"},
                                                       {"%1j", "42"},
                                                       {"%99j", "0000000042"},
                                                       {"%x", "a_.._b"},
                                                       {"%u@%N", "ann@n3"},
                                                       {"%4t%n", "00000"},
                                                       {"%s", "batch"},
                                                       {"100%%", "100%"},
                                                       {"%q%", "%q%"},
                                                       {"%", "%"},
                                                       {"%5", "%5"},
                                                       {"a\\%j", "a%j"},
                                                       {"", ""}};
  for (const auto& [path, want] : cases) EXPECT_EQ(expand_patterns(path, v), want) << path;
}

TEST(OutputPath, NamesDoNotLeadElsewhere) {
  PatternValues v;
  v.job_name = "..";
  EXPECT_EQ(resolve_job_path("%x/f", "/w", v), "/w/__/f");
}

TEST(OutputPath, IsRelativeToTheWorkDir) {
  const PatternValues v;
  EXPECT_EQ(resolve_job_path("o", "/w", v), "/w/o");
  EXPECT_EQ(resolve_job_path("o", "/", v), "/o");
  EXPECT_EQ(resolve_job_path("/abs", "/w", v), "/abs");
  EXPECT_EQ(resolve_job_path("", "/w", v), "");
  EXPECT_EQ(default_output(true, false), "slurm-%j.out");
  EXPECT_EQ(default_output(true, true), "slurm-%A_%a.out");
}

}  // namespace
}  // namespace gw::model
