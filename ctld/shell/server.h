// The controller's shell: sockets, threads, store and clock around the core. It turns what arrives into on_x() calls
// and carries out the effects, those that show state only after that state is durable. Invariant: the core is touched
// by the loop's thread alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "auth/munge.h"
#include "base/time.h"
#include "config/config.h"
#include "ctld/core/controller.h"
#include "ctld/shell/backups.h"
#include "ctld/shell/blobs.h"
#include "ctld/shell/committer.h"
#include "ctld/shell/scheduler_thread.h"
#include "ctld/shell/snapshots.h"
#include "ctld/shell/steady_clock.h"
#include "ctld/shell/ticket_key.h"
#include "ctld/shell/user_directory.h"
#include "io/http.h"
#include "io/loop.h"
#include "link/link_server.h"

namespace gw::ctld {

class Server {
 public:
  /// Opens the store, recovers and listens. Errors are fit for the administrator.
  static base::Result<std::unique_ptr<Server>> start(config::Config config);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves until SIGTERM or SIGINT.
  void run();
  uint16_t port() const { return listener_->bound_port(); }

 private:
  struct Waiting {
    std::string bytes;
    HeldMemory::Charge charge;
  };
  struct Client {
    std::shared_ptr<link::SecureLink> link;
    Caller caller;
    bool is_known = false;         // names were looked up
    std::vector<Waiting> waiting;  // messages until then
  };

  config::Config config_;
  SteadyClock clock_;
  io::Loop loop_;
  auth::MungeAuthenticator authenticator_;
  HeldMemory held_{HeldMemory::Limits{}};
  std::unique_ptr<store::Reader> reader_;
  std::unique_ptr<Blobs> blobs_;
  std::optional<auth::SigningKey> ticket_key_;
  std::unique_ptr<Controller> core_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<Backups> backups_;
  std::unique_ptr<SchedulerThread> scheduler_;
  std::unique_ptr<Snapshots> snapshots_;
  std::unique_ptr<UserDirectory> users_;
  std::unique_ptr<link::AuthPool> auth_pool_;
  std::unique_ptr<link::LinkServer> listener_;
  std::unique_ptr<io::HttpServer> http_;
  std::string metrics_text_;  // as last made
  base::Time metrics_made_;
  std::unordered_map<ConnId, Client> clients_;
  std::unordered_map<LinkId, std::shared_ptr<link::SecureLink>> nodes_;
  uint64_t next_number_ = 1;
  io::Timer tick_, trim_;
  base::Time tick_at_ = base::Time::never();
  std::vector<std::thread> helpers_;  // fencing programs
  std::set<std::string> fencing_;     // nodes that one runs for

  explicit Server(config::Config config);
  base::Status open_store();
  base::Status listen();
  base::Status serve_metrics();
  const std::string& metrics_text();
  void warn_about_munge() const;

  void on_link(const std::shared_ptr<link::SecureLink>& link);
  void on_client(ConnId conn, const std::shared_ptr<link::SecureLink>& link);
  void on_node(LinkId id, const std::shared_ptr<link::SecureLink>& link);
  void on_client_message(ConnId conn, std::string_view bytes);
  void on_known(ConnId conn, const base::Result<Caller>& caller);
  void handle_request(ConnId conn, Client& client, std::string_view bytes);

  /// What a request counts for while its effects are held.
  struct Request {
    uint32_t uid = 0;
    size_t bytes = 0;
  };
  /// Fetches the core's effects and sets them on their way; to be called after every on_x(), with the request that it
  /// was about, if any.
  void pump(const Request* request = nullptr);
  void rearm();
  void release(std::vector<Outgoing> out);
  void carry_out(Reply& reply);
  void carry_out(ToNode& message);
  void fail_prepare(const ToNode& message, const base::Error& why, bool is_final);
  void carry_out(CloseLink& close);
  void carry_out(ReadJob& read);
  void carry_out(SignTicket& ticket);
  void carry_out(MakeBackup& backup);
  void carry_out(TakeSnapshot& take);
  void carry_out(AskScheduler& ask);
  void carry_out(Fence& fence);
  void carry_out(Reload& reload);
  void carry_out(Note& note);
  base::Status complete(ReadJob& read);
  void answer_error(ConnId conn, uint64_t request_id, const base::Error& error);
};

}  // namespace gw::ctld
