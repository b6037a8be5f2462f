// Lists that many ask for at the same time: made once for those who waited, never from before they asked, whole for
// each.
#include "ctld/core/tables/asked_together.h"

#include <gtest/gtest.h>

#include <deque>

#include "ctld/core/tables/listings.h"
#include "world.h"

namespace gw::ctld {
namespace {

using base::milliseconds;
using base::Time;
using testing::gang;
using testing::World;

constexpr uint64_t kRequest = 42;

/// A list of numbered rows, all of which have the word that holds when they are made.
class Crowd {
 public:
  explicit Crowd(size_t rows) : rows_(rows) {}

  std::string word = "first";
  Time now{1'000'000};
  Listings listings;
  size_t made = 0;  ///< Pieces.

  void ask(ConnId conn, const std::string& question = "jobs") {
    ASSERT_TRUE(listings.begin(now, conn, kRequest, fill(), out_, question));
    absorb();
  }
  /// Clients ask until one of them has to wait; its number.
  ConnId ask_until_one_waits() {
    for (ConnId conn = 1; conn < 1000; ++conn) {
      ask(conn);
      if (!listings.has(conn)) continue;
      if (answers[conn].empty()) return conn;
      take_all(conn);
    }
    return 0;
  }
  /// The moment comes at which those who wait are told.
  void wait() {
    now = std::max(now, listings.next_ready());
    listings.wake(now, out_);
    absorb();
  }
  void take(ConnId conn) {
    listings.go_on(now, conn, kRequest, out_);
    absorb();
  }
  void take_all(ConnId conn) {
    while (listings.has(conn)) take(conn);
  }
  /// Numbers and words of the rows that the client has got.
  std::vector<std::string> rows_of(ConnId conn) {
    std::vector<std::string> rows;
    for (size_t i = 0; i < answers[conn].size(); ++i) {
      EXPECT_EQ(answers[conn][i].piece(), i + 1);
      EXPECT_EQ(answers[conn][i].id(), kRequest);
      for (const wire::Node& node : answers[conn][i].list_nodes().nodes())
        rows.push_back(node.name().substr(0, node.name().find(' ')) + " " + node.reason());
    }
    return rows;
  }
  std::vector<std::string> all_rows(const std::string& of_word) const {
    std::vector<std::string> rows;
    for (size_t i = 0; i < rows_; ++i) rows.push_back(std::to_string(i) + " " + of_word);
    return rows;
  }

  std::map<ConnId, std::vector<wire::ApiReply>> answers;
  std::vector<ConnId> ready;

 private:
  size_t rows_;
  Outbox out_;

  Listings::Fill fill() {
    return [this, next = size_t{0}](Time, ListPiece& piece) mutable {
      ++made;
      for (; next < rows_ && !piece.is_full(); ++next) {
        wire::Node& row = *piece.reply.mutable_list_nodes()->add_nodes();
        row.set_name(std::to_string(next) + std::string(1000, ' '));
        row.set_reason(word);
        piece.added(row.ByteSizeLong());
      }
      return next == rows_;
    };
  }
  void absorb() {
    const Effects effects = out_.take({});
    for (const Outgoing& out : effects.out) {
      if (const auto* reply = std::get_if<Reply>(&out)) answers[reply->conn].push_back(World::whole_of(*reply));
      if (const auto* told = std::get_if<ListReady>(&out)) ready.push_back(told->conn);
    }
  }
};

TEST(AskedTogether, WhatIsAskedRarelyIsAnsweredAtOnce) {
  Crowd crowd(100);
  for (ConnId conn = 1; conn <= 200; ++conn) {
    crowd.ask(conn);
    EXPECT_EQ(crowd.rows_of(conn).size(), 100u);
    crowd.now = crowd.now + milliseconds(5);
  }
  EXPECT_EQ(crowd.made, 200u);
}

TEST(AskedTogether, ThoseWhoWaitedAreAnsweredWithOneList) {
  Crowd crowd(100);
  const ConnId first = crowd.ask_until_one_waits();
  ASSERT_GT(first, 10u) << "a few are answered at once, however close together";
  const size_t before = crowd.made;
  for (ConnId conn = first + 1; conn < first + 50; ++conn) crowd.ask(conn);
  crowd.wait();
  ASSERT_EQ(crowd.ready.size(), 50u);
  EXPECT_EQ(crowd.made, before) << "nobody's turn has come yet";
  for (const ConnId conn : crowd.ready) {
    crowd.take_all(conn);
    EXPECT_EQ(crowd.rows_of(conn), crowd.all_rows("first"));
  }
  EXPECT_EQ(crowd.made, before + 1);
}

TEST(AskedTogether, NobodyIsToldWhatWasTrueBeforeHeAsked) {
  Crowd crowd(100);
  const ConnId first = crowd.ask_until_one_waits();
  crowd.wait();
  crowd.take_all(first);
  EXPECT_EQ(crowd.rows_of(first), crowd.all_rows("first"));
  crowd.word = "second";
  // Whether they wait or not.
  for (ConnId conn = 2000; conn < 2050; ++conn) crowd.ask(conn);
  crowd.wait();
  for (ConnId conn = 2000; conn < 2050; ++conn) {
    crowd.take_all(conn);
    EXPECT_EQ(crowd.rows_of(conn), crowd.all_rows("second")) << conn;
  }
}

/// Pieces that one of the others has not taken yet are kept, but not for those who came later.
TEST(AskedTogether, WhoComesLaterIsNotAnsweredWithWhatIsKept) {
  Crowd crowd(100);
  const ConnId first = crowd.ask_until_one_waits();
  const ConnId slow = first + 1, later = first + 2;
  crowd.ask(slow);
  crowd.wait();
  crowd.take_all(first);
  crowd.word = "second";
  crowd.ask(later);
  ASSERT_TRUE(crowd.answers[later].empty()) << "the first list of the batch used the budget up";
  crowd.wait();
  crowd.take_all(later);
  EXPECT_EQ(crowd.rows_of(later), crowd.all_rows("second"));
  crowd.take_all(slow);
  EXPECT_EQ(crowd.rows_of(slow), crowd.all_rows("first"));
}

TEST(AskedTogether, NobodyWaitsLongHoweverMuchThereIsToMake) {
  Crowd crowd(2'000);
  for (ConnId conn = 1; conn < 20; ++conn) {
    crowd.ask(conn);
    if (crowd.listings.has(conn) && crowd.answers[conn].empty()) {
      EXPECT_LE(crowd.listings.next_ready(), crowd.now + AskedTogether::kLongestWait);
      crowd.wait();
    }
    crowd.take_all(conn);
    EXPECT_EQ(crowd.rows_of(conn).size(), 2'000u);
  }
}

/// What the fastest was answered with is kept for a while only.
TEST(AskedTogether, TheSlowestGetsTheWholeListToo) {
  Crowd crowd(20'000);  // 20 MB, of which 8 are kept
  const ConnId first = crowd.ask_until_one_waits();
  const ConnId slow = first + 1, slower = first + 2;
  crowd.ask(slow);
  crowd.ask(slower);
  crowd.wait();
  crowd.take(slower);
  const size_t before = crowd.made;
  crowd.take_all(first);
  const size_t pieces = crowd.made - before;
  crowd.take_all(slow);
  crowd.take_all(slower);
  EXPECT_EQ(crowd.rows_of(first), crowd.all_rows("first"));
  EXPECT_EQ(crowd.rows_of(slow), crowd.all_rows("first"));
  EXPECT_EQ(crowd.rows_of(slower), crowd.all_rows("first"));
  EXPECT_GT(crowd.made - before, pieces) << "what is not kept any more is made again";
}

TEST(AskedTogether, WhoLeavesTakesNothingFromTheOthers) {
  Crowd crowd(100);
  const ConnId first = crowd.ask_until_one_waits();
  crowd.ask(first + 1);
  crowd.ask(first + 2);
  crowd.listings.forget(first);
  crowd.listings.forget(first + 2);
  crowd.wait();
  EXPECT_EQ(crowd.ready, std::vector<ConnId>{first + 1});
  crowd.take_all(first + 1);
  EXPECT_EQ(crowd.rows_of(first + 1), crowd.all_rows("first"));
}

TEST(AskedTogether, AnotherQuestionIsNotHeldUp) {
  Crowd crowd(100);
  crowd.ask_until_one_waits();
  crowd.ask(5000, "jobs of somebody");
  EXPECT_EQ(crowd.rows_of(5000).size(), 100u);
  crowd.ask(5001, "");
  EXPECT_EQ(crowd.rows_of(5001).size(), 100u);
}

TEST(AskedTogether, RemembersFewQuestions) {
  AskedTogether asked;
  const Time now{1'000'000};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(asked.ask(now, std::to_string(i), 1), 0u);
    asked.charge(now, std::to_string(i), 1'000'000);
  }
  EXPECT_NE(asked.ask(now, "0", 1), 0u) << "the first ones are remembered";
  EXPECT_EQ(asked.ask(now, "999", 1), 0u) << "further ones are answered at once";
  const Time later = now + base::seconds(10);
  EXPECT_EQ(asked.ask(later, "999", 2), 0u);
  asked.charge(later, "999", 1'000'000);
  EXPECT_NE(asked.ask(later, "999", 3), 0u) << "there is room again for it";
  EXPECT_EQ(asked.ask(now, std::string(AskedTogether::kLongestQuestion + 1, 'x'), 1), 0u);
}

TEST(AskedTogether, AClockThatIsSetBackLetsNobodyWait) {
  AskedTogether asked;
  const Time now{5'000'000'000}, before{1'000'000'000};
  asked.ask(now, "jobs", 1);
  asked.charge(now, "jobs", 1'000'000);
  ASSERT_NE(asked.ask(now, "jobs", 2), 0u);
  ASSERT_NE(asked.ask(before, "jobs", 3), 0u);
  EXPECT_LE(asked.next_due(), before + AskedTogether::kLongestWait);
  EXPECT_EQ(asked.take_due(before + AskedTogether::kLongestWait).size(), 2u);
}

TEST(AskedTogether, KeptPiecesHaveABound) {
  KeptPieces<int> kept;
  for (uint32_t i = 1; i <= 100; ++i)
    kept.keep(1, i, {.bytes = std::make_shared<const std::string>(size_t{1} << 20, 'x'), .rest = 0});
  EXPECT_LE(kept.bytes(), KeptPieces<int>::kMostKept);
  EXPECT_EQ(kept.find(1, 1), nullptr);
  EXPECT_NE(kept.find(1, 100), nullptr);
  kept.keep(2, 1, {.bytes = std::make_shared<const std::string>(size_t{100} << 20, 'x'), .rest = 0});
  EXPECT_NE(kept.find(2, 1), nullptr) << "the last one is kept however long it is";
  kept.clear();
  EXPECT_EQ(kept.bytes(), 0u);
}

wire::ApiRequest all_jobs_of_all() {
  wire::ApiRequest r;
  r.set_id(kRequest);
  r.mutable_list_jobs();
  return r;
}

/// Lists all jobs on new connections until one of them has to wait: that one.
ConnId root_who_waits(World& w) {
  for (ConnId conn = 5'000'000; conn < 5'000'100; ++conn) {
    w.core->on_request(w.now, conn, World::user(0), all_jobs_of_all());
    w.pump();
    if (w.replies[conn].empty()) return conn;
  }
  ADD_FAILURE() << "nobody has to wait";
  return 0;
}

/// Through the controller: those who wait are told by its clock.
TEST(AskedTogether, TheControllerTellsThoseWhoWait) {
  World w{1};
  for (int i = 0; i < 150; ++i) w.submit(1000 + i % 3, gang(1));
  const ConnId conn = root_who_waits(w);
  w.submit(1000, gang(1));
  w.core->on_request(w.now, conn + 1, World::user(7), all_jobs_of_all());
  const Time due = w.core->timers().next();
  EXPECT_LE(due, w.now + AskedTogether::kLongestWait);
  w.core->on_tick(due);
  std::vector<ConnId> told;
  for (const Outgoing& out : w.core->take_effects().out)
    if (const auto* ready = std::get_if<ListReady>(&out)) told.push_back(ready->conn);
  EXPECT_EQ(told, (std::vector<ConnId>{conn, conn + 1}));
  for (const ConnId one : told) w.core->on_piece_taken(due, one, kRequest);
  w.pump();
  for (const ConnId one : told) {
    ASSERT_EQ(w.replies[one].size(), 1u);
    EXPECT_EQ(w.replies[one].back().list_jobs().jobs_size(), 151);
  }
}

/// What others are answered with is nothing for him who may not see it.
TEST(AskedTogether, WhoSeesLessIsNotAnsweredWithThem) {
  World w{1};
  w.settings.private_data = {.jobs = true};
  w.restart();
  for (int i = 0; i < 150; ++i) w.submit(1000 + i % 3, gang(1));
  const ConnId conn = root_who_waits(w);
  w.core->on_request(w.now, conn + 1, World::user(1001), all_jobs_of_all());
  w.pump();
  ASSERT_EQ(w.replies[conn + 1].size(), 1u);
  EXPECT_EQ(w.replies[conn + 1].back().list_jobs().jobs_size(), 50);
}

}  // namespace
}  // namespace gw::ctld
