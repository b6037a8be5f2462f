// Shepherds of a step that run nothing: they say what a test wants of tasks that it imagines. And a client for them.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attach/step/step_client.h"
#include "stream/server.h"
#include "wire/frame.h"
#include "wire/step_channels.h"

namespace gw::attach {

constexpr base::Duration kTestLimit = base::seconds(100);
using Phase = stream::StepState::Phase;

/// A pipe; the reading end does not wait.
struct Pipe {
  io::Fd read, write;
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
    ::fcntl(read.get(), F_SETFL, O_NONBLOCK);
  }
};

/// The shepherd of one node.
struct FakeNode : stream::Handler {
  base::SystemClock clock;
  const auth::SigningKey& controller;
  auth::KeyPair key;
  std::unique_ptr<stream::Server> server;
  stream::Session* session = nullptr;
  wire::FrameDecoder decoder{wire::kMaxStepOrder};
  wire::LaunchTasks launch;
  wire::GoTasks go_order;
  bool has_launch = false, has_go = false, has_end = false, is_input_over = false;
  std::string input;
  std::vector<stream::Control> controls;
  std::map<stream::ChannelId, std::string> to_send;  ///< Then the channel ends.
  std::map<stream::ChannelId, size_t> sent;
  /// What the node does once it has its launch, is let go, is told to end, is joined.
  std::function<void(FakeNode&)> at_launch, at_go, at_end = [](FakeNode&n) { n.over(143); },
                                                   at_look = [](FakeNode&n) { n.say(Phase::kStarting); }, at_join;

  FakeNode(io::Loop& loop, const auth::SigningKey& c) : controller(c) {
    stream::ServerOptions options;
    options.address = "127.0.0.1:0";
    options.handshake_limit = kTestLimit;
    options.step = {1000, 7, 0, 1, 0};
    options.controller_key = controller.public_key();
    auto opened = stream::Server::open(loop, clock, key, options, [this](const auth::Ticket&, stream::Session& s) {
      session = &s;
      EXPECT_TRUE(s.open_receive(wire::kOrderChannel) && s.open_receive(wire::kInputChannel));
      return base::Result<std::shared_ptr<stream::Handler>>(std::shared_ptr<stream::Handler>(this, [](auto*) {}));
    });
    EXPECT_TRUE(opened) << opened.error().text();
    server = std::move(*opened);
  }

  void say(const stream::Control& control) { EXPECT_TRUE(session->send_control(control)); }
  void say(Phase phase, std::string text = {}) { say(stream::StepState{phase, std::move(text)}); }
  size_t places() const { return static_cast<size_t>(launch.tasks_size()); }
  /// Every task runs; what is to be printed is printed.
  void run() {
    for (const wire::TaskOrder& task : launch.tasks()) say(stream::TaskStarted{task.rank(), 1});
    say(Phase::kRunning);
    for (auto& [channel, text] : to_send) produce(channel);
  }
  void produce(stream::ChannelId channel) {
    const std::string& text = to_send[channel];
    size_t& at = sent[channel];
    at += session->write(channel, std::string_view(text).substr(at));
    if (at == text.size()) session->end(channel);
  }
  /// Every task ends so, with nothing more to print.
  void over(uint8_t code, uint8_t signal = 0) {
    for (const wire::TaskOrder& task : launch.tasks()) say(stream::TaskEnded{task.rank(), code, signal});
    for (uint32_t place = 0; place < places(); ++place)
      for (const auto channel : {wire::output_channel(place), wire::error_channel(place)})
        if (!to_send.contains(channel)) session->end(channel);
    has_ended = true;
    leave_if_settled();
  }
  bool has_ended = false, has_said_ended = false;
  void leave_if_settled() {
    for (const auto& [channel, text] : to_send)
      if (sent[channel] < text.size()) return;
    if (!has_ended || !session->is_settled()) return;
    if (!std::exchange(has_said_ended, true)) return say(Phase::kEnded);
    session->close({base::ErrorCode::kUnavailable, "over", ""});
  }

  size_t on_bytes(stream::ChannelId channel, std::string_view bytes) override {
    if (channel == wire::kInputChannel) {
      input += bytes;
      return bytes.size();
    }
    decoder.feed(bytes);
    while (true) {
      auto frame = decoder.next();
      EXPECT_TRUE(frame);
      if (!frame || !*frame) return bytes.size();
      wire::StepOrder order;
      EXPECT_TRUE(order.ParseFromString(**frame));
      on_order(order);
    }
  }
  void on_order(const wire::StepOrder& order) {
    if (order.has_launch()) {
      launch = order.launch();
      has_launch = true;
      for (uint32_t place = 0; place < places(); ++place)
        EXPECT_TRUE(session->open_send(wire::output_channel(place)) && session->open_send(wire::error_channel(place)));
      if (at_launch) return at_launch(*this);
      say(Phase::kStarting);
      if (launch.go()) go();
    }
    if (order.has_look()) at_look(*this);
    if (order.has_join()) at_join(*this);
    if (order.has_go()) {
      go_order = order.go();
      go();
    }
    if (order.has_end() && !std::exchange(has_end, true)) at_end(*this);
  }
  /// Who joins is told that tasks of these ranks run here.
  void tell_joined(const std::vector<uint32_t>& ranks) {
    for (const uint32_t rank : ranks) launch.add_tasks()->set_rank(rank);
    stream::Joined joined;
    joined.tasks = static_cast<uint32_t>(ranks.size());
    say(joined);
    for (uint32_t place = 0; place < places(); ++place)
      EXPECT_TRUE(session->open_send(wire::output_channel(place)) && session->open_send(wire::error_channel(place)));
    run();
  }
  void go() {
    has_go = true;
    if (at_go) return at_go(*this);
    run();
    over(0);
  }
  void on_end(stream::ChannelId channel) override { is_input_over |= channel == wire::kInputChannel; }
  void on_writable(stream::ChannelId channel) override { produce(channel); }
  void on_control(const stream::Control& control) override { controls.push_back(control); }
  void on_settled() override { leave_if_settled(); }
  void on_closed(const base::Error&) override {}
};

/// A step on some nodes, and its client.
struct FakeStep {
  io::Loop loop;
  auth::SigningKey controller;
  auth::KeyPair key;
  std::vector<std::unique_ptr<FakeNode>> nodes;
  Pipe out, error;
  std::unique_ptr<Sink> out_sink, error_sink;
  StepOptions options;
  std::unique_ptr<StepClient> client;
  std::string printed, complained;
  std::vector<std::string> said;
  std::optional<int> code;
  bool reads = true;

  explicit FakeStep(size_t count = 1) {
    for (size_t i = 0; i < count; ++i) nodes.push_back(std::make_unique<FakeNode>(loop, controller));
    options.step = "7.0";
    options.connection.attempt_limit = kTestLimit;
    options.connection.first_delay = base::milliseconds(1);
    options.say_lost_after = kTestLimit;
    options.patience_at_end = kTestLimit;
    out_sink = std::make_unique<Sink>(loop, Descriptor::for_writing(out.write.get()), "out");
    error_sink = std::make_unique<Sink>(loop, Descriptor::for_writing(error.write.get()), "error");
  }

  /// tasks[i]: how many on node i; ranks are consecutive.
  void make(const std::vector<uint32_t>& tasks, const std::function<void(wire::LaunchTasks&)>& adjust = {}) {
    std::vector<NodePlan> plans;
    uint32_t rank = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      NodePlan plan{"n" + std::to_string(i), nodes[i]->server->bound_address(), nodes[i]->key.public_key(), {}};
      plan.launch.add_programs()->add_argv("program");
      if (adjust) adjust(plan.launch);
      for (uint32_t k = 0; k < tasks[i]; ++k, ++rank)
        plan.launch.add_tasks()->set_rank(options.part == Part::kLaunch ? rank : UINT32_MAX);
      plans.push_back(std::move(plan));
    }
    client = std::make_unique<StepClient>(loop, key, options, std::move(plans), *out_sink, *error_sink);
    client->on_say(
        [this](bool is_error, const std::string& text) { said.push_back((is_error ? "error: " : "") + text); });
    client->on_done([this](int c) { code = c; });
  }
  void start() {
    ASSERT_TRUE(client->start([this](size_t) {
      return [this](const stream::Client::TicketFn& give) {
        auth::Ticket t;
        t.rights = auth::Rights::kFull;
        t.uid = 1000;
        t.job = 7;
        t.attempt = 1;
        t.expiry = base::SystemClock().now() + auth::kTicketLife;
        t.client_key = key.public_key();
        t.nonce = auth::random_nonce();
        give(sign_ticket(controller, t));
      };
    }));
  }
  void drain() {
    char bytes[65536];
    for (auto [pipe, text] : {std::pair(&out, &printed), std::pair(&error, &complained)}) {
      ssize_t n = 0;
      while ((n = ::read(pipe->read.get(), bytes, sizeof bytes)) > 0) text->append(bytes, static_cast<size_t>(n));
    }
  }
  bool wait(const std::function<bool()>& done) {
    return loop.run_until(
        [&] {
          if (reads) drain();
          return done();
        },
        kTestLimit);
  }
  int finish() {
    EXPECT_TRUE(wait([&] { return code.has_value(); }));
    drain();
    return code.value_or(-1);
  }
};

}  // namespace gw::attach
