// Keeps what `gangway top` knows up to date: it waits for the controller to say that something has changed, and then
// asks for what the view shows.
// Invariants: one set of questions is under way at a time; what takes the controller long is asked for less often, so
// that watching takes a tenth of its time at most; after destruction nobody is called.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/conn/controller_lines.h"
#include "cmds/gangway/top/row_view.h"
#include "io/loop.h"

namespace gw::cmds::top {

class Feed {
 public:
  /// What is looked at now.
  struct Question {
    View view = View::kJobs;
    std::string filter = {};    ///< As it was typed, and
    wire::JobFilter jobs = {};  ///< what it asks of jobs.
    uint32_t chosen = 0;        ///< A job whose use is shown; 0: none.
  };
  using TextFn = std::function<void(base::Result<std::string>)>;

  /// `news` is called after something in `known` has changed.
  Feed(io::Loop& loop, client::ControllerLines& lines, Known& known, std::function<Question()> question,
       std::function<void()> news);
  ~Feed() { *alive_ = false; }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  void start();
  /// Another view or filter: asked for as soon as what is under way is answered, whatever that took.
  void look_again();
  /// Another job is chosen: how much it uses.
  void look_at_choice() { ask_if_due(); }
  void change(wire::ApiRequest request, std::function<void(base::Status)> done);
  /// What `gangway why` says of the job.
  void explain(uint32_t job, TextFn done);
  /// The drawing of a node, within so many columns.
  void draw_node(const std::string& node, size_t columns, Look look, TextFn done);

 private:
  using ReplyFn = std::function<void(base::Result<wire::ApiReply>)>;

  io::Loop& loop_;
  client::ControllerLines& lines_;
  Known& known_;
  const std::function<Question()> question_;
  const std::function<void()> news_;
  uint64_t version_ = 0;   // of the cluster
  bool is_wanted_ = true;  // by the user, who does not wait for the pause
  bool is_stale_ = true;
  bool are_nodes_stale_ = true;
  size_t open_ = 0;  // questions under way
  base::Duration began_ = {}, next_ = {}, nodes_asked_ = {}, use_asked_ = {};
  std::map<std::string, std::string> troubles_;  // by the question
  io::Timer change_timer_, ask_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  void ask(wire::ApiRequest request, ReplyFn done);
  void await_change();
  void ask_if_due();
  void ask_all(const Question& question);
  void ask_nodes();
  void ask_for(const std::string& what, wire::ApiRequest request, std::function<void(wire::ApiReply&)> keep);
  void ask_use(uint32_t job);
  void answered(const std::string& what, const base::Result<wire::ApiReply>& reply);
};

}  // namespace gw::cmds::top
