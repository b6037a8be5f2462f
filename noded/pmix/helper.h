// The helper of one step on one node: between libpmix, the shepherd and the helpers of the other nodes.
// Invariants: everything but libpmix's own work is done on the loop; it ends when the shepherd closes its socket; what
// the shepherd and the other helpers say is checked.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/fd.h"
#include "io/loop.h"
#include "io/stream.h"
#include "noded/pmix/fences.h"
#include "noded/pmix/job.h"
#include "noded/pmix/library.h"
#include "noded/pmix/relay.h"
#include "peer/mesh.h"
#include "wire/frame.h"

namespace gw::noded::pmix {

/// What the shepherd gives the helper at its start.
struct Sockets {
  io::Fd shepherd;
  io::Fd tasks;                  ///< Where they connect.
  io::Fd peers;                  ///< Where the other helpers connect; none if the step has one node.
  io::Fd first;                  ///< A task that has connected already, if that was why the helper started.
  std::vector<io::Fd> visitors;  ///< Other helpers that have connected already, or say so.
};

class Helper {
 public:
  explicit Helper(Sockets sockets);
  ~Helper();
  /// Until the shepherd has gone. Returns the exit code of the process.
  int run();

 private:
  io::Loop loop_;
  io::Poster poster_;
  Sockets sockets_;
  std::shared_ptr<io::Stream> shepherd_;
  wire::FrameDecoder decoder_;
  Job job_;
  std::unique_ptr<peer::Mesh> mesh_;
  std::optional<Fences> fences_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Relay> relay_;
  struct Asked {
    uint32_t node = 0;
    DataFn done;
  };
  std::map<uint64_t, Asked> asked_;  // of other nodes, by number
  uint64_t last_number_ = 0;
  std::optional<uint32_t> absent_;  // a task of this node that has ended with an error and has never connected
  bool is_wanted_ = false;          // tasks of other nodes use PMIx
  std::set<uint32_t> heard_;        // nodes whose helpers have said something
  std::set<uint32_t> reminded_;     // nodes that were told that they are awaited
  io::Timer reminder_;
  bool is_ending_ = false;
  io::Timer farewell_;
  int exit_code_ = 0;

  void on_bytes(std::string_view bytes);
  void on_order(const wire::ToPmix& order);
  void on_task_failed(const wire::PmixTaskFailed& failed);
  /// Ends the step if somebody waits for a task that will never connect.
  bool judge_absent();
  std::set<uint32_t> awaited() const;
  void remind();
  base::Status set_up(const wire::PmixSetup& setup);
  base::Status open_mesh(const wire::PmixSetup& setup);
  Requests requests();
  void say(const wire::FromPmix& message);
  void fail(const std::string& text);
  /// In the words in which the step is told its end, here or on the node where it began.
  void tell_end(const std::string& text);

  void fence(const std::vector<uint32_t>& ranks, std::string data, DataFn done);
  void modex(uint32_t rank, DataFn done);
  void abort(uint32_t rank, int code, const std::string& text, const std::function<void()>& done);
  void send(uint32_t node, const wire::PmixPeer& message);
  void on_message(uint32_t from, const std::string& bytes);
  void on_ask(uint32_t from, const wire::PmixAsk& ask);
  void on_answer(uint32_t from, wire::PmixAnswer answer);
  void on_lost(uint32_t node, const base::Error& reason);
  void spread_end(const std::string& text);
};

/// NAME=value lines, one a line on standard output, as a task gets them; names, port and rank are yet to be filled in.
int print_environment();

}  // namespace gw::noded::pmix
