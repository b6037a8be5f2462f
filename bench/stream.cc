// Speed of one stream over loopback, handshake and encryption included: a thread plays the shepherd, the main thread
// the command. `bench_stream [MB]` sends so many each way in turn, then makes short sessions one after the other, then
// holds an idle one. Prints one line a case.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "io/loop.h"
#include "stream/client.h"
#include "stream/server.h"

namespace {

using namespace gw;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Sends `left` bytes on `out` and drops what comes on the other channel.
struct Program : stream::Handler {
  stream::Session* session = nullptr;
  stream::ChannelId out = 0;
  uint64_t left = 0;
  std::string block = std::string(64 << 10, 'x');
  std::function<void()> on_finished = [] {};

  void produce() {
    while (left > 0) {
      const auto piece = std::string_view(block).substr(0, left);
      const size_t n = session->write(out, piece);
      left -= n;
      if (n < piece.size()) return;
    }
    session->end(out);
  }
  size_t on_bytes(stream::ChannelId, std::string_view bytes) override { return bytes.size(); }
  void on_end(stream::ChannelId) override { on_finished(); }
  void on_writable(stream::ChannelId) override { produce(); }
  void on_control(const stream::Control&) override {}
  void on_closed(const base::Error& error) override {
    if (error.code != base::ErrorCode::kUnavailable) std::fprintf(stderr, "%s\n", error.text().c_str());
  }
};

/// What both sides know.
struct Keys {
  auth::SigningKey controller;
  auth::KeyPair shepherd;
  auth::StepIdentity step{1000, 7, 0, 1, 0};
};

/// A shepherd on a thread of its own, which sends `bytes` to each client.
struct Shepherd {
  const Keys& keys;
  uint64_t bytes;
  io::Loop loop;
  base::SystemClock clock;
  std::unique_ptr<stream::Server> server;
  std::promise<std::string> address;
  std::thread thread{[this] { run(); }};

  Shepherd(const Keys& k, uint64_t n) : keys(k), bytes(n) {}
  ~Shepherd() {
    loop.post([this] { loop.stop(); });
    thread.join();
  }
  void run() {
    stream::ServerOptions options;
    options.address = "127.0.0.1:0";
    options.step = keys.step;
    options.controller_key = keys.controller.public_key();
    auto opened =
        stream::Server::open(loop, clock, keys.shepherd, options, [this](const auth::Ticket&, stream::Session& s) {
          const auto program = std::make_shared<Program>();
          program->session = &s;
          program->out = 1;
          program->left = bytes;
          (void)s.open_send(1);
          (void)s.open_receive(0);
          program->produce();
          return base::Result<std::shared_ptr<stream::Handler>>(program);
        });
    server = std::move(*opened);
    address.set_value(server->bound_address());
    loop.run();
    server.reset();
  }
};

struct Command {
  io::Loop& loop;
  const Keys& keys;
  auth::KeyPair own;
  std::shared_ptr<Program> program = std::make_shared<Program>();
  bool is_done = false;
  std::unique_ptr<stream::Client> client;

  Command(io::Loop& l, const Keys& k, const std::string& address, uint64_t bytes) : loop(l), keys(k) {
    stream::ClientOptions options;
    options.address = address;
    options.shepherd_key = keys.shepherd.public_key();
    client = std::make_unique<stream::Client>(loop, own, options,
                                              [this](const stream::Client::TicketFn& give) { give(ticket()); });
    program->session = &client->session();
    program->left = bytes;
    program->on_finished = [this] { is_done = true; };
    (void)client->session().open_send(0);
    (void)client->session().open_receive(1);
    program->produce();
    client->start(program);
  }
  std::string ticket() const {
    auth::Ticket t;
    t.rights = auth::Rights::kFull;
    t.uid = keys.step.uid;
    t.job = keys.step.job;
    t.attempt = keys.step.attempt;
    t.expiry = base::SystemClock().now() + auth::kTicketLife;
    t.client_key = own.public_key();
    t.nonce = auth::random_nonce();
    return auth::sign_ticket(keys.controller, t);
  }
  bool wait() {
    const bool done = loop.run_until([this] { return is_done && program->left == 0 && client->session().is_settled(); },
                                     base::minutes(5));
    client->session().close({base::ErrorCode::kUnavailable, "done", ""});
    return loop.run_until([this] { return !client->is_connected(); }, base::seconds(30)) && done;
  }
};

void transfer(const char* name, uint64_t up, uint64_t down) {
  const Keys keys;
  Shepherd shepherd(keys, down);
  const std::string address = shepherd.address.get_future().get();
  io::Loop loop;
  const double cpu = cpu_seconds();
  const auto begin = Clock::now();
  Command command(loop, keys, address, up);
  const bool is_whole = command.wait();
  const double s = since(begin), megabytes = static_cast<double>(up + down) / 1e6;
  std::printf("stream %s MB=%.0f seconds=%.3f MB_per_second=%.0f cpu_ns_per_byte=%.2f memory=%.1fMB%s\n", name,
              megabytes, s, megabytes / s, 1e3 * (cpu_seconds() - cpu) / megabytes, peak_mb(),
              is_whole ? "" : " FAILED");
}

void sessions(int count) {
  const Keys keys;
  Shepherd shepherd(keys, 10);
  const std::string address = shepherd.address.get_future().get();
  io::Loop loop;
  const auto begin = Clock::now();
  bool is_whole = true;
  for (int i = 0; i < count; ++i) is_whole = Command(loop, keys, address, 10).wait() && is_whole;
  const double s = since(begin);
  std::printf("stream sessions count=%d milliseconds_each=%.2f%s\n", count, 1e3 * s / count, is_whole ? "" : " FAILED");
}

void idle() {
  const Keys keys;
  Shepherd shepherd(keys, 10);
  io::Loop loop;
  Command command(loop, keys, shepherd.address.get_future().get(), 10);
  loop.run_until([&] { return command.is_done; }, base::seconds(30));
  const double cpu = cpu_seconds();
  loop.run_until([] { return false; }, base::seconds(3));
  std::printf("stream idle seconds=3 cpu_milliseconds=%.2f\n", 1e3 * (cpu_seconds() - cpu));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const uint64_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000) * 1'000'000;
  transfer("down", 0, bytes);
  transfer("up", bytes, 0);
  transfer("both", bytes / 2, bytes / 2);
  sessions(200);
  idle();
}
