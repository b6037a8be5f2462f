// The tasks of an array: what is read, what is left when some are taken or cancelled, and how small it stays.
#include "model/task_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace gw::model {
namespace {

TaskSet set_of(const char* text) { return TaskSet::parse(text).value(); }

std::set<uint32_t> members(const TaskSet& set) {
  std::set<uint32_t> out;
  for (auto i = set.next(0); i; i = set.next(*i + 1)) out.insert(*i);
  return out;
}

struct Read {
  const char* text;
  const char* shown;
  uint32_t size;
};

TEST(TaskSet, IsReadAsSlurmWritesIt) {
  const Read kReads[] = {{"0", "0", 1},
                         {"0-15", "0-15", 16},
                         {"0-15:4", "0-12:4", 4},
                         {"1,3,5-7", "1,3,5-7", 5},
                         {"5-7,3,1", "1,3,5-7", 5},
                         {"7,7,7", "7", 1},
                         {"0-10,5-20", "0-20", 21},
                         {"0-8:2,1-9:2", "0-9", 10},
                         {"3-3:7", "3", 1},
                         {"0-5:9", "0", 1},
                         {"0-4:3", "0,3", 2},
                         {"1,3,5,7", "1,3,5,7", 4},
                         {"9,1,3,5,7", "1-9:2", 5},
                         {"1000000", "1000000", 1},
                         {"0-1000000", "0-1000000", 1'000'001}};
  for (const Read& read : kReads) {
    SCOPED_TRACE(read.text);
    const TaskSet set = set_of(read.text);
    EXPECT_EQ(set.text(), read.shown);
    EXPECT_EQ(set.size(), read.size);
    EXPECT_TRUE(set_of(set.text().c_str()).has_same(set));
    EXPECT_EQ(TaskSet::of(set.ranges()), set);
  }
}

struct Refused {
  const char* text;
  const char* what;
};

TEST(TaskSet, WhatCannotBeIsRefusedWithItsReason) {
  const Refused kRefused[] = {
      {"", "--array=: it names no task"},
      {"a", "--array=a: a number is missing at \"a\""},
      {"1,", "--array=1,: a number is missing at the end"},
      {"1,,2", "--array=1,,2: a number is missing at \",2\""},
      {"-1", "--array=-1: a number is missing at \"-1\""},
      {"5-1", "--array=5-1: the range 5-1 ends before it begins"},
      {"1-5:0", "--array=1-5:0: a step of 0 never ends"},
      {"1:2", "--array=1:2: \":2\" is not understood"},
      {"1-2-3", "--array=1-2-3: \"-3\" is not understood"},
      {"1 2", "--array=1 2: \" 2\" is not understood"},
      {"1000001",
       "--array=1000001: a number is above 1000000, the largest index of a task (MaxArraySize is "
       "one more)"},
      {"99999999999999999999",
       "--array=99999999999999999999: a number is above 1000000, the largest index of a task "
       "(MaxArraySize is one more)"}};
  for (const Refused& refused : kRefused) {
    const auto set = TaskSet::parse(refused.text);
    ASSERT_FALSE(set) << refused.text;
    EXPECT_EQ(set.error().what, refused.what);
    EXPECT_EQ(set.error().sentence, "Invalid job array specification");
  }
}

TEST(TaskSet, AnArrayHasAThrottle) {
  EXPECT_EQ(parse_array("0-15:4%2").value(), (ArraySpec{set_of("0-15:4"), 2}));
  EXPECT_EQ(parse_array("0-15:4%2").value().text(), "0-12:4%2");
  EXPECT_EQ(parse_array("1,2").value().throttle, 0u);
  EXPECT_EQ(parse_array("1%0").value().text(), "1");
  for (const char* const text : {"1%", "1%x", "1%2%3", "1%-2", "%3", "1%2,4"}) EXPECT_FALSE(parse_array(text)) << text;
  EXPECT_EQ(parse_array("1%2,4").error().what, "--array=1%2,4: \",4\" is not understood");
}

TEST(TaskSet, TasksAreTakenFromTheFront) {
  TaskSet set = set_of("1-7:3,9");
  EXPECT_EQ(set.step(), 1u);
  EXPECT_EQ(set_of("1-7:3").step(), 3u);
  for (const uint32_t index : {1u, 4u, 7u, 9u}) {
    EXPECT_EQ(set.front(), index);
    EXPECT_TRUE(set.contains(index));
    EXPECT_EQ(set.take_front(), index);
    EXPECT_EQ(TaskSet::of(set.ranges()), set);
    EXPECT_FALSE(set.contains(index));
  }
  EXPECT_TRUE(set.empty());
}

// What a million tasks take, whole or with every second one cancelled.
TEST(TaskSet, AMillionTasksAreAFewRanges) {
  TaskSet set = set_of("0-999999");
  const TaskSet rest = set.without(set_of("0-999999:2"));
  EXPECT_EQ(rest.text(), "1-999999:2");
  EXPECT_EQ(rest.ranges().size(), 1u);
  EXPECT_EQ(set.common(set_of("7-1000000:10")).text(), "7-999997:10");
  EXPECT_EQ(set.without(set).text(), "");
  EXPECT_EQ(set.without(TaskSet()).text(), "0-999999");
}

TEST(TaskSet, RangesOfOthersAreLookedAt) {
  for (const TaskRange& range :
       {TaskRange{5, 1, 1}, TaskRange{0, 1'000'001, 1}, TaskRange{0, 10, 0}, TaskRange{0, 10, 3}, TaskRange{4, 4, 2}})
    EXPECT_FALSE(TaskSet::of({range})) << range.first << ' ' << range.last << ' ' << range.step;
  EXPECT_FALSE(TaskSet::of({{0, 5, 1}, {5, 6, 1}}));
  EXPECT_FALSE(TaskSet::of({{7, 8, 1}, {5, 6, 1}}));
  EXPECT_EQ(TaskSet::of({{0, 5, 1}, {6, 7, 1}}).value().size(), 8u);
}

/// Random ranges below 200, as text.
std::string random_text(std::mt19937& random) {
  std::string text;
  for (uint32_t i = random() % 6 + 1; i > 0; --i) {
    const uint32_t first = random() % 180;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (random() % 3 != 0) text += '-' + std::to_string(first + random() % 20);
    if (text.back() != ',' && random() % 2 == 0 && text.find('-', text.rfind(',') + 1) != std::string::npos)
      text += ':' + std::to_string(random() % 5 + 1);
  }
  return text;
}

TEST(TaskSet, DoesWhatASetOfNumbersDoes) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::string a_text = random_text(random), b_text = random_text(random);
    SCOPED_TRACE(a_text + " and " + b_text);
    const auto a = TaskSet::parse(a_text), b = TaskSet::parse(b_text);
    ASSERT_TRUE(a && b);
    std::set<uint32_t> common, rest;
    for (const uint32_t i : members(*a)) (b->contains(i) ? common : rest).insert(i);
    EXPECT_EQ(members(a->common(*b)), common);
    EXPECT_EQ(members(a->without(*b)), rest);
    EXPECT_EQ(a->has_same(*b), members(*a) == members(*b));
    TaskSet later = *a;
    const auto from = static_cast<uint32_t>(random() % 200);
    later.drop_below(from);
    std::set<uint32_t> not_before = members(*a);
    not_before.erase(not_before.begin(), not_before.lower_bound(from));
    EXPECT_EQ(members(later), not_before) << from;
    TaskSet fewer = *a, more = *a;
    std::set<uint32_t> few = members(*a), many = few;
    for (uint32_t i = random() % 8; i > 0; --i) {
      const auto index = static_cast<uint32_t>(random() % 200);
      EXPECT_EQ(fewer.take(index), few.erase(index) == 1) << index;
      if (many.insert(index).second) more.add(index);
    }
    EXPECT_EQ(members(fewer), few);
    EXPECT_EQ(members(more), many);
    for (const TaskSet& set : {*a, a->without(*b), later, a->common(*b), fewer, more}) {
      EXPECT_EQ(TaskSet::of(set.ranges()), set);
      EXPECT_EQ(set.size(), members(set).size());
      if (!set.empty()) EXPECT_TRUE(set_of(set.text().c_str()).has_same(set));
    }
  }
}

}  // namespace
}  // namespace gw::model
