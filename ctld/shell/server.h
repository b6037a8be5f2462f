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
#include <unordered_map>
#include <vector>

#include "auth/munge.h"
#include "base/boot_time.h"
#include "base/time.h"
#include "config/config.h"
#include "ctld/core/controller.h"
#include "ctld/shell/backups.h"
#include "ctld/shell/blobs.h"
#include "ctld/shell/client.h"
#include "ctld/shell/committer.h"
#include "ctld/shell/forecasts/asked_forecasts.h"
#include "ctld/shell/forecasts/start_forecaster.h"
#include "ctld/shell/log_budget.h"
#include "ctld/shell/newcomers.h"
#include "ctld/shell/questions.h"
#include "ctld/shell/quota_watch.h"
#include "ctld/shell/record_retention.h"
#include "ctld/shell/record_sum.h"
#include "ctld/shell/request_figures.h"
#include "ctld/shell/round_robin.h"
#include "ctld/shell/scheduler_thread.h"
#include "ctld/shell/scripts/job_programs.h"
#include "ctld/shell/scripts/mails.h"
#include "ctld/shell/scripts/submit_hook.h"
#include "ctld/shell/snapshots.h"
#include "ctld/shell/ticket_key.h"
#include "ctld/shell/user_directory.h"
#include "ctld/shell/worker.h"
#include "http/server.h"
#include "io/loop.h"
#include "io/steady_clock.h"
#include "link/link_server.h"
#include "program/program_pool.h"
#include "program/system_log.h"

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
  uint16_t port() const { return door_.listener->bound_port(); }

 private:
  /// Carries the core's effects out (carry_out.cc), with all that the server has.
  class EffectRunner {
   public:
    explicit EffectRunner(Server& server) : server_(server) {}
    void carry_out(Reply& reply);
    void carry_out(ToNode& message);
    void carry_out(CloseLink& close);
    void carry_out(const ListReady& ready);
    void carry_out(ReadStored& read);
    void carry_out(FetchEnded& fetch);
    void carry_out(ReadRecords& read);
    void carry_out(SumRecords& sum);
    void carry_out(SignTicket& ticket);
    void carry_out(MakeBackup& backup);
    void carry_out(ActFor& act);
    void carry_out(TakeSnapshot& take);
    void carry_out(AskScheduler& ask);
    void carry_out(AskOutlooks& ask);
    void carry_out(ShowFigures& show);
    void carry_out(Fence& fence);
    void carry_out(RunJobProgram& run);
    void carry_out(SendMail& mail);
    void carry_out(Reload& reload);
    void carry_out(SetLogLevel& set);
    void carry_out(Audited& audited);
    void carry_out(Note& note);
    void answer_error(ConnId conn, uint64_t request_id, const base::Error& error, base::Duration retry_after = {});
    /// The next piece of the list of records that the connection has under way.
    void read_records(ConnId conn, Client& client);

   private:
    Server& server_;
    LogBudget log_;
    program::SystemLog audit_{"gctld"};
    RequestRate audit_rate_;
    std::map<uint32_t, uint64_t> audit_left_out_;  // by uid, since the last line that was written

    void keep_private(const Caller& caller, Reply& reply);
    static void put_launch(ToNode& message, const std::string& script, const std::string& environment);
    void fetch_launch(const ToNode& message);
    void send_to(link::SecureLink& link, const ToNode& message);
    void fail_prepare(const ToNode& message, const base::Error& why, bool is_final);
    void answer_read(ReadStored& read, const base::Status& done);
    void take_ended(const FetchEnded& fetch, base::Result<store::JobRow> row);
    void sum_on(ConnId conn, const std::shared_ptr<RecordSum>& sum);
    void answer_records(ConnId conn, const RecordList& list, base::Result<std::string> piece);
    void reconfigure(const Reload& reload, config::Config fresh, Settings settings);
  };

  /// The database that is read, and the threads that read it and the configuration.
  struct Disk {
    std::unique_ptr<store::Reader> reader;         ///< Of the thread `reading`.
    std::unique_ptr<store::RecordReader> records;  ///< Of the thread `accounting`.
    std::unique_ptr<Worker> reading;               ///< The database.
    std::unique_ptr<Worker> accounting;            ///< The database, where it may take long.
    std::unique_ptr<Worker> loading;               ///< The configuration.
    std::unique_ptr<Blobs> blobs;
  };
  /// What becomes durable, and what is kept of it.
  struct Keeping {
    std::unique_ptr<Committer> committer;
    std::unique_ptr<Backups> backups;
    std::unique_ptr<RecordRetention> retention;
  };
  struct Planning {
    std::unique_ptr<SchedulerThread> scheduler;
    std::unique_ptr<Snapshots> snapshots;
    std::unique_ptr<Questions> questions;
    std::unique_ptr<StartForecaster> forecaster;
    std::unique_ptr<AskedForecasts> asked_forecasts;
  };
  /// Where everybody connects.
  struct Door {
    std::unique_ptr<link::AuthPool> auth_pool;
    std::unique_ptr<link::LinkServer> listener;
  };
  struct MetricsPage {
    std::unique_ptr<http::Server> http;
    std::unique_ptr<QuotaWatch> quotas;  ///< Null: nobody may ask.
    std::string text;                    ///< As last made.
    base::Time made;
    base::Duration took = {};  ///< To make it.
    /// Those that nodes have had, and the usual ones.
    std::set<std::string> node_states = {"idle", "mixed", "allocated", "completing", "down", "down*", "idle+drain"};
    RequestFigures requests;
  };
  /// Clients, and whose request is next.
  struct RequestQueue {
    std::unordered_map<ConnId, Client> clients;
    RoundRobin turns;
    bool is_serving = false;
  };
  struct Nodes {
    std::unordered_map<LinkId, std::shared_ptr<link::SecureLink>> links;
    Newcomers newcomers;
  };
  struct Ticks {
    io::Timer timer;
    base::Time at = base::Time::never();
  };
  struct Fencing {
    program::ProgramPool programs;
    std::set<std::string> under_way;  ///< Nodes that a program runs for, or is to.
  };

  /// What gscriptd does for us.
  struct Scripts {
    std::unique_ptr<Mails> mails;
    std::unique_ptr<SubmitHook> submissions;
    std::unique_ptr<JobPrograms> jobs;
  };

  config::Config config_;
  io::SteadyClock clock_;
  io::Loop loop_;
  auth::MungeAuthenticator authenticator_;
  HeldMemory held_{HeldMemory::Limits{}};
  Disk disk_;
  std::optional<auth::SigningKey> ticket_key_;
  std::unique_ptr<Controller> core_;
  Keeping keeping_;
  Planning planning_;
  std::unique_ptr<UserDirectory> users_;
  Door door_;
  MetricsPage metrics_;
  RequestQueue queue_;
  Nodes nodes_;
  uint64_t next_number_ = 1;  // of a connection
  Ticks ticks_;
  Fencing fencing_;
  Scripts scripts_;
  EffectRunner effects_{*this};

  explicit Server(config::Config config);
  base::Status open_store();
  void start_planning();
  /// The time for a call of the core, which is told the other clock.
  base::Time read_clocks();
  base::Status listen();
  base::Status serve_metrics();
  http::Response metrics_answer(const http::Request& request);
  const std::string& metrics_text();

  void on_link(const std::shared_ptr<link::SecureLink>& link);
  void on_client(ConnId conn, const std::shared_ptr<link::SecureLink>& link);
  void on_node(LinkId id, const std::shared_ptr<link::SecureLink>& link);
  void handle_request(ConnId conn, Client& client, const Waiting& message);
  /// The core's turn.
  void take_request(ConnId conn, Client& client, wire::ApiRequest& request, size_t bytes);
  /// The site's program looks at the submission first; other requests of the connection wait.
  void ask_site(ConnId conn, Client& client, wire::ApiRequest request, const Waiting& message);
  // serve_clients.cc
  void on_client_message(ConnId conn, std::string_view bytes);
  void on_client_drained(ConnId conn);
  void on_known(ConnId conn, const base::Result<Caller>& caller);
  void want_turn(ConnId conn, const Client& client);
  void serve();
  void serve_one(ConnId conn);

  /// What a request counts for while its effects are held.
  struct Request {
    uint32_t uid = 0;
    size_t bytes = 0;
  };
  /// Fetches the core's effects and sets them on their way; to be called after every on_x(), with the request that it
  /// was about, if any.
  void pump(const Request* request = nullptr);
  void rearm();
  void tick();
  void release(std::vector<Outgoing> out);
};

}  // namespace gw::ctld
