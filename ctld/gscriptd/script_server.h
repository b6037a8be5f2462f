// Serves the controller: runs the programs of the configuration for it, off the loop, and says how each ended.
// Invariants: who connects is the controller's user, since nobody else can open the socket; at most kMostWaiting
// programs run or wait, and what is asked for beyond that is refused; what a connection says that breaks the form ends
// it alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "config/config.h"
#include "io/listener.h"
#include "io/loop.h"
#include "io/stream.h"
#include "program/program_pool.h"
#include "program/run_program.h"
#include "wire/frame.h"
#include "wire/script.pb.h"

namespace gw::ctld {

class ScriptServer {
 public:
  static constexpr size_t kMostWaiting = 512;
  static constexpr size_t kMostOfJobs = 128;  ///< Prologs and epilogs at once.

  explicit ScriptServer(config::Config config);
  /// Listens at config::script_socket(). Errors: somebody serves there already; the folder is not there.
  base::Status listen();
  /// Serves until SIGTERM or SIGINT.
  void run();

 private:
  struct Connection {
    std::shared_ptr<io::Stream> stream;
    wire::FrameDecoder decoder;
  };

  io::Loop loop_;
  config::Config config_;
  std::unique_ptr<io::Listener> listener_;
  std::map<uint64_t, Connection> connections_;
  uint64_t next_ = 1;
  size_t waiting_ = 0;
  // Of their own each: a mail program that hangs holds up no submission.
  program::ProgramPool mail_programs_, submit_programs_, job_programs_{kMostOfJobs};

  base::Status reload();
  void on_data(uint64_t number, std::string_view bytes);
  void on_message(uint64_t number, const wire::ToScripts& message);
  void run_mail(uint64_t number, uint64_t id, const wire::ScriptMail& mail);
  void run_submit(uint64_t number, uint64_t id, const wire::ScriptSubmit& submit);
  void run_job(uint64_t number, uint64_t id, const wire::ScriptJob& job);
  /// Soon, on a thread; `make` makes the answer of what came of it, on this one.
  void run(program::ProgramPool& pool, uint64_t number, uint64_t id, const base::Result<program::ProgramCall>& call,
           std::function<wire::FromScripts(const program::ProgramResult&)> make);
  void answer(uint64_t number, uint64_t id, wire::FromScripts message);
};

}  // namespace gw::ctld
