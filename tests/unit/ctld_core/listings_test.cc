// Long lists: in numbered pieces, between which others are served and jobs come and go.
#include "ctld/core/tables/listings.h"

#include <gtest/gtest.h>

#include <set>

#include "world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using testing::World;

constexpr ConnId kConn = 1'000'000;
constexpr uint64_t kId = 42;

/// Asks on a connection of its own; the first piece only.
void ask(World& w, wire::ApiRequest request, uint32_t uid = 1000) {
  request.set_id(kId);
  w.core->on_request(w.now, kConn, World::user(uid), request);
  w.pump();
}

/// Takes pieces to the end; false: it ended with an error. `between` runs before each piece but the first.
bool take_rest(World& w, std::vector<wire::ApiReply>& pieces, const std::function<void()>& between = {}) {
  pieces = w.replies[kConn];
  while (!pieces.empty() && pieces.back().more()) {
    if (between) between();
    w.core->on_piece_taken(w.now, kConn, kId);
    w.pump();
    if (w.replies[kConn].size() == pieces.size()) return false;
    pieces = w.replies[kConn];
  }
  return !pieces.empty() && !pieces.back().has_error();
}

void expect_numbered(const std::vector<wire::ApiReply>& pieces) {
  for (size_t k = 0; k < pieces.size(); ++k) {
    EXPECT_EQ(pieces[k].piece(), k + 1);
    EXPECT_EQ(pieces[k].more(), k + 1 < pieces.size());
    EXPECT_EQ(pieces[k].id(), kId);
  }
}

wire::ApiRequest all_jobs() {
  wire::ApiRequest r;
  r.mutable_list_jobs();
  return r;
}

std::vector<uint32_t> ids_of(const std::vector<wire::ApiReply>& pieces) {
  std::vector<uint32_t> out;
  for (const auto& piece : pieces)
    for (const auto& job : piece.list_jobs().jobs()) out.push_back(job.id());
  return out;
}

constexpr int kMany = 2500;  // more than two pieces

class Listing : public ::testing::Test {
 protected:
  World w{1};
  std::set<uint32_t> ids;
  void SetUp() override {
    for (int i = 0; i < kMany; ++i) ids.insert(w.submit(1000 + i % 3, gang(1)).value);
    ASSERT_EQ(ids.size(), static_cast<size_t>(kMany));
  }
};

TEST_F(Listing, ComesInNumberedPiecesOneAtATime) {
  ask(w, all_jobs());
  ASSERT_EQ(w.replies[kConn].size(), 1u) << "the next piece is made when the former was written";
  EXPECT_TRUE(w.core->clients().listings.has(kConn));
  std::vector<wire::ApiReply> pieces;
  ASSERT_TRUE(take_rest(w, pieces));
  EXPECT_GE(pieces.size(), 3u);
  expect_numbered(pieces);
  EXPECT_FALSE(w.core->clients().listings.has(kConn));
  const auto listed = ids_of(pieces);
  EXPECT_EQ(std::vector<uint32_t>(ids.begin(), ids.end()), listed);
  // Nothing more comes, whatever is asked.
  w.core->on_piece_taken(w.now, kConn, kId);
  w.pump();
  EXPECT_EQ(w.replies[kConn].size(), pieces.size());
}

/// Others wait for the turn in which a piece is made.
TEST_F(Listing, APieceIsAShortTurn) {
  ask(w, all_jobs());
  std::vector<wire::ApiReply> pieces;
  ASSERT_TRUE(take_rest(w, pieces));
  for (const wire::ApiReply& piece : pieces) {
    EXPECT_LE(piece.list_jobs().jobs_size(), 200);
    EXPECT_LE(piece.ByteSizeLong(), size_t{160} << 10);
  }
}

TEST_F(Listing, JobsThatComeAndGoMeanwhileTakeNoOtherFromTheList) {
  ask(w, all_jobs());
  std::set<uint32_t> gone;
  std::vector<wire::ApiReply> pieces;
  uint32_t next = 1;
  const bool is_whole = take_rest(w, pieces, [&] {
    for (int i = 0; i < 20; ++i, next += 97) {
      w.cancel(0, JobId(next));
      gone.insert(next);
    }
    w.submit(7, gang(1));
    w.tick(w.settings.min_job_age + base::seconds(1));  // what has ended leaves memory
  });
  ASSERT_TRUE(is_whole);
  const auto listed = ids_of(pieces);
  const std::set<uint32_t> seen(listed.begin(), listed.end());
  EXPECT_EQ(seen.size(), listed.size()) << "no job twice";
  for (uint32_t id : ids)
    if (!gone.contains(id)) {
      EXPECT_TRUE(seen.contains(id)) << id;
    }
}

TEST_F(Listing, OthersAreServedBetweenThePieces) {
  ask(w, all_jobs());
  EXPECT_NE(w.submit(5, gang(1)).value, 0u);
  wire::ApiRequest ping;
  ping.mutable_ping();
  EXPECT_TRUE(w.ask(5, ping).has_ping());
  EXPECT_EQ(w.ask(5, all_jobs()).list_jobs().jobs_size(), kMany + 1);
}

TEST_F(Listing, ASecondListOnTheSameConnectionIsRefused) {
  ask(w, all_jobs());
  wire::ApiRequest second = all_jobs();
  second.set_id(kId + 1);
  w.core->on_request(w.now, kConn, World::user(1000), second);
  w.pump();
  EXPECT_TRUE(w.replies[kConn].back().has_error());
  w.core->on_piece_taken(w.now, kConn, kId);  // the first continues
  w.pump();
  EXPECT_EQ(w.replies[kConn].back().piece(), 2u);
}

TEST_F(Listing, EndsWithAnErrorWhenTheStoreFailsMeanwhile) {
  ask(w, all_jobs());
  w.core->on_store_state("disk full");
  w.core->on_piece_taken(w.now, kConn, kId);
  w.pump();
  EXPECT_TRUE(w.replies[kConn].back().has_error()) << "a shorter list must not pass for the whole";
  EXPECT_FALSE(w.core->clients().listings.has(kConn));
}

TEST_F(Listing, GoesWithItsClient) {
  ask(w, all_jobs());
  w.core->on_client_gone(w.now, kConn);
  EXPECT_FALSE(w.core->clients().listings.has(kConn));
  w.core->on_piece_taken(w.now, kConn, kId);
  w.pump();
  EXPECT_EQ(w.replies[kConn].size(), 1u);
}

TEST_F(Listing, ByIdsTooAndUnknownOnesAreTold) {
  wire::ApiRequest r;
  for (uint32_t id = 1; id <= kMany + 5; ++id) r.mutable_list_jobs()->mutable_filter()->add_ids(id);
  ask(w, r);
  std::vector<wire::ApiReply> pieces;
  ASSERT_TRUE(take_rest(w, pieces));
  EXPECT_GE(pieces.size(), 3u);
  expect_numbered(pieces);
  EXPECT_EQ(ids_of(pieces).size(), static_cast<size_t>(kMany));
  int unknown = 0;
  for (const auto& piece : pieces) unknown += piece.list_jobs().unknown_ids_size();
  EXPECT_EQ(unknown, 5);
}

TEST_F(Listing, PrioritiesComeInPieces) {
  wire::ApiRequest r;
  r.mutable_list_priorities();
  ask(w, r);
  std::vector<wire::ApiReply> pieces;
  ASSERT_TRUE(take_rest(w, pieces));
  EXPECT_GE(pieces.size(), 3u);
  expect_numbered(pieces);
  size_t rows = 0;
  for (const auto& piece : pieces) rows += static_cast<size_t>(piece.list_priorities().jobs_size());
  EXPECT_EQ(rows, static_cast<size_t>(kMany));
  EXPECT_FALSE(pieces.back().list_priorities().order().empty());
}

/// 2,500 nodes of which only the first is there.
TEST(Listings, NodesComeInPieces) {
  World w(kMany);
  w.connect("n0");
  wire::ApiRequest r;
  r.mutable_list_nodes();
  ask(w, r);
  std::vector<wire::ApiReply> pieces;
  ASSERT_TRUE(take_rest(w, pieces));
  EXPECT_GE(pieces.size(), 3u);
  expect_numbered(pieces);
  std::set<std::string> names;
  for (const auto& piece : pieces)
    for (const auto& node : piece.list_nodes().nodes()) {
      names.insert(node.name());
      ASSERT_EQ(node.partitions_size(), 1);
      EXPECT_EQ(node.partitions(0), "main");
    }
  EXPECT_EQ(names.size(), static_cast<size_t>(kMany));
}

/// Rows of any length: a piece ends with the row that makes it long enough, and never loses one.
TEST(Listings, ARowThatIsLongerThanAPieceLosesNoOther) {
  Outbox outbox;
  Listings listings;
  std::vector<size_t> rows = {10, 3 << 20, 20, 700 << 10, 600 << 10, 30};
  size_t at = 0;
  const auto fill = [&](base::Time, ListPiece& piece) {
    for (; at < rows.size(); ++at) {
      if (piece.is_full()) return false;
      piece.reply.mutable_list_nodes()->add_nodes()->set_name(std::string(rows[at], 'x'));
      piece.added(rows[at]);
    }
    return true;
  };
  ASSERT_TRUE(listings.begin({}, kConn, kId, fill, outbox));
  while (listings.has(kConn)) listings.go_on({}, kConn, kId, outbox);
  const Effects effects = outbox.take({});
  std::vector<size_t> listed;
  uint32_t pieces = 0;
  for (const Outgoing& out : effects.out) {
    const wire::ApiReply& reply = std::get<Reply>(out).reply;
    EXPECT_EQ(reply.piece(), ++pieces);
    for (const auto& node : reply.list_nodes().nodes()) listed.push_back(node.name().size());
  }
  EXPECT_EQ(listed, rows);
  EXPECT_FALSE(std::get<Reply>(effects.out.back()).reply.more());
}

}  // namespace
}  // namespace gw::ctld
