// See script_queue.h.
#include "ctld/shell/scripts/script_queue.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/text.h"

namespace gw::ctld {

namespace {

constexpr base::Duration kRetry = base::seconds(5);
constexpr base::Duration kLook = base::seconds(1);

}  // namespace

ScriptQueue::ScriptQueue(io::Loop& loop, std::string socket, std::string what, Bounds bounds)
    : loop_(loop), socket_(std::move(socket)), what_(std::move(what)), bounds_(bounds) {}

ScriptQueue::~ScriptQueue() = default;

bool ScriptQueue::has_room_for(uint32_t uid) const {
  const auto mine = waiting_.find(uid);
  return count_ < bounds_.waiting && (mine == waiting_.end() || mine->second.size() < bounds_.waiting_of_user);
}

bool ScriptQueue::add(uint32_t uid, wire::ToScripts message, Done done) {
  if (!has_room_for(uid) || message.ByteSizeLong() > kMostBytes) return false;
  const bool is_patient = bounds_.patience == base::kUnlimited;
  const base::Duration until = is_patient ? base::kUnlimited : io::Loop::monotonic() + bounds_.patience;
  ++count_;
  waiting_[uid].push_back({std::move(message), std::move(done), until});
  pump();
  watch_time();
  return true;
}

void ScriptQueue::reload() {
  wants_reload_ = true;
  pump();
}

void ScriptQueue::pump() {
  if (waiting_.empty() && !wants_reload_) return;
  if (!stream_) return connect();
  if (std::exchange(wants_reload_, false)) {
    wire::ToScripts message;
    message.set_reload(true);
    const auto done = [](const base::Result<wire::FromScripts>& answer) {
      if (answer && answer->exit_code() != 0)
        spdlog::warn("gscriptd did not read the configuration again: {}", base::printable(answer->output(), 300));
    };
    hand_on(std::move(message), {0, done, base::kUnlimited});
  }
  while (under_way_.size() < bounds_.under_way) {
    const auto user = next_user();
    if (user == waiting_.end()) return;
    last_uid_ = user->first;
    Item item = std::move(user->second.front());
    user->second.pop_front();
    --count_;
    ++busy_[last_uid_];
    if (user->second.empty()) waiting_.erase(user);
    UnderWay what{last_uid_, std::move(item.done),
                  bounds_.answer.us == 0 ? item.until : io::Loop::monotonic() + bounds_.answer};
    // Once: what ends gscriptd is not to do so again and again.
    if (bounds_.may_repeat && !item.is_repeated) what.message = item.message;
    hand_on(std::move(item.message), std::move(what));
  }
}

ScriptQueue::Lines::iterator ScriptQueue::next_user() {
  auto it = waiting_.upper_bound(last_uid_);
  for (size_t looked_at = 0; looked_at < waiting_.size(); ++looked_at) {
    if (it == waiting_.end()) it = waiting_.begin();
    const auto busy = busy_.find(it->first);
    if (busy == busy_.end() || busy->second < bounds_.under_way_of_user) return it;
    ++it;
  }
  return waiting_.end();
}

void ScriptQueue::hand_on(wire::ToScripts message, UnderWay what) {
  message.set_id(next_++);
  under_way_[message.id()] = std::move(what);
  std::string frame;
  wire::append_frame(frame, message.SerializeAsString());
  stream_->send(frame);
}

void ScriptQueue::connect() {
  if (dialing_ || retry_.is_active()) return;
  io::DialOptions options;
  options.address = "unix:" + socket_;
  dialing_ = io::dial(loop_, std::move(options), [this](base::Result<std::shared_ptr<io::Stream>> stream) {
    loop_.defer([this] { dialing_.reset(); });
    if (stream) return on_connected(std::move(*stream));
    on_lost(stream.error().text());
  });
}

void ScriptQueue::on_connected(std::shared_ptr<io::Stream> stream) {
  if (has_complained_) spdlog::info("gscriptd is there again; {} wait", base::counted(count_, what_));
  has_complained_ = false;
  stream_ = std::move(stream);
  decoder_ = wire::FrameDecoder(wire::kMaxFrame);
  stream_->on_closed([this](const std::string& why) { on_lost(why); });
  stream_->on_data([this](std::string_view bytes) { on_data(bytes); });
  pump();
}

void ScriptQueue::on_data(std::string_view bytes) {
  decoder_.feed(bytes);
  for (;;) {
    auto payload = decoder_.next();
    if (!payload) return stream_->close(payload.error().text());
    if (!*payload) return pump();
    wire::FromScripts result;
    if (!result.ParseFromString(**payload)) return stream_->close("an answer cannot be read");
    on_result(result);
  }
}

ScriptQueue::UnderWay ScriptQueue::take(std::map<uint64_t, UnderWay>::iterator it) {
  UnderWay what = std::move(it->second);
  under_way_.erase(it);
  if (const auto busy = busy_.find(what.uid); busy != busy_.end() && --busy->second == 0) busy_.erase(busy);
  return what;
}

void ScriptQueue::on_result(const wire::FromScripts& result) {
  const auto it = under_way_.find(result.id());
  if (it != under_way_.end()) take(it).done(result);
}

void ScriptQueue::on_lost(const std::string& why) {
  loop_.defer([gone = std::move(stream_)]() mutable { gone.reset(); });
  stream_ = nullptr;
  wants_reload_ = false;  // it reads the configuration when it starts
  retry_ = loop_.after(kRetry, [this] { pump(); });
  busy_.clear();
  std::map<uint64_t, UnderWay> lost = std::exchange(under_way_, {});
  for (auto it = lost.rbegin(); it != lost.rend(); ++it) {
    UnderWay& what = it->second;
    if (what.message) {
      waiting_[what.uid].push_front({std::move(*what.message), std::move(what.done), what.until, true});
      ++count_;
    } else {
      what.done(base::fail(base::ErrorCode::kInternal, "gscriptd ended meanwhile"));
    }
  }
  if (!has_complained_ && !waiting_.empty())
    spdlog::warn("gscriptd cannot be reached at {}: {}; {} wait", socket_, why, base::counted(count_, what_));
  has_complained_ |= !waiting_.empty();
}

void ScriptQueue::watch_time() {
  if ((bounds_.patience == base::kUnlimited && bounds_.answer.us == 0) || impatience_.is_active() ||
      (waiting_.empty() && under_way_.empty()))
    return;
  impatience_ = loop_.after(kLook, [this] {
    give_up();
    watch_time();
  });
}

void ScriptQueue::give_up() {
  const base::Duration now = io::Loop::monotonic();
  const base::Error no_answer{base::ErrorCode::kInternal, "gscriptd does not answer", {}};
  const base::Error away{base::ErrorCode::kUnavailable, "gscriptd is away", {}};
  const base::Error busy{base::ErrorCode::kTimeout, "others that came before take too long", {}};
  std::vector<std::pair<Done, base::Error>> late;
  for (auto it = under_way_.begin(); it != under_way_.end();) {
    const auto here = it++;
    if (here->second.until < now) late.emplace_back(take(here).done, no_answer);
  }
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    std::deque<Item>& line = it->second;
    for (; !line.empty() && line.front().until < now; line.pop_front(), --count_)
      late.emplace_back(std::move(line.front().done), line.front().is_repeated ? no_answer : stream_ ? busy : away);
    it = line.empty() ? waiting_.erase(it) : std::next(it);
  }
  for (const auto& [done, error] : late) done(tl::unexpected(error));
  pump();
}

}  // namespace gw::ctld
