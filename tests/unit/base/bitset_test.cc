// IndexSet: small and large indices, the list form, and its errors.
#include "base/bitset.h"

#include <gtest/gtest.h>

namespace gw::base {
namespace {

TEST(IndexSet, FirstHoldsExactlyTheFirst) {
  for (const uint32_t n : {0u, 1u, 63u, 64u, 65u, 128u, 129u, 224u}) {
    const IndexSet set = IndexSet::first(n);
    EXPECT_EQ(set.size(), n);
    EXPECT_EQ(set.empty(), n == 0);
    EXPECT_EQ(set.contains(n), false) << n;
    EXPECT_EQ(n > 0 && set.contains(n - 1), n > 0) << n;
  }
}

TEST(IndexSet, InsertsAndErases) {
  IndexSet set;
  for (const uint32_t i : {0u, 63u, 64u, 200u}) set.insert(i);
  EXPECT_EQ(set.to_vector(), (std::vector<uint32_t>{0, 63, 64, 200}));
  set.erase(200);
  set.erase(64);
  set.erase(9999);
  EXPECT_EQ(set, IndexSet::of({0, 63}));
  EXPECT_EQ(set.low_word(), (uint64_t{1} << 63) | 1);
}

TEST(IndexSet, Words) {
  const IndexSet set = IndexSet::of({0, 63, 64, 200});
  EXPECT_EQ(set.word_count(), 4u);
  const std::vector<uint64_t> words{(uint64_t{1} << 63) | 1, 1, 0, uint64_t{1} << 8};
  for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(set.word(i), words[i]) << i;
  EXPECT_EQ(set.word(4), 0u);
  EXPECT_EQ(IndexSet::from_words(words), set);
  EXPECT_EQ(IndexSet().word_count(), 1u);
  EXPECT_EQ(IndexSet::from_words({}), IndexSet());
  EXPECT_EQ(IndexSet::from_words(std::vector<uint64_t>{8, 0, 0}), IndexSet::of({3}));
  EXPECT_EQ(IndexSet::from_words(std::vector<uint64_t>{0, 2}), IndexSet::of({65}));
}

TEST(IndexSet, EqualWhateverTheCapacity) {
  IndexSet grown = IndexSet::of({3, 500});
  grown.erase(500);
  EXPECT_EQ(grown, IndexSet::of({3}));
  IndexSet cut = IndexSet::of({3, 500});
  cut -= IndexSet::of({500});
  EXPECT_EQ(cut, IndexSet::of({3}));
}

TEST(IndexSet, Algebra) {
  const IndexSet a = IndexSet::of({1, 2, 70, 300}), b = IndexSet::of({2, 3, 70});
  IndexSet both = a, either = a, rest = a;
  both &= b;
  either |= b;
  rest -= b;
  EXPECT_EQ(both, IndexSet::of({2, 70}));
  EXPECT_EQ(either, IndexSet::of({1, 2, 3, 70, 300}));
  EXPECT_EQ(rest, IndexSet::of({1, 300}));
  EXPECT_TRUE(a.intersects(b));
  EXPECT_EQ(a.common(b), 2u);
  EXPECT_EQ(b.common(a), 2u);
  EXPECT_EQ(rest.common(b), 0u);
  EXPECT_FALSE(rest.intersects(b));
  EXPECT_TRUE(IndexSet::of({70}).intersects(b));
  EXPECT_TRUE(both.is_subset_of(a));
  EXPECT_FALSE(a.is_subset_of(b));
  EXPECT_FALSE(IndexSet::of({300}).is_subset_of(b));
  EXPECT_TRUE(IndexSet().is_subset_of(IndexSet()));
}

TEST(IndexSet, NextStepsThroughHoles) {
  const IndexSet set = IndexSet::of({5, 64, 191});
  EXPECT_EQ(set.next(0), 5u);
  EXPECT_EQ(set.next(5), 5u);
  EXPECT_EQ(set.next(6), 64u);
  EXPECT_EQ(set.next(65), 191u);
  EXPECT_EQ(set.next(192), UINT32_MAX);
  EXPECT_EQ(set.next(UINT32_MAX), UINT32_MAX);
  EXPECT_EQ(IndexSet().next(0), UINT32_MAX);
}

TEST(IndexSet, ParsesAndPrints) {
  struct Case {
    const char* text;
    const char* canonical;
  };
  static constexpr Case kCases[] = {{"", ""},           {"0", "0"},        {"0-3,8", "0-3,8"},    {"8,0-3", "0-3,8"},
                                    {"1,2,3", "1-3"},   {"5-5", "5"},      {"63,64,65", "63-65"}, {" 0-1\n", "0-1"},
                                    {"65535", "65535"}, {"0-2,1-4", "0-4"}};
  for (const Case& c : kCases) {
    const auto set = IndexSet::parse(c.text);
    ASSERT_TRUE(set) << c.text;
    EXPECT_EQ(set->text(), c.canonical) << c.text;
  }
}

TEST(IndexSet, RefusesGarbage) {
  for (const char* text :
       {"a", "1-", "-1", "1,", ",1", "1--2", "3-1", "1 2", "65536", "0-65536", "99999999999", "1-2-3"}) {
    const auto set = IndexSet::parse(text);
    ASSERT_FALSE(set) << text;
    EXPECT_NE(set.error().what.find(text), std::string::npos) << set.error().what;
  }
}

}  // namespace
}  // namespace gw::base
