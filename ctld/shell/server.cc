// Start of the controller and the way of messages and effects through it.
#include "ctld/shell/server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "auth/token_secret.h"
#include "base/check.h"
#include "base/counted.h"
#include "base/text.h"
#include "ctld/shell/listen_host.h"
#include "ctld/shell/read_topologies.h"
#include "ctld/shell/settings.h"
#include "plugin/orders.h"
#include "wire/bounds.h"
#include "wire/convert.h"
#include "wire/receive.h"

namespace gw::ctld {

namespace {

// A submission that nobody could look at.
constexpr base::Duration kAskAgain = base::seconds(2);

/// Those who are answered with the same bytes share what they take.
size_t memory_of(const Reply& reply) {
  const size_t shared = reply.shared ? reply.shared->size() / static_cast<size_t>(reply.shared.use_count()) : 0;
  return reply.bytes.size() + reply.reply.ByteSizeLong() + shared;
}

/// About what held effects take; those of one request are few, but for the pieces of a long list.
size_t memory_of(const std::vector<Outgoing>& held) {
  constexpr size_t kEach = 1024, kMail = 4096;
  size_t bytes = kEach;
  for (const Outgoing& out : held) {
    bytes += kEach;
    if (const Reply* reply = std::get_if<Reply>(&out)) bytes += memory_of(*reply);
    if (const ReadStored* read = std::get_if<ReadStored>(&out)) bytes += read->reply.ByteSizeLong();
    if (std::holds_alternative<SendMail>(out)) bytes += kMail;
  }
  return bytes;
}

/// Tells this start of the controller from all others, on this store and its copies.
std::string random_name() {
  std::array<unsigned char, 8> bytes{};
  GW_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

void warn_about_munge() {
  const auto version = auth::munged_version();
  if (!version)
    spdlog::warn("the version of munged is not known: {}", version.error().text());
  else if (auth::is_munge_vulnerable(*version))
    spdlog::warn(
        "munged {} may leak its key to local users (CVE-2026-25506, fixed in 0.5.18; distributions back-port "
        "the fix: check your package's changelog)",
        *version);
}

}  // namespace

Server::Server(config::Config config) : config_(std::move(config)), authenticator_(config_.munge_socket) {}

Server::~Server() {
  // The threads end before what they post to.
  metrics_.http.reset();
  metrics_.quotas.reset();
  scripts_ = {};
  door_.listener.reset();
  planning_.forecaster.reset();
  planning_.asked_forecasts.reset();
  planning_.snapshots.reset();
  planning_.questions.reset();
  planning_.scheduler.reset();
  keeping_.backups.reset();
  keeping_.retention.reset();
  keeping_.committer.reset();
  disk_.reading.reset();
  disk_.accounting.reset();
  disk_.loading.reset();
  users_.reset();
  door_.auth_pool.reset();
}

base::Result<std::unique_ptr<Server>> Server::start(config::Config config) {
  std::unique_ptr<Server> server(new Server(std::move(config)));
  warn_about_munge();
  GW_TRY_STATUS(server->open_store());
  GW_TRY_STATUS(server->listen());
  const auto stop = [s = server.get()] {
    s->core_->on_stop(s->read_clocks());
    s->pump();
    s->loop_.stop();
  };
  server->loop_.on_signal(SIGTERM, stop);
  server->loop_.on_signal(SIGINT, stop);
  server->loop_.on_signal(SIGHUP, [s = server.get()] {
    Reload reload;
    s->effects_.carry_out(reload);
  });
  server->pump();
  return server;
}

void Server::start_planning() {
  planning_.scheduler = std::make_unique<SchedulerThread>(loop_, std::make_unique<io::SteadyClock>(),
                                                          [this](const sched::Plan& plan, const PassReport& report) {
                                                            core_->planning().fragmentation = report.fragmentation;
                                                            core_->on_plan(read_clocks(), plan);
                                                            if (metrics_.quotas) metrics_.quotas->look_again();
                                                            planning_.forecaster->look_again();
                                                            pump();
                                                          });
  planning_.forecaster = std::make_unique<StartForecaster>(
      loop_, *planning_.scheduler, config_.forecast_every,
      [this]() -> const forecast::RunTimes& { return core_->planning().forecasts.run_times(); },
      [this](const StartForecaster::Drawn& drawn) {
        core_->planning().forecasts.take(drawn, read_clocks(), core_->jobs());
        pump();
      });
  planning_.snapshots = std::make_unique<Snapshots>(loop_, *planning_.scheduler, GANGWAY_VERSION, config_.cluster);
  const auto answer = [this](ConnId conn, const wire::ApiReply& reply) {
    Reply answered{conn, {}, false, reply.SerializeAsString()};
    answered.reply.set_id(reply.id());
    std::vector<Outgoing> out;
    out.push_back(std::move(answered));
    keeping_.committer->add({}, std::move(out));  // what it shows may not be durable yet
  };
  planning_.asked_forecasts = std::make_unique<AskedForecasts>(
      loop_, *planning_.scheduler,
      AskedForecasts::Sources{[this]() -> const forecast::RunTimes& { return core_->planning().forecasts.run_times(); },
                              [this](const forecast::StartRange& drawn, base::Time now) {
                                return core_->planning().forecasts.calibration().widened(drawn, now);
                              },
                              answer},
      AskedForecasts::Bounds{});
  planning_.questions = std::make_unique<Questions>(
      *planning_.scheduler,
      [this, answer](ConnId conn, uint32_t uid, wire::ApiReply reply, const sched::PendingJob* waiting) {
        if (waiting == nullptr || config_.forecast_every.us <= 0) return answer(conn, reply);
        planning_.asked_forecasts->ask({conn, uid, std::move(reply), *waiting});
      });
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
  settings.incarnation = random_name();
  if (!config_.web_listen.empty() && !settings.web_uid)
    spdlog::warn("web.user: this host has no user {}, or it is root: nobody can act by a token", config_.web_user);
  core_ = std::make_unique<Controller>(std::move(settings), now);
  core_->set_lease_clock(base::boot_time_now());
  const auto topologies = read_topologies(snapshot.nodes, core_->topologies(), std::thread::hardware_concurrency());
  GW_TRY_STATUS(core_->restore(snapshot, now));
  spdlog::info("recovered {} without an end", base::counted(snapshot.jobs.size(), "job"));
  keeping_.backups = std::make_unique<Backups>(
      loop_, [store = opened.store.get()](const std::string& path, const std::function<bool()>& keep_going) {
        return store->backup(path, keep_going);
      });
  GW_TRY(reader, store::open_reader(config_.state_dir));
  GW_TRY(records, store::open_records(config_.state_dir));
  disk_.reader = std::move(reader);
  disk_.records = std::move(records);
  disk_.blobs = std::make_unique<Blobs>();
  disk_.reading = std::make_unique<Worker>(loop_);
  disk_.accounting = std::make_unique<Worker>(loop_);
  disk_.loading = std::make_unique<Worker>(loop_);
  keeping_.committer = std::make_unique<Committer>(
      loop_, std::move(opened.store), [this](std::vector<Outgoing> out) { release(std::move(out)); },
      [this](const std::string& why) {
        core_->on_store_state(why);
        if (why.empty()) planning_.scheduler->nudge();
        pump();
      });
  keeping_.retention =
      std::make_unique<RecordRetention>(loop_, *keeping_.committer, config_, [this] { return clock_.now(); });
  keeping_.committer->on_owed([this] { return core_->take_coalesced_rows(); });
  start_planning();
  users_ = std::make_unique<UserDirectory>(loop_);
  scripts_.mails = std::make_unique<Mails>(loop_, config::script_socket(config_));
  scripts_.submissions = std::make_unique<SubmitHook>(loop_, config_);
  scripts_.jobs = std::make_unique<JobPrograms>(loop_, config_);
  return {};
}

base::Status Server::listen() {
  door_.auth_pool = std::make_unique<link::AuthPool>(authenticator_, loop_);
  link::ServerOptions options;
  const std::string host = config_.listen.empty() ? listen_host(config_.controller_host) : config_.listen;
  options.address = io::Address{host, config_.controller_port, {}}.text();
  options.name = config_.cluster + "/gctld";
  options.exempt_uid = config_.controller_uid;
  GW_TRY(listener, link::LinkServer::start(
                       loop_, *door_.auth_pool, options, [this](const auto& l) { on_link(l); },
                       [](const std::string& address, const base::Error& error) {
                         spdlog::warn("connection from {} refused: {}", address.empty() ? "anywhere" : address,
                                      error.text());
                       }));
  door_.listener = std::move(listener);
  spdlog::info("gctld {} of cluster {} serves at {}", GANGWAY_VERSION, config_.cluster,
               door_.listener->bound_address());
  return serve_metrics();
}

base::Status Server::serve_metrics() {
  if (config_.metrics_listen.empty()) return {};
  constexpr size_t kMostReaders = 64;
  http::ServerOptions options;
  options.address = config_.metrics_listen;
  options.max_body = 64 << 10;  // it is refused in words that fit
  options.max_connections = kMostReaders;
  options.patience = base::seconds(5);
  GW_TRY(http, http::Server::open(loop_, std::move(options),
                                  [this](const http::Request& request, const http::Answer& answer) {
                                    answer(metrics_answer(request));
                                  }));
  metrics_.http = std::move(http);
  metrics_.quotas = std::make_unique<QuotaWatch>(loop_, *planning_.scheduler);
  metrics_.quotas->look_again();
  spdlog::info("figures for monitoring at http://{}/metrics", metrics_.http->bound_address());
  return {};
}

/// Nobody is asked who he is: nothing secret is served, and nothing changed.
http::Response Server::metrics_answer(const http::Request& request) {
  const auto text = [](int status, std::string words) {
    return http::Response{status, "text/plain; charset=utf-8", std::make_shared<const std::string>(std::move(words))};
  };
  if (request.path != "/metrics") return text(404, "the figures are at /metrics\n");
  if (request.method != "GET") {
    http::Response out = text(405, "this is asked by GET\n");
    out.headers.emplace_back("Allow", "GET");
    return out;
  }
  http::Response out = text(200, metrics_text());
  out.type = "text/plain; version=0.0.4; charset=utf-8";
  return out;
}

/// Made at most once a second, however many ask.
const std::string& Server::metrics_text() {
  const base::Time now = clock_.now();
  if (!metrics_.text.empty() && now - metrics_.made < base::seconds(1)) return metrics_.text;
  const auto begun = std::chrono::steady_clock::now();
  Metrics m = core_->metrics(now);
  m.quotas = metrics_.quotas->latest();
  m.scrape = metrics_.took;
  for (const auto& [state, count] : m.nodes) metrics_.node_states.insert(state);
  for (const std::string& state : metrics_.node_states) m.nodes.try_emplace(state, 0);  // no series vanishes
  const PassReport report = planning_.scheduler->counts();
  m.passes = report.passes;
  m.steps = report.steps;
  m.cut_searches = report.cut_searches;
  m.last_pass = report.last;
  m.commits = keeping_.committer->commits();
  const io::Loop::Figures loop = loop_.figures();
  m.loop_busy = loop.busy;
  m.loop_cpu = loop.cpu;
  m.loop_longest = loop.longest;
  metrics_.made = now;
  metrics_.text = ctld::metrics_text(m);
  const auto took = std::chrono::steady_clock::now() - begun;
  metrics_.took = base::microseconds(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  return metrics_.text;
}

base::Time Server::read_clocks() {
  core_->set_lease_clock(base::boot_time_now());
  return clock_.now();
}

void Server::run() {
  loop_.run();
  spdlog::info("leaving; running jobs continue");
}

void Server::on_link(const std::shared_ptr<link::SecureLink>& link) {
  const uint64_t number = next_number_++;
  if (link->peer().role == auth::Role::kNode)
    on_node(number, link);
  else
    on_client(number, link);
}

void Server::handle_request(ConnId conn, Client& client, const Waiting& message) {
  const std::string_view bytes = message.bytes;
  auto received = wire::receive_request(bytes);
  if (!received && received.error().code == base::ErrorCode::kProtocol)
    return client.link->close(received.error().text());
  if (!received) return effects_.answer_error(conn, wire::request_id(bytes), received.error());
  wire::ApiRequest& request = *received;
  const uint32_t uid = client.link->peer().uid;
  // An administrator's ping tells what is wrong.
  if (const base::Status taken = held_.admit(uid); !taken && !request.has_ping())
    return effects_.answer_error(conn, request.id(), taken.error());
  if (request.has_submit()) request.mutable_submit()->clear_site_note();
  // One that was answered is answered again, without asking once more.
  const bool is_new = request.has_submit() && core_->clients().kept_replies.find(uid, request.client_id()) == nullptr;
  if (is_new && scripts_.submissions->is_on()) return ask_site(conn, client, std::move(request), message);
  take_request(conn, client, request, bytes.size());
}

void Server::ask_site(ConnId conn, Client& client, wire::ApiRequest request, const Waiting& message) {
  ++client.reads;
  const uint64_t id = request.id();
  scripts_.submissions->ask(
      client.caller, std::move(request),
      [this, conn, id, bytes = message.bytes.size(), charge = message.charge](base::Result<wire::ApiRequest> seen) {
        const auto it = queue_.clients.find(conn);
        if (it == queue_.clients.end()) return;  // it asks again by itself
        --it->second.reads;
        if (seen)
          take_request(conn, it->second, *seen, bytes);
        else
          effects_.answer_error(conn, id, seen.error(),
                                seen.error().code == base::ErrorCode::kUnavailable ? kAskAgain : base::Duration{});
        want_turn(conn, it->second);
      });
}

void Server::take_request(ConnId conn, Client& client, wire::ApiRequest& request, size_t bytes) {
  if (request.has_submit()) {
    // Named by their contents, so that nobody can refer to somebody else's script.
    wire::Launch& launch = *request.mutable_submit()->mutable_spec()->mutable_launch();
    launch.set_script_hash(content_hash(request.submit().script()));
    launch.set_env_hash(content_hash(request.submit().environment()));
    disk_.blobs->put(launch.script_hash(), request.submit().script());
    disk_.blobs->put(launch.env_hash(), request.submit().environment());
  }
  if (request.has_act_for()) {  // the secret goes no further
    request.mutable_act_for()->set_hash(auth::token_hash(request.act_for().token()));
    request.mutable_act_for()->clear_token();
  }
  // Who waits for the end of a job may be silent for days.
  if (request.has_wait_job()) client.link->set_idle_timeout(base::Duration{0});
  if (request.has_list_records()) client.awaited = request.id();  // a connection has one list at a time
  const Request size{client.link->peer().uid, bytes};
  const Caller caller = client.caller;
  const auto begun = std::chrono::steady_clock::now();
  const base::Time now = read_clocks();
  core_->on_request(now, conn, caller, request);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun);
  metrics_.requests.count(request.kind_case(), size.uid, base::microseconds(took.count()), now);
  pump(&size);
}

void Server::on_node(LinkId id, const std::shared_ptr<link::SecureLink>& link) {
  nodes_.links[id] = link;
  nodes_.newcomers.came(id, link);
  link->set_idle_timeout(base::Duration{0});  // the core watches its heartbeats
  link->on_message([this, id, who = link->peer()](std::string_view bytes) {
    auto received = wire::receive_node_message(bytes, core_->topologies());
    if (!received) {
      spdlog::warn("a message of the node at {} is refused: {}", who.host, received.error().text());
      CloseLink close{id, received.error().text()};
      return effects_.carry_out(close);
    }
    nodes_.newcomers.heard(id);
    const NodePeer peer{who.uid, who.host, std::move(received->topology)};
    core_->on_node_message(read_clocks(), id, peer, received->message);
    pump();
  });
  link->on_closed([this, id](const std::string& reason) {
    nodes_.links.erase(id);
    nodes_.newcomers.heard(id);
    core_->on_node_gone(read_clocks(), id, reason);
    pump();
  });
}

void Server::pump(const Request* request) {
  Effects effects = core_->take_effects_early();
  planning_.scheduler->feed(std::move(effects.deltas));
  std::vector<Outgoing> held;
  for (Outgoing& out : effects.out) {
    Reply* reply = std::get_if<Reply>(&out);
    Note* note = std::get_if<Note>(&out);
    ToNode* message = std::get_if<ToNode>(&out);
    if (reply != nullptr && reply->at_once)
      effects_.carry_out(*reply);
    else if (message != nullptr && message->at_once)
      effects_.carry_out(*message);
    else if (note != nullptr)
      effects_.carry_out(*note);
    else
      held.push_back(std::move(out));
  }
  HeldMemory::Charge charge;
  const bool owes = core_->has_coalesced_rows();
  if (request != nullptr && !(effects.writes.empty() && !owes && keeping_.committer->is_idle()))
    charge = held_.charge(request->uid, request->bytes + memory_of(held));
  keeping_.committer->add(std::move(effects.writes), std::move(held), std::move(charge), owes);
  rearm();
}

void Server::rearm() {
  const base::Time next = core_->timers().next();
  if (next == ticks_.at) return;
  ticks_.at = next;
  if (next == base::Time::never()) return ticks_.timer.cancel();
  const base::Duration wait = std::max(next - clock_.now(), base::Duration{0});
  ticks_.timer = loop_.after(std::min(wait, base::hours(1)), [this] {
    ticks_.at = base::Time::never();
    tick();
  });
}

/// While the loop was busy time has passed that is nobody's silence: what waits unread is heard first.
void Server::tick() {
  const base::Time now = read_clocks();
  for (const LinkId link : core_->silent_links(now))
    if (const auto it = nodes_.links.find(link); it != nodes_.links.end() && it->second->has_unread())
      core_->on_heard(now, link);
  std::optional<base::Time> heard_until;
  if (core_->looks_for_absent(now)) {
    const base::Duration here = io::Loop::monotonic();
    const link::LinkServer::Arrivals arrivals = nodes_.newcomers.arrivals(*door_.listener);
    heard_until = now - (here - arrivals.heard_until);
    if (arrivals.turned_away.us > 0) core_->on_turned_away(now - (here - arrivals.turned_away));
  }
  core_->on_tick(now, heard_until);
  pump();
}

void Server::release(std::vector<Outgoing> out) {
  for (Outgoing& effect : out) std::visit([this](auto& e) { effects_.carry_out(e); }, effect);
}

}  // namespace gw::ctld
