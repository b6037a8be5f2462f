// Start of the controller and the way of messages and effects through it.
#include "ctld/shell/server.h"

#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>

#include "base/counted.h"
#include "base/text.h"
#include "ctld/shell/settings.h"
#include "plugin/orders.h"
#include "wire/convert.h"

namespace gw::ctld {

namespace {

/// About what held effects take; those of one request are few, but for the pieces of a long list.
size_t memory_of(const std::vector<Outgoing>& held) {
  constexpr size_t kEach = 1024;
  size_t bytes = kEach;
  for (const Outgoing& out : held) {
    bytes += kEach;
    if (const Reply* reply = std::get_if<Reply>(&out)) bytes += reply->bytes.size() + reply->reply.ByteSizeLong();
    if (const ReadJob* read = std::get_if<ReadJob>(&out)) bytes += read->reply.ByteSizeLong();
  }
  return bytes;
}

}  // namespace

Server::Server(config::Config config) : config_(std::move(config)), authenticator_(config_.munge_socket) {}

Server::~Server() {
  for (std::thread& helper : helpers_) helper.join();
  // The threads end before what they post to.
  http_.reset();
  listener_.reset();
  snapshots_.reset();
  scheduler_.reset();
  backups_.reset();
  committer_.reset();
  users_.reset();
  auth_pool_.reset();
}

base::Result<std::unique_ptr<Server>> Server::start(config::Config config) {
  std::unique_ptr<Server> server(new Server(std::move(config)));
  server->warn_about_munge();
  GW_TRY_STATUS(server->open_store());
  GW_TRY_STATUS(server->listen());
  server->loop_.on_signal(SIGTERM, [s = server.get()] { s->loop_.stop(); });
  server->loop_.on_signal(SIGINT, [s = server.get()] { s->loop_.stop(); });
  server->loop_.on_signal(SIGHUP, [s = server.get()] {
    Reload reload;
    s->carry_out(reload);
  });
  server->pump();
  return server;
}

void Server::warn_about_munge() const {
  const auto version = auth::munged_version();
  if (!version)
    spdlog::warn("the version of munged is not known: {}", version.error().text());
  else if (auth::is_munge_vulnerable(*version))
    spdlog::warn(
        "munged {} may leak its key to local users (CVE-2026-25506, fixed in 0.5.18; distributions back-port "
        "the fix: check your package's changelog)",
        *version);
}

base::Status Server::open_store() {
  GW_TRY(opened, store::open_sqlite(config_.state_dir));
  GW_TRY(key, load_ticket_key(config_.state_dir));
  ticket_key_.emplace(std::move(key));
  if (!opened.note.empty()) spdlog::info("state in {}: {}", config_.state_dir, opened.note);
  const base::Time now = clock_.now();
  GW_TRY(snapshot, opened.store->load(now - config_.min_job_age));
  GW_TRY(settings, settings_of(config_));
  spdlog::info("order {} {} from {}", config_.order, settings.policy.order_version,
               plugin::Orders(config_.plugin_dirs).find(config_.order));
  core_ = std::make_unique<Controller>(std::move(settings), now);
  GW_TRY_STATUS(core_->restore(snapshot, now));
  spdlog::info("recovered {} without an end", base::counted(snapshot.jobs.size(), "job"));
  backups_ = std::make_unique<Backups>(
      loop_, [store = opened.store.get()](const std::string& path, const std::function<bool()>& keep_going) {
        return store->backup(path, keep_going);
      });
  GW_TRY(reader, store::open_reader(config_.state_dir));
  reader_ = std::move(reader);
  blobs_ = std::make_unique<Blobs>(*reader_);
  committer_ = std::make_unique<Committer>(
      loop_, std::move(opened.store), [this](std::vector<Outgoing> out) { release(std::move(out)); },
      [this](const std::string& why) {
        core_->on_store_state(why);
        if (why.empty()) scheduler_->nudge();
        pump();
      });
  committer_->on_owed([this] { return core_->take_late_rows(); });
  scheduler_ = std::make_unique<SchedulerThread>(loop_, std::make_unique<SteadyClock>(),
                                                 [this](const sched::Plan& plan, const PassReport& report) {
                                                   core_->on_fragmentation(report.fragmentation);
                                                   core_->on_plan(clock_.now(), plan);
                                                   pump();
                                                 });
  snapshots_ = std::make_unique<Snapshots>(loop_, *scheduler_, GANGWAY_VERSION, config_.cluster);
  users_ = std::make_unique<UserDirectory>(loop_);
  return {};
}

base::Status Server::listen() {
  auth_pool_ = std::make_unique<link::AuthPool>(authenticator_, loop_);
  link::ServerOptions options;
  const std::string host = config_.listen.empty() ? config_.controller_host : config_.listen;
  options.address = fmt::format("{}:{}", host, config_.controller_port);
  options.name = config_.cluster + "/gctld";
  options.exempt_uid = config_.controller_uid;
  GW_TRY(listener, link::LinkServer::start(
                       loop_, *auth_pool_, options, [this](const auto& l) { on_link(l); },
                       [](const std::string& address, const base::Error& error) {
                         spdlog::warn("connection from {} refused: {}", address.empty() ? "anywhere" : address,
                                      error.text());
                       }));
  listener_ = std::move(listener);
  spdlog::info("gctld {} of cluster {} serves at {}", GANGWAY_VERSION, config_.cluster, listener_->bound_address());
  return serve_metrics();
}

base::Status Server::serve_metrics() {
  if (config_.metrics_listen.empty()) return {};
  GW_TRY(http, io::HttpServer::open(
                   loop_, config_.metrics_listen,
                   {{"/metrics", {"text/plain; version=0.0.4; charset=utf-8", [this] { return metrics_text(); }}}}));
  http_ = std::move(http);
  spdlog::info("figures for monitoring at http://{}/metrics", http_->bound_address());
  return {};
}

/// Made at most once a second, however many ask.
const std::string& Server::metrics_text() {
  const base::Time now = clock_.now();
  if (!metrics_text_.empty() && now - metrics_made_ < base::seconds(1)) return metrics_text_;
  Metrics m = core_->metrics(now);
  const PassReport report = scheduler_->counts();
  m.passes = report.passes;
  m.steps = report.steps;
  m.last_pass = report.last;
  m.commits = committer_->commits();
  metrics_made_ = now;
  return metrics_text_ = ctld::metrics_text(m);
}

void Server::run() {
  loop_.run();
  spdlog::info("leaving; running jobs go on");
}

void Server::on_link(const std::shared_ptr<link::SecureLink>& link) {
  const uint64_t number = next_number_++;
  if (link->peer().role == auth::Role::kNode)
    on_node(number, link);
  else
    on_client(number, link);
}

void Server::on_client(ConnId conn, const std::shared_ptr<link::SecureLink>& link) {
  Client& client = clients_[conn];
  client.link = link;
  link->on_message([this, conn](std::string_view bytes) { on_client_message(conn, bytes); });
  link->on_closed([this, conn](const std::string&) {
    clients_.erase(conn);
    core_->on_client_gone(clock_.now(), conn);
    pump();
  });
  users_->find(link->peer().uid, link->peer().gid,
               [this, conn](const base::Result<Caller>& caller) { on_known(conn, caller); });
}

void Server::on_known(ConnId conn, const base::Result<Caller>& caller) {
  const auto it = clients_.find(conn);
  if (it == clients_.end()) return;
  if (!caller) return it->second.link->close(caller.error().text());  // a client tries again by itself
  it->second.caller = *caller;
  it->second.is_known = true;
  const std::vector<Waiting> waiting = std::exchange(it->second.waiting, {});
  for (const Waiting& message : waiting) on_client_message(conn, message.bytes);
}

void Server::on_client_message(ConnId conn, std::string_view bytes) {
  const auto it = clients_.find(conn);
  if (it == clients_.end()) return;
  constexpr size_t kMaxWaiting = 16;
  if (it->second.is_known) return handle_request(conn, it->second, bytes);
  const uint32_t uid = it->second.link->peer().uid;
  if (it->second.waiting.size() >= kMaxWaiting || !held_.admit(uid))
    return it->second.link->close("too many requests before the user is known");
  it->second.waiting.push_back({std::string(bytes), held_.charge(uid, bytes.size())});
}

void Server::handle_request(ConnId conn, Client& client, std::string_view bytes) {
  wire::ApiRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    client.link->close("that is no request");
    return;
  }
  const Request size{client.link->peer().uid, bytes.size()};
  // An administrator's ping tells what is wrong.
  if (const base::Status taken = held_.admit(size.uid); !taken && !request.has_ping())
    return answer_error(conn, request.id(), taken.error());
  if (request.has_submit()) {
    // Named by their contents, so that nobody can refer to somebody else's script.
    wire::Launch& launch = *request.mutable_submit()->mutable_spec()->mutable_launch();
    launch.set_script_hash(content_hash(request.submit().script()));
    launch.set_env_hash(content_hash(request.submit().environment()));
    blobs_->put(launch.script_hash(), request.submit().script());
    blobs_->put(launch.env_hash(), request.submit().environment());
  }
  // Who waits for the end of a job may be silent for days.
  if (request.has_wait_job()) client.link->set_idle_timeout(base::Duration{0});
  const Caller caller = client.caller;
  core_->on_request(clock_.now(), conn, caller, request);
  pump(&size);
}

void Server::on_node(LinkId id, const std::shared_ptr<link::SecureLink>& link) {
  nodes_[id] = link;
  link->set_idle_timeout(base::Duration{0});  // the core watches its heartbeats
  const NodePeer peer{link->peer().uid, link->peer().host};
  link->on_message([this, id, peer](std::string_view bytes) {
    wire::NodeToController message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      CloseLink close{id, "that is no message of a node"};
      return carry_out(close);
    }
    core_->on_node_message(clock_.now(), id, peer, message);
    pump();
  });
  link->on_closed([this, id](const std::string& reason) {
    nodes_.erase(id);
    core_->on_node_gone(clock_.now(), id, reason);
    pump();
  });
}

void Server::pump(const Request* request) {
  Effects effects = core_->take_effects_early();
  scheduler_->feed(std::move(effects.deltas));
  std::vector<Outgoing> held;
  for (Outgoing& out : effects.out) {
    Reply* reply = std::get_if<Reply>(&out);
    Note* note = std::get_if<Note>(&out);
    ToNode* message = std::get_if<ToNode>(&out);
    if (reply != nullptr && reply->at_once)
      carry_out(*reply);
    else if (message != nullptr && message->at_once)
      carry_out(*message);
    else if (note != nullptr)
      carry_out(*note);
    else
      held.push_back(std::move(out));
  }
  HeldMemory::Charge charge;
  const bool owes = core_->has_late_rows();
  if (request != nullptr && !(effects.writes.empty() && !owes && committer_->is_idle()))
    charge = held_.charge(request->uid, request->bytes + memory_of(held));
  committer_->add(std::move(effects.writes), std::move(held), std::move(charge), owes);
  rearm();
}

void Server::rearm() {
  const base::Time next = core_->next_wakeup();
  if (next == tick_at_) return;
  tick_at_ = next;
  if (next == base::Time::never()) return tick_.cancel();
  const base::Duration wait = std::max(next - clock_.now(), base::Duration{0});
  tick_ = loop_.after(std::min(wait, base::hours(1)), [this] {
    tick_at_ = base::Time::never();
    core_->on_tick(clock_.now());
    pump();
  });
}

void Server::release(std::vector<Outgoing> out) {
  // A long list leaves holes all over the heap: give them back once it has been sent.
  constexpr size_t kLong = 4;
  const auto pieces = std::count_if(out.begin(), out.end(), [](const Outgoing& effect) {
    const Reply* reply = std::get_if<Reply>(&effect);
    return reply != nullptr && !reply->bytes.empty();
  });
  for (Outgoing& effect : out) std::visit([this](auto& e) { carry_out(e); }, effect);
  if (static_cast<size_t>(pieces) < kLong) return;
  out.clear();
  trim_ = loop_.after(base::milliseconds(200), [] { malloc_trim(0); });
}

}  // namespace gw::ctld
