// Laying one YAML text over another.
#include "config/merge.h"

#include <gtest/gtest.h>

#include "config/config.h"

namespace gw::config {
namespace {

constexpr const char* kBase =
    "cluster: a\n"
    "controller: {host: h, port: 1}\n"
    "nodes: [{name: n0}, {name: n1}]\n";

TEST(Merge, ChangesOnlyTheGivenKeys) {
  const auto merged = merge_yaml(kBase, "controller: {port: 2}\njobs: {kill_wait: 2s}\n", "over.yaml");
  ASSERT_TRUE(merged);
  EXPECT_NE(merged->find("host: h"), std::string::npos) << *merged;
  EXPECT_NE(merged->find("port: 2"), std::string::npos) << *merged;
  EXPECT_NE(merged->find("kill_wait: 2s"), std::string::npos) << *merged;
  EXPECT_NE(merged->find("n1"), std::string::npos) << *merged;
}

TEST(Merge, ReplacesListsWhole) {
  const auto merged = merge_yaml(kBase, "nodes: [{name: x}]", "over.yaml");
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->find("n1"), std::string::npos) << *merged;
  EXPECT_NE(merged->find("name: x"), std::string::npos) << *merged;
}

TEST(Merge, TakesAnEmptyText) {
  const auto merged = merge_yaml(kBase, "# nothing\n", "over.yaml");
  ASSERT_TRUE(merged);
  EXPECT_NE(merged->find("cluster: a"), std::string::npos);
}

TEST(Merge, NamesThePlaceOfAnError) {
  const auto broken = merge_yaml(kBase, "jobs:\n  kill_wait: [1,\n", "over.yaml");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().what.find("over.yaml:"), 0U) << broken.error().what;
  const auto list = merge_yaml(kBase, "- a\n", "over.yaml");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().what, "over.yaml:1:1: not a map of keys and values");
  EXPECT_FALSE(merge_yaml(kBase, "[a]: 1\n", "over.yaml"));
}

}  // namespace
}  // namespace gw::config
