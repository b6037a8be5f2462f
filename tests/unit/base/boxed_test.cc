// A value that lies apart behaves as if it lay inside.
#include "base/boxed.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

namespace gw::base {
namespace {

struct Big {
  std::string name = "nobody";
  int numbers[100] = {};
  bool operator==(const Big& o) const { return name == o.name && numbers[0] == o.numbers[0]; }
};

TEST(Boxed, IsAPointersWorthUntilItIsChanged) {
  static_assert(sizeof(Boxed<Big>) == sizeof(void*));
  const Boxed<Big> none;
  EXPECT_EQ(none->name, "nobody");
  const Boxed<Big> other;
  EXPECT_EQ(&*none, &*other) << "one default for all";
  EXPECT_EQ(&*Boxed<Big>(Big()), &*none) << "what is as the default needs no room";
}

TEST(Boxed, CopiesAreDeep) {
  Boxed<Big> first(Big{"ann", {}});
  Boxed<Big> second = first;
  second.edit().name = "ben";
  EXPECT_EQ(first->name, "ann");
  first = second;
  EXPECT_EQ(first->name, "ben");
  EXPECT_NE(&*first, &*second);
  first = *&first;
  EXPECT_EQ(first->name, "ben") << "also of itself";
}

TEST(Boxed, WhatWasMovedFromIsTheDefault) {
  Boxed<Big> first(Big{"ann", {}});
  const Big* place = &*first;
  Boxed<Big> second = std::move(first);
  EXPECT_EQ(&*second, place) << "it stays where it is";
  EXPECT_EQ(first->name, "nobody");  // NOLINT(bugprone-use-after-move): that is what is asked
  static_assert(std::is_nothrow_move_constructible_v<Boxed<Big>>);
}

TEST(Boxed, IsEqualByWhatIsInIt) {
  Boxed<Big> changed_back(Big{"ann", {}});
  changed_back.edit().name = "nobody";
  EXPECT_EQ(changed_back, Boxed<Big>());
  EXPECT_EQ(Boxed<Big>(), changed_back);
  EXPECT_NE(Boxed<Big>(Big{"ann", {}}), Boxed<Big>());
  EXPECT_EQ(Boxed<Big>(Big{"ann", {}}), Boxed<Big>(Big{"ann", {}}));
}

}  // namespace
}  // namespace gw::base
