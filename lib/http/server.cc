// See server.h. Only this file knows libmicrohttpd. Its daemon has no thread: the loop watches its epoll descriptor.
#include "http/server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include <cstdarg>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "io/listener.h"

namespace gw::http {
namespace {

constexpr size_t kHeadBytes = 32 << 10;  // of a connection: its head, and what is being sent
std::shared_ptr<const std::string> text_of(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

/// {"error": ...} for what goes wrong before a handler sees the request.
Response refusal(int status, const std::string& code, const std::string& message) {
  return {status, "application/json",
          text_of(fmt::format(R"({{"error":{{"code":"{}","message":"{}","hint":""}}}})"
                              "\n",
                              code, message))};
}

bool has_zero(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace

/// What the library says of a request, until it is over.
struct Visit {
  Request request;
  std::optional<Response> response;
  bool has_zero_byte = false;
  bool is_handled = false;    // the handler was called
  bool is_suspended = false;  // the library waits for us
  bool is_over = false;       // nobody waits for an answer
};

struct Server::Impl {
  struct Connection {
    int fd = -1;
    base::Duration since = {};   // when it began to be silent
    bool is_closing = false;     // it was told to go, and is not gone yet
    bool is_busy = false;        // a whole request has come, whose answer is not sent yet
    bool has_zero_byte = false;  // in what it asks for now: the library takes it for the end of the path
  };

  io::Loop& loop;
  ServerOptions options;
  Handler handler;
  MHD_Daemon* daemon = nullptr;
  std::string address, trouble;
  std::map<MHD_Connection*, Connection> connections;
  std::map<Visit*, MHD_Connection*> suspended;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  bool is_run_due = false;
  io::Watch watch;
  io::Timer next_run, next_look;

  Impl(io::Loop& l, ServerOptions o, Handler h) : loop(l), options(std::move(o)), handler(std::move(h)) {}

  base::Status start();
  void run();
  void run_soon();
  void look();
  void resume(Visit& visit);
  void handle(MHD_Connection* connection, const std::shared_ptr<Visit>& visit);
  MHD_Result refuse_early(MHD_Connection* connection, const std::shared_ptr<Visit>& visit, bool* is_refused);
  MHD_Result queue(MHD_Connection* connection, const std::shared_ptr<Visit>& visit);
  void make_room(const MHD_Connection* newest);

  static MHD_Result on_access(void* self, MHD_Connection* connection, const char* url, const char* method,
                              const char* version, const char* data, size_t* size, void** state);
  static void on_completed(void* self, MHD_Connection* connection, void** state, MHD_RequestTerminationCode why);
  static void on_connection(void* self, MHD_Connection* connection, void** state, MHD_ConnectionNotificationCode code);
  static void* on_target(void* self, const char* target, MHD_Connection* connection);
  static void on_log(void* self, const char* format, va_list arguments);
};

namespace {

MHD_Result take_header(void* visit, MHD_ValueKind /*kind*/, const char* key, size_t key_size, const char* value,
                       size_t size) {
  Visit& v = *static_cast<Visit*>(visit);
  const std::string_view text(value == nullptr ? "" : value, value == nullptr ? 0 : size);
  const std::string name = base::to_lower(std::string_view(key, key_size));
  v.has_zero_byte |= has_zero(text) || has_zero(name);
  const auto [it, is_new] = v.request.headers.try_emplace(name, text);
  if (!is_new) it->second.append(", ").append(text);
  return MHD_YES;
}

MHD_Result take_argument(void* visit, MHD_ValueKind /*kind*/, const char* key, size_t key_size, const char* value,
                         size_t size) {
  Visit& v = *static_cast<Visit*>(visit);
  const std::string_view text(value == nullptr ? "" : value, value == nullptr ? 0 : size);
  const std::string_view name(key, key_size);
  v.has_zero_byte |= has_zero(text) || has_zero(name);
  v.request.query[std::string(name)] = text;
  return MHD_YES;
}

std::string host_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? "" : io::peer_address(info->connect_fd).host();
}

/// Proxies ask by the whole address: http://host/path.
std::string path_of(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (base::to_lower(target.substr(0, kScheme.size())) != kScheme) return std::string(target);
  const size_t path = target.find('/', kScheme.size());
  return path == std::string_view::npos ? "/" : std::string(target.substr(path));
}

void begin(Visit& visit, MHD_Connection* connection, const char* url, const char* method) {
  visit.request.method = std::string_view(method) == "HEAD" ? "GET" : method;
  visit.request.path = path_of(url);
  visit.request.from = host_of(connection);
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, &take_header, &visit);
  MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, &take_argument, &visit);
}

/// A stream, and how it is woken.
struct StreamHold {
  std::shared_ptr<EventStream> stream;
  std::shared_ptr<Visit> visit;
  std::function<void()> suspend;
};

ssize_t read_stream(void* held, uint64_t /*at*/, char* to, size_t room) {
  StreamHold& hold = *static_cast<StreamHold*>(held);
  if (hold.stream->is_gone()) return MHD_CONTENT_READER_END_WITH_ERROR;
  const size_t count = hold.stream->take(to, room);
  if (count == 0) hold.suspend();
  return static_cast<ssize_t>(count);
}

void drop_stream(void* held) {
  const std::unique_ptr<StreamHold> hold(static_cast<StreamHold*>(held));
  hold->stream->on_woken({});
  hold->stream->give_up();
}

void drop_body(void* held) { delete static_cast<std::shared_ptr<const std::string>*>(held); }

MHD_Response* body_response(const std::shared_ptr<const std::string>& body) {
  auto held = std::make_unique<std::shared_ptr<const std::string>>(body ? body : text_of(""));
  // The library only reads it.
  char* data = const_cast<char*>((*held)->data());
  MHD_Response* made =
      MHD_create_response_from_buffer_with_free_callback_cls((*held)->size(), data, &drop_body, held.get());
  if (made != nullptr) (void)held.release();
  return made;
}

}  // namespace

void Server::Impl::resume(Visit& visit) {
  if (!std::exchange(visit.is_suspended, false)) return;
  const auto it = suspended.find(&visit);
  MHD_resume_connection(it->second);
  suspended.erase(it);
  run_soon();
}

void Server::Impl::run_soon() {
  if (std::exchange(is_run_due, true)) return;
  loop.defer([this, here = alive] {
    if (*here) run();
  });
}

void Server::Impl::run() {
  is_run_due = false;
  MHD_run(daemon);
  MHD_UNSIGNED_LONG_LONG wait = 0;
  if (MHD_get_timeout(daemon, &wait) != MHD_YES) return next_run.cancel();
  next_run = loop.after(base::milliseconds(static_cast<int64_t>(std::min<uint64_t>(wait, 60'000))), [this] { run(); });
}

/// Who sends a byte now and then is silent all the same.
void Server::Impl::look() {
  const base::Duration now = io::Loop::monotonic();
  for (auto& [connection, c] : connections)
    if (!c.is_busy && now - c.since > options.patience) ::shutdown(c.fd, SHUT_RDWR);
  next_look = loop.after(std::max(base::Duration{options.patience.us / 4}, base::milliseconds(1)), [this] { look(); });
}

/// The library accepts no more while too many are there: those that go are closed at once.
void Server::Impl::make_room(const MHD_Connection* newest) {
  Connection* oldest = nullptr;
  size_t staying = 0;
  const auto is_before = [](const Connection& a, const Connection& b) {
    return a.is_busy != b.is_busy ? !a.is_busy : a.since < b.since;
  };
  for (auto& [connection, c] : connections) {
    if (c.is_closing) continue;
    ++staying;
    if (connection != newest && (oldest == nullptr || is_before(c, *oldest))) oldest = &c;
  }
  if (staying <= options.max_connections || oldest == nullptr) return;
  oldest->is_closing = true;
  ::shutdown(oldest->fd, SHUT_RDWR);
}

void Server::Impl::on_connection(void* self, MHD_Connection* connection, void** /*state*/,
                                 MHD_ConnectionNotificationCode code) {
  Impl& impl = *static_cast<Impl*>(self);
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    impl.connections.erase(connection);
    return;
  }
  const int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  io::tune_socket(fd);
  impl.connections[connection] = {.fd = fd, .since = io::Loop::monotonic()};
  impl.make_room(connection);
}

void* Server::Impl::on_target(void* self, const char* target, MHD_Connection* connection) {
  static_cast<Impl*>(self)->connections[connection].has_zero_byte =
      std::string_view(target).find("%00") != std::string_view::npos;
  return nullptr;
}

void Server::Impl::on_completed(void* self, MHD_Connection* connection, void** state,
                                MHD_RequestTerminationCode /*why*/) {
  Impl& impl = *static_cast<Impl*>(self);
  const std::unique_ptr<std::shared_ptr<Visit>> visit(static_cast<std::shared_ptr<Visit>*>(*state));
  *state = nullptr;
  if (visit != nullptr) {
    (*visit)->is_over = true;
    impl.suspended.erase(visit->get());
  }
  if (const auto it = impl.connections.find(connection); it != impl.connections.end())
    it->second = {.fd = it->second.fd, .since = io::Loop::monotonic(), .is_closing = it->second.is_closing};
}

void Server::Impl::on_log(void* self, const char* format, va_list arguments) {
  Impl& impl = *static_cast<Impl*>(self);
  char text[500];
  std::vsnprintf(text, sizeof text, format, arguments);
  impl.trouble = base::printable(base::trim(text), sizeof text);
  if (impl.daemon != nullptr && impl.options.on_trouble) impl.options.on_trouble(impl.trouble);
}

/// What is refused before its body has come.
MHD_Result Server::Impl::refuse_early(MHD_Connection* connection, const std::shared_ptr<Visit>& visit,
                                      bool* is_refused) {
  const Request& r = visit->request;
  const auto length = base::parse_int(r.header("content-length").empty() ? "0" : r.header("content-length"), 0,
                                      INT64_MAX, "content-length");
  *is_refused = true;
  if (!r.header("transfer-encoding").empty())
    visit->response = refusal(411, "length_required", "say how long the body is (Content-Length)");
  else if (!length)
    visit->response = refusal(400, "bad_request", "Content-Length is no number");
  else if (static_cast<uint64_t>(*length) > options.max_body)
    visit->response = refusal(413, "too_large", fmt::format("a body has at most {} bytes", options.max_body));
  else
    *is_refused = false;
  return *is_refused ? queue(connection, visit) : MHD_YES;
}

MHD_Result Server::Impl::queue(MHD_Connection* connection, const std::shared_ptr<Visit>& visit) {
  visit->is_handled = true;
  const Response& answer = *visit->response;
  MHD_Response* made = nullptr;
  if (answer.stream != nullptr) {
    auto hold = std::make_unique<StreamHold>();
    hold->stream = answer.stream;
    hold->visit = visit;
    hold->suspend = [this, connection, v = visit.get()] {
      v->is_suspended = true;
      suspended[v] = connection;
      MHD_suspend_connection(connection);
    };
    answer.stream->on_woken([this, here = alive, weak = std::weak_ptr(visit)] {
      if (const auto there = weak.lock(); *here && there) resume(*there);
    });
    constexpr size_t kBlock = 16 << 10;
    made = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kBlock, &read_stream, hold.get(), &drop_stream);
    if (made != nullptr) (void)hold.release();
  } else {
    made = body_response(answer.body);
  }
  if (made == nullptr) return MHD_NO;
  MHD_add_response_header(made, "Content-Type", answer.type.c_str());
  for (const auto& [name, value] : answer.headers) MHD_add_response_header(made, name.c_str(), value.c_str());
  const MHD_Result done = MHD_queue_response(connection, static_cast<unsigned>(answer.status), made);
  MHD_destroy_response(made);
  return done;
}

void Server::Impl::handle(MHD_Connection* connection, const std::shared_ptr<Visit>& visit) {
  visit->is_handled = true;
  connections[connection].is_busy = true;
  if (visit->has_zero_byte) {
    visit->response = refusal(400, "bad_request", "a byte 0 in the request");
    return;
  }
  const Answer answer = [this, here = alive, visit](Response response) {
    if (visit->is_over || visit->response) return;
    visit->response = std::move(response);
    if (*here) resume(*visit);
  };
  try {
    handler(visit->request, answer);
  } catch (const std::exception& e) {
    if (options.on_trouble) options.on_trouble(fmt::format("{}: {}", visit->request.path, e.what()));
    if (!visit->response) visit->response = refusal(500, "internal", "the server failed; its log says how");
  }
}

MHD_Result Server::Impl::on_access(void* self, MHD_Connection* connection, const char* url, const char* method,
                                   const char* /*version*/, const char* data, size_t* size, void** state) {
  Impl& impl = *static_cast<Impl*>(self);
  if (*state == nullptr) {
    const auto visit = std::make_shared<Visit>();
    visit->has_zero_byte = impl.connections[connection].has_zero_byte;
    *state = new std::shared_ptr<Visit>(visit);
    begin(*visit, connection, url, method);
    bool is_refused = false;
    return impl.refuse_early(connection, visit, &is_refused);
  }
  const std::shared_ptr<Visit> visit = *static_cast<std::shared_ptr<Visit>*>(*state);
  if (*size > 0) {
    if (visit->request.body.size() + *size > impl.options.max_body) return MHD_NO;
    visit->request.body.append(data, *size);
    *size = 0;
    return MHD_YES;
  }
  if (!visit->is_handled) impl.handle(connection, visit);
  if (visit->response) return impl.queue(connection, visit);
  visit->is_suspended = true;
  impl.suspended[visit.get()] = connection;
  MHD_suspend_connection(connection);
  return MHD_YES;
}

base::Status Server::Impl::start() {
  io::Fd socket = std::move(options.socket);
  if (!socket) {
    io::ListenOptions listening;
    listening.address = options.address;
    GW_TRY(made, io::Listener::make_socket(listening));
    socket = std::move(made);
  }
  address = io::local_address(socket.get()).text();
  const bool is_tls = !options.certificate.empty();
  unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  std::vector<MHD_OptionItem> items;
  std::string versions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
  if (is_tls) {
    flags |= MHD_USE_TLS;
    items.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, options.certificate.data()});
    items.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, options.key.data()});
    items.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, versions.data()});
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  const auto patience = static_cast<unsigned>(std::max<int64_t>(1, options.patience.us / 1'000'000));
  const auto most = static_cast<unsigned>(options.max_connections + options.max_connections / 8 + 8);
  daemon = MHD_start_daemon(flags, 0, nullptr, nullptr, &on_access, this, MHD_OPTION_EXTERNAL_LOGGER, &on_log, this,
                            MHD_OPTION_LISTEN_SOCKET, socket.get(), MHD_OPTION_CONNECTION_TIMEOUT, patience,
                            MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kHeadBytes,
                            MHD_OPTION_URI_LOG_CALLBACK, &on_target, this, MHD_OPTION_NOTIFY_COMPLETED, &on_completed,
                            this, MHD_OPTION_NOTIFY_CONNECTION, &on_connection, this, MHD_OPTION_SIGPIPE_HANDLED_BY_APP,
                            1, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, items.data(), MHD_OPTION_END);
  if (daemon == nullptr)
    return base::invalid("the HTTP server does not start: " + (trouble.empty() ? "no reason is told" : trouble),
                         is_tls ? "are certificate and key PEM files that belong together?" : "");
  (void)socket.release();  // the library closes it
  const int epoll = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  watch = loop.watch_readable(epoll, [this] { run(); });
  look();
  return {};
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  if (impl_->daemon == nullptr) return;
  *impl_->alive = false;
  impl_->watch.cancel();  // before the library closes what it watches
  for (const auto& [visit, connection] : impl_->suspended) {
    visit->is_suspended = false;
    MHD_resume_connection(connection);
  }
  impl_->suspended.clear();
  MHD_stop_daemon(impl_->daemon);
}

base::Result<std::unique_ptr<Server>> Server::open(io::Loop& loop, ServerOptions options, Handler handler) {
  auto impl = std::make_unique<Impl>(loop, std::move(options), std::move(handler));
  GW_TRY_STATUS(impl->start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::bound_address() const { return impl_->address; }
size_t Server::connection_count() const { return impl_->connections.size(); }

}  // namespace gw::http
