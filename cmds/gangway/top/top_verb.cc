// gangway top: the queue, nodes, partitions and quotas in full screen, as they change.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <utility>

#include "auth/munge.h"
#include "auth/timed.h"
#include "base/text.h"
#include "client/conn/connection.h"
#include "cmds/gangway/shared/verbs.h"
#include "cmds/gangway/top/feed.h"
#include "cmds/gangway/top/screen.h"
#include "cmds/gangway/top/terminal.h"

namespace gw::cmds {
namespace {

using top::Feed;
using top::Grid;
using top::Screen;
using top::Terminal;
using top::Wish;

const client::CommandDoc kDoc = {
    "watch the cluster in full screen",
    "[OPTIONS]",
    "Shows the queue with the reason of the chosen job and what it uses now, a map of the nodes down to their GPUs, "
    "the "
    "partitions, and the quotas with who lends to whom. The controller says when something has changed, and the screen "
    "changes with it. Keys choose what is shown, and cancel, hold and release one's own jobs; ? lists them. It works "
    "at "
    "80x24, and without colours.",
    {{"0", "left by q or ctrl-C"}, {"1", "bad words, or no terminal that fits"}},
    {{"GANGWAY_CONF", "path of the configuration"}, {"NO_COLOR", "no colours"}, {"TERM", "what the terminal can do"}},
    {{"gangway top", "everybody's jobs"},
     {"gangway top --me", "mine"},
     {"gangway top --view=nodes", "begin with the map of the nodes"},
     {"gangway top --filter 'qos:research state:pending'", "those alone"}},
    {},
};

struct Options {
  bool me = false;
  std::string filter, view;
};

base::Result<top::View> view_of(const std::string& word) {
  const std::pair<std::string_view, top::View> views[] = {{"jobs", top::View::kJobs},
                                                          {"nodes", top::View::kNodes},
                                                          {"partitions", top::View::kPartitions},
                                                          {"quotas", top::View::kQuotas}};
  if (word.empty()) return top::View::kJobs;
  for (const auto& [name, view] : views)
    if (word == name) return view;
  return base::invalid("--view: there is no " + base::printable(word, 40), "jobs, nodes, partitions, quotas");
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

/// Everything that runs while the screen is up.
class Session {
 public:
  Session(const config::Config& config, Terminal& terminal)
      : terminal_(terminal),
        munge_(std::make_shared<auth::MungeAuthenticator>(config.munge_socket), "munged"),
        pool_(munge_, loop_),
        lines_(loop_, pool_, client::ControllerLines::options_for(config)),
        screen_(known_, terminal.look(), user_name()),
        feed_(
            loop_, lines_, known_, [this] { return question(); }, [this] { draw_soon(); }) {}

  Screen& screen() { return screen_; }

  void run() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) loop_.on_signal(signal, [this] { loop_.stop(); });
    loop_.on_signal(SIGWINCH, [this] { draw(); });
    keys_ = loop_.watch_readable(STDIN_FILENO, [this] { read_keys(); });
    feed_.start();
    draw();
    loop_.run();
  }

 private:
  Terminal& terminal_;
  io::Loop loop_;
  auth::TimedAuthenticator munge_;
  link::AuthPool pool_;
  client::ControllerLines lines_;
  top::Known known_;
  Screen screen_;
  Feed feed_;
  io::Watch keys_;
  io::Timer clock_;
  bool will_draw_ = false;
  int silent_wakes_ = 0;

  Feed::Question question() const {
    return {screen_.view(), screen_.filter().text, screen_.filter().jobs, screen_.chosen_job()};
  }

  /// Once for all that comes in this round.
  void draw_soon() {
    if (std::exchange(will_draw_, true)) return;
    loop_.defer([this] { draw(); });
  }

  void draw() {
    will_draw_ = false;
    const auto [columns, rows] = terminal_.size();
    terminal_.show(screen_.draw(columns, rows, base::SystemClock().now() + known_.ahead));
    clock_ = loop_.after(base::seconds(1), [this] { draw(); });
  }

  void read_keys() {
    constexpr int kMostSilent = 100;  // a terminal that has gone is readable for ever
    bool was_any = false;
    while (const std::optional<int> key = terminal_.read_key()) {
      was_any = true;
      carry_out(screen_.press(*key));
    }
    silent_wakes_ = was_any ? 0 : silent_wakes_ + 1;
    if (silent_wakes_ > kMostSilent) return loop_.stop();
    draw_soon();
  }

  void carry_out(Wish wish) {
    switch (wish.kind) {
      case Wish::kNothing:
        return;
      case Wish::kQuit:
        return loop_.stop();
      case Wish::kAsk:
        return feed_.look_again();
      case Wish::kLook:
        return feed_.look_at_choice();
      case Wish::kChange:
        return feed_.change(std::move(wish.change), [this, done = wish.done](const base::Status& status) {
          screen_.say(status ? done : status.error().text(), !status);
          draw_soon();
        });
      case Wish::kWhy:
        screen_.say("asking", /*is_bad=*/false);
        return feed_.explain(wish.job, page(fmt::format("Job {}", wish.job)));
      case Wish::kTopology:
        screen_.say("asking", /*is_bad=*/false);
        return feed_.draw_node(wish.node, terminal_.size().first, terminal_.look(), page("Node " + wish.node));
    }
  }

  Feed::TextFn page(const std::string& title) {
    return [this, title](const base::Result<std::string>& text) {
      screen_.say(text ? "" : text.error().text(), !text);
      if (text) screen_.show_page(title, *text);
      draw_soon();
    };
  }
};

base::Status watch(const Options& o) {
  GW_TRY(view, view_of(o.view));
  GW_TRY(config, client::load_config());
  const std::string filter = o.me ? "user:" + user_name() + " " + o.filter : o.filter;
  GW_TRY_STATUS(top::parse_filter(filter));  // said before the screen is taken
  GW_TRY(terminal, Terminal::open());
  Session session(config, *terminal);
  session.screen().set_view(view);
  GW_TRY_STATUS(session.screen().set_filter(filter));
  session.run();
  return {};
}

}  // namespace

int top_verb(const Invocation& call) {
  Options o;
  std::vector<std::string> operands;
  if (const auto code =
          parse_verb(call, kDoc,
                     {flag("me", 'm', "my jobs alone", o.me),
                      text_option("filter", 'f', "WORDS",
                                  "what is shown: words, and user:, partition:, qos:, state:, ...", o.filter),
                      text_option("view", 'v', "VIEW", "what it begins with: jobs, nodes, partitions, quotas", o.view)},
                     operands))
    return *code;
  if (!operands.empty())
    return failed(call.program, {base::ErrorCode::kInvalid, "what is " + base::printable(operands.front(), 60) + "?",
                                 "--filter chooses what is shown"});
  const base::Status done = watch(o);
  return done ? client::kExitOk : failed(call.program, done.error());
}

}  // namespace gw::cmds
