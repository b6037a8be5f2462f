// Work off the event loop, users in turn.
#include "ctld/shell/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace gw::ctld {
namespace {

TEST(Worker, TakesUsersInTurnAndAnswersOnTheLoop) {
  io::Loop loop;
  std::promise<void> begun, go;
  std::vector<int> order;  // the loop's
  Worker worker(loop);
  const auto loop_thread = std::this_thread::get_id();
  worker.ask(1, [&]() -> Worker::Then {
    begun.set_value();
    go.get_future().wait();
    return {};
  });
  begun.get_future().wait();
  const auto piece = [&](int number) {
    return [&, number]() -> Worker::Then {
      EXPECT_NE(std::this_thread::get_id(), loop_thread);
      return [&, number] {
        EXPECT_EQ(std::this_thread::get_id(), loop_thread);
        order.push_back(number);
      };
    };
  };
  for (int number : {10, 11, 12}) worker.ask(1, piece(number));
  worker.ask(2, piece(20));
  worker.ask(2, piece(21));
  go.set_value();
  ASSERT_TRUE(loop.run_until([&] { return order.size() == 5; }, base::seconds(60)));
  EXPECT_EQ(order, (std::vector<int>{10, 20, 11, 21, 12}));
}

}  // namespace
}  // namespace gw::ctld
