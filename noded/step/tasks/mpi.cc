// Sockets, and the process behind them.
#include "noded/step/tasks/mpi.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/hostlist.h"
#include "base/text.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/start/child.h"
#include "noded/step/state/listen_place.h"
#include "peer/local_user.h"

namespace gw::noded::step {
namespace {

using base::ErrorCode;
using base::Status;

constexpr char kProgram[] = "gpmixd";
constexpr int64_t kProbeLimit = 3'000'000;
constexpr unsigned kLongestProbe = 30;  // seconds; then it ends whatever holds it up
constexpr size_t kMaxProbe = 64 * 1024;
constexpr size_t kMaxSaid = 64 * 1024;
constexpr size_t kMaxText = 600;
constexpr base::Duration kPatience = base::seconds(2);  // with a helper that does not answer
constexpr base::Duration kRetry = base::milliseconds(100);
constexpr size_t kSecret = 32;
constexpr size_t kMaxName = 200;  // of libpmix: 255
constexpr uint32_t kMaxStepTasks = 1 << 20;
constexpr std::string_view kUri = ";tcp4://127.0.0.1:";
constexpr int kFirstSocket = STDERR_FILENO + 1;

std::string program_path() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string self = n > 0 ? std::string(path, static_cast<size_t>(n)) : "/usr/sbin/gstepd";
  return self.substr(0, self.rfind('/') + 1) + kProgram;
}

[[noreturn]] void print_environment(const std::string& program, int out) {
  ::alarm(kLongestProbe);
  ::dup2(out, STDOUT_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execl(program.c_str(), kProgram, "--environment", static_cast<char*>(nullptr));
  ::_exit(127);
}

/// All that comes until the other end closes, within the limit.
std::string read_all(int fd) {
  const int64_t until = monotonic_us() + kProbeLimit;
  std::string text;
  char bytes[4096];
  while (text.size() < kMaxProbe) {
    const int64_t left = (until - monotonic_us()) / 1000;
    pollfd watched{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&watched, 1, static_cast<int>(left)) <= 0) break;
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n <= 0) break;
    text.append(bytes, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

void MpiProbe::start() {
  const std::string program = program_path();
  auto pipe = make_pipe();
  if (!pipe || ::access(program.c_str(), X_OK) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) print_environment(program, pipe->write_end.get());
  report_ = std::move(pipe->read_end);
}

const MpiSupport& MpiProbe::result() {
  if (result_ && !report_) return *result_;
  MpiSupport& support = result_.emplace();
  support.program = program_path();
  if (pid_ <= 0) {
    support.problem = support.program + " is not there";
    return support;
  }
  for (const std::string& line : base::split(read_all(report_.get()), '\n'))
    if (line.find('=') != std::string::npos) support.environment.push_back(line);
  report_.reset();
  const auto has_port = [](const std::string& line) { return line.find(kUri) != std::string::npos; };
  if (std::any_of(support.environment.begin(), support.environment.end(), has_port)) return support;
  support.problem = support.program + " --environment fails";
  start();  // for who asks next: the machine may have been too busy
  return support;
}

Status check_pmix(const wire::PmixLaunch& pmix, uint32_t tasks) {
  if (pmix.secret().size() != kSecret) return base::invalid("the secret for PMIx is none");
  if (pmix.name().size() > kMaxName || base::printable(pmix.name()) != pmix.name())
    return base::invalid("the name for PMIx is none");
  const auto nodes = static_cast<uint32_t>(pmix.tasks_size());
  uint64_t all = 0;
  for (const uint32_t of_node : pmix.tasks()) all += of_node;
  if (pmix.self() >= nodes || pmix.tasks(static_cast<int>(pmix.self())) != tasks || all > kMaxStepTasks ||
      (!pmix.nodes_of().empty() && static_cast<uint64_t>(pmix.nodes_of_size()) != all))
    return base::invalid("what is said of the step's nodes for PMIx does not fit");
  GW_TRY(names, base::expand_hostlist(pmix.nodes(), nodes));
  if (names.size() != nodes)
    return base::invalid(std::to_string(names.size()) + " names of " + std::to_string(nodes) + " nodes for PMIx");
  return {};
}

Mpi::Mpi(io::Loop& loop, const wire::StepSpec& spec, Containment& contain, const MpiSupport& support,
         const std::string& hosts, Events events)
    : loop_(loop),
      spec_(spec),
      contain_(contain),
      support_(support),
      hosts_(hosts),
      events_(std::move(events)),
      decoder_(kMaxSaid) {}

Mpi::~Mpi() {
  if (stream_) stream_->on_closed({});
}

Status Mpi::open(const wire::PmixLaunch& pmix) {
  if (!support_.problem.empty())
    return base::fail(ErrorCode::kUnavailable, "PMIx: " + support_.problem, "--mpi=none runs programs without it");
  Sockets& sockets = sockets_.emplace();
  io::ListenOptions options;
  options.backlog = 1024;
  options.address = "127.0.0.1:0";
  GW_TRY(tasks, io::Listener::make_socket(options));
  sockets.tasks = std::move(tasks);
  port_ = io::local_address(sockets.tasks.get()).port();
  if (pmix.tasks_size() > 1) {
    options.address = listen_place(spec_.access());
    auto peers = io::Listener::make_socket(options);
    if (!peers) return tl::unexpected(name_ports_key(peers.error()));
    sockets.peers = std::move(*peers);
    address_ = io::local_address(sockets.peers.get()).text();
  }
  GW_TRY(names, base::expand_hostlist(pmix.nodes()));
  setup_.set_name(pmix.name().empty() ? "gangway." + std::to_string(spec_.job()) + "." +
                                            std::to_string(spec_.attempt()) + "." + spec_.step()
                                      : pmix.name());
  for (const std::string& name : names) setup_.add_nodes(name);
  *setup_.mutable_tasks() = pmix.tasks();
  setup_.set_is_cyclic(pmix.is_cyclic());
  setup_.set_plane(pmix.plane());
  *setup_.mutable_nodes_of() = pmix.nodes_of();
  setup_.set_self(pmix.self());
  setup_.set_secret(pmix.secret());
  return {};
}

std::string Mpi::address() const { return address_; }

void Mpi::add_variables(Environment& environment) const {
  for (const std::string& line : support_.environment) {
    const size_t at = line.find(kUri);
    environment.set(at == std::string::npos ? line : line.substr(0, at + kUri.size()) + std::to_string(port_));
  }
  environment.set("PMIX_NAMESPACE", setup_.name());
  environment.set("PMIX_HOSTNAME", setup_.nodes(static_cast<int>(setup_.self())));
}

Status Mpi::go(const wire::GoTasks& order) {
  if (setup_.nodes_size() > 1 && order.addresses_size() != setup_.nodes_size())
    return base::invalid(std::to_string(order.addresses_size()) + " addresses of the helpers of " +
                         std::to_string(setup_.nodes_size()) + " nodes");
  *setup_.mutable_addresses() = order.addresses();
  watch();
  return {};
}

void Mpi::watch() {
  sockets_->tasks_watch = loop_.watch_readable(sockets_->tasks.get(), [this] { on_task_connects(); });
  if (!sockets_->peers) return;
  peer::Identity identity;
  std::copy(setup_.secret().begin(), setup_.secret().end(), identity.secret.bytes.begin());
  identity.purpose = setup_.name();
  identity.self = setup_.self();
  identity.nodes = static_cast<uint32_t>(setup_.nodes_size());
  sockets_->door.emplace(loop_, sockets_->peers.get(), std::move(identity), [this] { on_peer_connects(); });
}

// One at a time: whoever comes in crowds does not keep the loop from its other work.
void Mpi::on_task_connects() {
  io::Fd fd(::accept4(sockets_->tasks.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)) return;
  if (!fd) {
    sockets_->tasks_watch.pause();  // there are no more descriptors
    sockets_->tasks_retry = loop_.after(kRetry, [this] { sockets_->tasks_watch.resume(); });
    return;
  }
  const auto user = peer::user_at_other_end(fd.get());
  if (!user || *user != spec_.uid()) return;
  sockets_->first = std::move(fd);
  if (const Status started = start(); !started) events_.end("PMIx: " + started.error().text());
}

// No own task has come yet, so a step without MPI may be all there is: it does not end for want of a helper.
void Mpi::on_peer_connects() {
  if (!start()) sockets_->peers_retry = loop_.after(kRetry, [this] { on_peer_connects(); });
}

Status Mpi::start() {
  GW_TRY_STATUS(fork_helper());
  sockets_.reset();
  wire::ToPmix message;
  *message.mutable_setup() = std::move(setup_);
  send(message);
  return {};
}

Status Mpi::fork_helper() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return base::fail_errno("a socket pair", errno);
  io::Fd ours(ends[0]), theirs(ends[1]);
  const Forked forked = fork_into(contain_.clone_into_fd());
  if (forked.pid < 0) return base::fail_errno("forking the helper", errno);
  if (forked.pid == 0) become_helper(theirs.get(), forked.cloned_into);
  helper_ = forked.pid;
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(theirs.get(), F_SETFL, O_NONBLOCK);
  stream_ = io::Stream::adopt(loop_, std::move(ours));
  stream_->on_data([this](std::string_view bytes) { on_bytes(bytes); });
  return {};
}

// Its sockets lie at 3 and up; copies above keep one from being overwritten by another on the way there. The program is
// found before it becomes the job's user, who may not pass the folders above it.
void Mpi::become_helper(int socket, bool cloned_into) {
  int program = ::open(support_.program.c_str(), O_PATH | O_CLOEXEC);
  const auto entered = enter_step(spec_, contain_, {hosts_, 077}, cloned_into, [](const std::string&) {});
  if (!entered || ::chdir("/") != 0) ::_exit(EXIT_FAILURE);
  std::vector<int> sockets{socket, sockets_->tasks.get(), sockets_->peers.get(), sockets_->first.get()};
  if (sockets_->door)
    for (const int fd : sockets_->door->hand_over()) sockets.push_back(fd);
  const int end = kFirstSocket + static_cast<int>(sockets.size());
  for (int& fd : sockets)
    if (fd >= 0) fd = ::fcntl(fd, F_DUPFD, end + 1);
  program = ::fcntl(program, F_DUPFD, end + 1);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  for (int at = kFirstSocket; const int fd : sockets) {
    fd >= 0 ? ::dup2(fd, at) : ::close(at);
    ++at;
  }
  ::dup3(program, end, O_CLOEXEC);
  ::close_range(static_cast<unsigned>(end) + 1, ~0U, 0);
  char name[] = "gpmixd", option[] = "--step";
  char* const words[] = {name, option, nullptr};
  char* const environment[] = {nullptr};
  ::execveat(end, "", words, environment, AT_EMPTY_PATH);
  ::_exit(127);
}

void Mpi::on_bytes(std::string_view bytes) {
  decoder_.feed(bytes);
  for (;;) {
    const auto frame = decoder_.next();
    if (frame && !*frame) return;
    wire::FromPmix message;
    if (!frame || !message.ParseFromString(**frame)) {
      stream_->close("unreadable");
      return events_.end("PMIx: the helper says what cannot be read");
    }
    if (message.has_failed()) on_answer();
    if (message.has_fault()) events_.end(base::printable(message.fault().text(), kMaxText));
    if (message.has_fault() && is_asked()) stop_asking();
    if (message.has_abort()) events_.abort(message.abort().rank(), base::printable(message.abort().text(), kMaxText));
  }
}

void Mpi::send(const wire::ToPmix& message) {
  if (!stream_ || stream_->is_closed()) return;
  std::string out;
  wire::append_frame(out, message.SerializeAsString());
  stream_->send(out);
}

bool Mpi::on_child(pid_t pid, int status) {
  if (helper_ == 0 || pid != helper_) return false;
  helper_ = -1;
  if (is_asked()) stop_asking();
  if (is_over_) return true;
  const std::string how = WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                                              : "ended with code " + std::to_string(WEXITSTATUS(status));
  events_.end("PMIx: the helper (" + std::string(kProgram) + ") " + how);
  return true;
}

void Mpi::on_task_failed(uint32_t rank) {
  if (helper_ == 0) return setup_.add_failed(rank);
  if (!stream_ || stream_->is_closed()) return;
  ++questions_;
  patience_ = loop_.after(kPatience, [this] { stop_asking(); });
  wire::ToPmix message;
  message.mutable_failed()->set_rank(rank);
  send(message);
}

void Mpi::on_answer() {
  if (questions_ > 0 && --questions_ == 0) stop_asking();
}

void Mpi::stop_asking() {
  questions_ = 0;
  patience_.cancel();
  if (is_over_) close();
  events_.answered();
}

void Mpi::spread_end(const std::string& why) {
  wire::ToPmix message;
  message.mutable_ending()->set_text(why.substr(0, kMaxText));
  send(message);
}

void Mpi::close() {
  is_over_ = true;
  if (is_asked() || std::exchange(is_closed_, true)) return;
  sockets_.reset();
  if (stream_) stream_->close_after_flush("over");
}

}  // namespace gw::noded::step
