// Orders in, requests out.
#include "noded/pmix/helper.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/text.h"

namespace gw::noded::pmix {
namespace {

using base::ErrorCode;
using base::Result;
using base::Status;

constexpr size_t kMaxOrder = 16 << 20;
constexpr size_t kMaxMessage = 256 << 20;  // between helpers: a collective's data of all nodes
constexpr size_t kMaxText = 500;
constexpr uint32_t kWidth = 16;
constexpr base::Duration kFarewell = base::milliseconds(500);
constexpr base::Duration kPatience = base::seconds(1);  // with nodes that do not come to a collective operation
constexpr char kServer[] = "gangway-pmix";
/// libpmix keeps what it knows in memory alone; the folder is for what it might want to write all the same.
constexpr char kFolder[] = "/tmp";

std::string task_text(uint32_t rank) { return "task " + std::to_string(rank); }

/// Where libpmix listens, by the environment that it makes for tasks.
Result<uint16_t> port_of(const std::vector<std::string>& environment) {
  constexpr std::string_view kUri = ";tcp4://127.0.0.1:";
  for (const std::string& line : environment) {
    const size_t at = line.find(kUri);
    if (at == std::string::npos) continue;
    GW_TRY(port, base::parse_int(line.substr(at + kUri.size()), 1, UINT16_MAX, "port of libpmix"));
    return static_cast<uint16_t>(port);
  }
  return base::fail(ErrorCode::kInternal, "libpmix listens nowhere on the loopback interface");
}

}  // namespace

Helper::Helper(Sockets sockets) : poster_(loop_.poster()), sockets_(std::move(sockets)), decoder_(kMaxOrder) {}

Helper::~Helper() = default;

int Helper::run() {
  shepherd_ = io::Stream::adopt(loop_, std::move(sockets_.shepherd));
  shepherd_->on_closed([this](const std::string&) {
    if (!is_ending_) return loop_.stop();
    farewell_ = loop_.after(kFarewell, [this] { loop_.stop(); });  // the other nodes are still being told
  });
  shepherd_->on_data([this](std::string_view bytes) { on_bytes(bytes); });
  loop_.run();
  return exit_code_;
}

void Helper::on_bytes(std::string_view bytes) {
  decoder_.feed(bytes);
  for (;;) {
    const auto frame = decoder_.next();
    if (frame && !*frame) return;
    wire::ToPmix order;
    if (!frame || !order.ParseFromString(**frame)) return fail("an order of the shepherd cannot be read");
    on_order(order);
  }
}

void Helper::on_order(const wire::ToPmix& order) {
  if (order.has_setup() && !library_) {
    if (const Status done = set_up(order.setup()); !done) fail(done.error().text());
  }
  if (order.has_failed()) on_task_failed(order.failed());
  if (order.has_ending()) spread_end(order.ending().text());
}

void Helper::on_task_failed(const wire::PmixTaskFailed& failed) {
  if (library_ && library_->is_connected(failed.rank()))
    return fail(task_text(failed.rank()) + " ended without MPI_Finalize");
  if (!library_ || !library_->has_connected(failed.rank())) absent_ = failed.rank();
  if (judge_absent()) return;
  wire::FromPmix message;
  *message.mutable_failed() = failed;
  say(message);
}

bool Helper::judge_absent() {
  if (!absent_ || !(is_wanted_ || (library_ && library_->is_in_use()))) return false;
  fail(task_text(*std::exchange(absent_, std::nullopt)) + " ended before MPI_Init");
  return true;
}

void Helper::say(const wire::FromPmix& message) {
  std::string out;
  wire::append_frame(out, message.SerializeAsString());
  shepherd_->send(out);
}

void Helper::fail(const std::string& text) { tell_end("PMIx: " + text); }

void Helper::tell_end(const std::string& text) {
  wire::FromPmix message;
  message.mutable_fault()->set_text(text.substr(0, kMaxText));
  say(message);
}

Status Helper::set_up(const wire::PmixSetup& setup) {
  GW_TRY(job, make_job(setup));
  job_ = std::move(job);
  if (setup.failed_size() > 0) absent_ = setup.failed(0);
  Fences::Options options;
  options.self = job_.self;
  options.lost_status = Library::lost_status();
  options.width = kWidth;
  options.max_bytes = kMaxMessage;
  fences_.emplace(options, [this](uint32_t node, const wire::PmixFence& fence) {
    wire::PmixPeer message;
    *message.mutable_fence() = fence;
    send(node, message);
  });
  if (job_.nodes.size() > 1) GW_TRY_STATUS(open_mesh(setup));
  GW_TRY(library, Library::open(kServer, job_.nodes[job_.self], kFolder, requests()));
  library_ = std::move(library);
  GW_TRY_STATUS(library_->add_job(job_));
  GW_TRY(environment, library_->environment(job_.name, job_.own().front()));
  GW_TRY(port, port_of(environment));
  relay_ = std::make_unique<Relay>(loop_, std::move(sockets_.tasks), port);
  if (sockets_.first) relay_->add(std::move(sockets_.first));
  return {};
}

Status Helper::open_mesh(const wire::PmixSetup& setup) {
  peer::MeshOptions options;
  if (setup.secret().size() != options.identity.secret.bytes.size())
    return base::invalid("the secret of the step is none");
  std::memcpy(options.identity.secret.bytes.data(), setup.secret().data(), setup.secret().size());
  options.identity.purpose = job_.name;
  options.identity.self = job_.self;
  options.identity.nodes = static_cast<uint32_t>(job_.nodes.size());
  options.listener = std::move(sockets_.peers);
  options.max_message = options.max_waiting = 2 * kMaxMessage;
  GW_TRY(mesh, peer::Mesh::open(
                   loop_, std::move(options), [this](uint32_t from, const std::string& m) { on_message(from, m); },
                   [this](uint32_t node, const base::Error& reason) { on_lost(node, reason); }));
  mesh_ = std::move(mesh);
  for (io::Fd& fd : sockets_.visitors) mesh_->adopt(std::move(fd));
  return mesh_->set_addresses({setup.addresses().begin(), setup.addresses().end()});
}

// --- what the tasks ask for ---

Requests Helper::requests() {
  Requests r;
  r.fence = [this](std::vector<uint32_t> ranks, std::string data, DataFn done) {
    poster_.post([this, ranks = std::move(ranks), data = std::move(data), done = std::move(done)]() mutable {
      fence(ranks, std::move(data), std::move(done));
    });
  };
  r.modex = [this](uint32_t rank, DataFn done) {
    poster_.post([this, rank, done = std::move(done)]() mutable { modex(rank, std::move(done)); });
  };
  r.abort = [this](uint32_t rank, int code, std::string text, std::function<void()> done) {
    poster_.post([this, rank, code, text = std::move(text), done = std::move(done)] { abort(rank, code, text, done); });
  };
  r.connected = [this] { poster_.post([this] { judge_absent(); }); };
  return r;
}

void Helper::fence(const std::vector<uint32_t>& ranks, std::string data, DataFn done) {
  std::vector<uint32_t> nodes;
  std::string group;
  for (const uint32_t rank : ranks) {
    if (rank >= job_.size()) return done(Library::lost_status(), {});
    nodes.push_back(job_.node_of[rank]);
    group += std::to_string(rank) + ",";
  }
  if (ranks.empty())
    for (uint32_t node = 0; node < job_.nodes.size(); ++node) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const auth::Bytes32 hash = auth::hash_parts({"group", group});
  fences_->join(std::string(auth::view(hash)), std::move(nodes), std::move(data), std::move(done));
  if (!reminder_.is_active()) reminder_ = loop_.after(kPatience, [this] { remind(); });
}

// A node whose tasks do not connect has no helper, and nobody there knows that others wait for them: what comes starts
// it, and if one of the tasks cannot come any more, it ends the step. Where all come soon nothing is sent.
void Helper::remind() {
  for (const uint32_t node : awaited()) {
    if (heard_.contains(node) || !reminded_.insert(node).second) continue;
    wire::PmixPeer message;
    message.mutable_waiting();
    send(node, message);
  }
}

std::set<uint32_t> Helper::awaited() const {
  std::set<uint32_t> nodes = fences_->awaited();
  for (const auto& [number, asked] : asked_) nodes.insert(asked.node);
  return nodes;
}

void Helper::modex(uint32_t rank, DataFn done) {
  if (rank >= job_.size()) return done(Library::lost_status(), {});
  const uint32_t node = job_.node_of[rank];
  if (node == job_.self) return library_->ask_modex(job_, rank, std::move(done));
  wire::PmixPeer message;
  message.mutable_ask()->set_number(++last_number_);
  message.mutable_ask()->set_rank(rank);
  asked_[last_number_] = {node, std::move(done)};
  send(node, message);
}

void Helper::abort(uint32_t rank, int code, const std::string& text, const std::function<void()>& done) {
  wire::FromPmix message;
  message.mutable_abort()->set_rank(rank);
  std::string told = task_text(rank) + " called abort with code " + std::to_string(code);
  if (!text.empty() && text != "N/A") told += ": " + base::printable(text, kMaxText);
  message.mutable_abort()->set_text(told);
  say(message);
  done();
}

// --- other helpers ---

void Helper::send(uint32_t node, const wire::PmixPeer& message) { mesh_->send(node, message.SerializeAsString()); }

void Helper::on_message(uint32_t from, const std::string& bytes) {
  wire::PmixPeer message;
  if (!message.ParseFromString(bytes)) return fail("a message of " + job_.nodes[from] + " cannot be read");
  heard_.insert(from);
  if (!message.has_ending()) is_wanted_ = true;
  if (judge_absent()) return;
  if (message.has_fence()) {
    const Status done = fences_->on_message(from, std::move(*message.mutable_fence()));
    if (!done) fail(done.error().text());
  }
  if (message.has_ask()) on_ask(from, message.ask());
  if (message.has_answer()) on_answer(from, std::move(*message.mutable_answer()));
  if (message.has_ending() && !is_ending_) {
    tell_end(message.ending().text());
    spread_end(message.ending().text());
  }
}

void Helper::on_ask(uint32_t from, const wire::PmixAsk& ask) {
  const uint32_t rank = ask.rank();
  const DataFn answer = [this, from, number = ask.number()](int status, std::string data) {
    poster_.post([this, from, number, status, data = std::move(data)]() mutable {
      wire::PmixPeer message;
      message.mutable_answer()->set_number(number);
      message.mutable_answer()->set_status(status);
      message.mutable_answer()->set_data(std::move(data));
      send(from, message);
    });
  };
  if (rank >= job_.size() || job_.node_of[rank] != job_.self) return answer(Library::lost_status(), {});
  library_->ask_modex(job_, rank, answer);
}

void Helper::on_answer(uint32_t from, wire::PmixAnswer answer) {
  const auto found = asked_.find(answer.number());
  if (found == asked_.end() || found->second.node != from) return;
  const DataFn done = std::move(found->second.done);
  asked_.erase(found);
  done(answer.status(), std::move(*answer.mutable_data()));
}

// Who left in peace is lost as well: only those who wait for it learn of that. The shepherd of a node leaves when its
// tasks have ended: who is awaited and has never said a word had tasks that never connected.
void Helper::on_lost(uint32_t node, const base::Error& reason) {
  if (!heard_.contains(node) && awaited().contains(node))
    return fail("the tasks of " + job_.nodes[node] +
                " ended before MPI_Init, or it cannot be reached: " + reason.text());
  fences_->on_lost(node);
  std::vector<DataFn> waiting;
  for (auto asked = asked_.begin(); asked != asked_.end();) {
    if (asked->second.node == node) waiting.push_back(std::move(asked->second.done));
    asked = asked->second.node == node ? asked_.erase(asked) : std::next(asked);
  }
  for (const DataFn& done : waiting) done(Library::lost_status(), {});
}

void Helper::spread_end(const std::string& text) {
  if (std::exchange(is_ending_, true) || !mesh_) return;
  wire::PmixPeer message;
  message.mutable_ending()->set_text(text);
  if (job_.self > 0) send((job_.self - 1) / kWidth, message);
  for (uint32_t child = job_.self * kWidth + 1; child <= job_.self * kWidth + kWidth; ++child)
    if (child < job_.nodes.size()) send(child, message);
}

int print_environment() {
  const auto library = Library::open(kServer, "", kFolder, {});
  const auto lines = library ? (*library)->environment("", 0) : base::pass(library);
  if (!lines) {
    std::fprintf(stderr, "gpmixd: %s\n", lines.error().text().c_str());
    return 1;
  }
  for (const std::string& line : *lines) std::printf("%s\n", line.c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace gw::noded::pmix
