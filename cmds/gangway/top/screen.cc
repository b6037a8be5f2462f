// The keys of `gangway top`.
#include "cmds/gangway/top/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gw::cmds::top {

namespace {
constexpr size_t kMostTyped = 200;

bool is_move(int key) { return key >= kUp && key <= kEnd; }

std::string utf8_of(uint32_t letter) {
  const auto rest = [letter](int shift) { return static_cast<char>(0x80u | ((letter >> shift) & 0x3Fu)); };
  if (letter < 0x80) return {static_cast<char>(letter)};
  if (letter < 0x800) return {static_cast<char>(0xC0u | letter >> 6), rest(0)};
  if (letter < 0x10000) return {static_cast<char>(0xE0u | letter >> 12), rest(6), rest(0)};
  return {static_cast<char>(0xF0u | letter >> 18), rest(12), rest(6), rest(0)};
}

/// Up and down as in a pager.
int as_arrow(int key) { return key == 'k' ? kUp : key == 'j' ? kDown : key; }

int64_t way_of(int key, size_t page, size_t all) {
  switch (key) {
    case kUp:
      return -1;
    case kDown:
      return 1;
    case kPageUp:
      return -static_cast<int64_t>(page);
    case kPageDown:
      return static_cast<int64_t>(page);
    case kHome:
      return -static_cast<int64_t>(all);
    case kEnd:
      return static_cast<int64_t>(all);
    default:
      return 0;
  }
}

size_t moved(size_t from, int64_t by, size_t size) {
  const auto to = static_cast<int64_t>(from) + by;
  return static_cast<size_t>(std::clamp<int64_t>(to, 0, size == 0 ? 0 : static_cast<int64_t>(size) - 1));
}

}  // namespace

Screen::Screen(const Known& known, Look look, std::string user) : known_(known), look_(look), user_(std::move(user)) {}

uint32_t Screen::chosen_job() const {
  const std::string& name = places_[static_cast<size_t>(View::kJobs)].name;
  if (view_ != View::kJobs || rows_ == nullptr || rows_->size() == 0 || name.empty()) return 0;
  return static_cast<uint32_t>(std::strtoul(name.c_str(), nullptr, 10));
}

void Screen::say(std::string text, bool is_bad) {
  said_ = std::move(text);
  is_said_bad_ = is_bad;
}

void Screen::show_page(std::string title, const std::string& text) {
  page_ = Page{std::move(title), base::split(text, '\n')};
  while (!page_->lines.empty() && page_->lines.back().empty()) page_->lines.pop_back();
}

base::Status Screen::set_filter(const std::string& text) {
  GW_TRY(filter, parse_filter(text));
  filter_ = std::move(filter);
  forget_rows();
  return {};
}

void Screen::set_view(View view) {
  view_ = view;
  forget_rows();
}

void Screen::move(int64_t by) {
  if (rows_ == nullptr) return;
  Place& p = place();
  p.row = moved(p.row, by, rows_->size());
  p.name = rows_->size() == 0 ? "" : rows_->name(p.row);
}

Wish Screen::press(int key) {
  if (key == kNoKey) return {};
  said_.clear();
  if (question_) return press_in_question(key);
  if (typed_) return press_in_filter(key);
  if (page_) return press_in_page(key);
  return press_in_view(key);
}

Wish Screen::press_in_page(int key) {
  key = as_arrow(key);
  if (is_move(key)) {
    const size_t size = page_->lines.size() > page_rows_ ? page_->lines.size() - page_rows_ + 1 : 1;
    page_->first = moved(page_->first, way_of(key, page_rows_, page_->lines.size()), size);
    return {};
  }
  page_.reset();
  return {};
}

Wish Screen::press_in_question(int key) {
  const Question asked = std::move(*question_);
  question_.reset();
  return key == 'y' || key == 'Y' ? asked.wish : Wish{};
}

Wish Screen::press_in_filter(int key) {
  std::string& text = typed_->text;
  if (key == kEscape) {
    typed_.reset();
    return {};
  }
  if (key == kEnter) {
    const std::string typed = std::exchange(text, "");
    typed_.reset();
    if (const base::Status done = set_filter(typed); !done) {
      say(done.error().text(), /*is_bad=*/true);
      return {};
    }
    return {.kind = Wish::kAsk};
  }
  if (key == kBackspace) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0u) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
    return {};
  }
  constexpr int kFirstLetter = 0x20;
  if (key >= kFirstLetter && key < kUp && text.size() < kMostTyped) text += utf8_of(static_cast<uint32_t>(key));
  return {};
}

Wish Screen::press_in_view(int key) {
  make_rows(columns_);  // keys may come faster than screens
  key = as_arrow(key);
  if (is_move(key) && key != kLeft && key != kRight) {
    move(way_of(key, page_rows_, rows_ == nullptr ? 0 : rows_->size()));
    is_choice_new_ = false;
    return {.kind = Wish::kLook};
  }
  constexpr int kViews = 4;
  const int at = static_cast<int>(view_);
  switch (key) {
    case 'q':
      return {.kind = Wish::kQuit};
    case '?':
      show_page("Keys", help_of_keys());
      return {};
    case '/':
      typed_ = Typed{filter_.text};
      return {};
    case kEscape:
      if (!filter_.is_empty() && set_filter("")) return {.kind = Wish::kAsk};
      return {};
    case 'm':
      if (const base::Status done = set_filter(filter_.text == "user:" + user_ ? "" : "user:" + user_); !done)
        say(done.error().text(), /*is_bad=*/true);
      return {.kind = Wish::kAsk};
    case '1':
    case '2':
    case '3':
    case '4':
      set_view(static_cast<View>(key - '1'));
      return {.kind = Wish::kAsk};
    case kTab:
    case kRight:
      set_view(static_cast<View>((at + 1) % kViews));
      return {.kind = Wish::kAsk};
    case kLeft:
      set_view(static_cast<View>((at + kViews - 1) % kViews));
      return {.kind = Wish::kAsk};
    case kEnter:
      return look_closer();
    default:
      return view_ == View::kJobs ? press_on_job(key) : Wish{};
  }
}

Wish Screen::look_closer() {
  if (rows_ == nullptr || rows_->size() == 0) return {};
  if (view_ == View::kJobs) return {.kind = Wish::kWhy, .job = chosen_job()};
  if (view_ == View::kNodes) return {.kind = Wish::kTopology, .node = place().name};
  return {};
}

Wish Screen::press_on_job(int key) {
  const uint32_t id = chosen_job();
  if (key == 's') {
    order_ = static_cast<JobOrder>((static_cast<int>(order_) + 1) % 4);
    forget_rows();
    say("order: " + std::string(word(order_)), /*is_bad=*/false);
    return {};
  }
  if (id == 0) return {};
  if (key == 'w') return {.kind = Wish::kWhy, .job = id};
  if (key != 'c' && key != 'h' && key != 'r') return {};
  if (std::exchange(is_choice_new_, false)) {
    say("the job that was chosen has gone: is this one meant? then press the key again", /*is_bad=*/true);
    return {};
  }
  const std::string label = rows_->label(place().row);
  Wish wish{.kind = Wish::kChange};
  if (key == 'c') {
    wish.change.mutable_cancel()->mutable_filter()->add_ids(id);
    wish.done = fmt::format("job {} is cancelled", label);
    const bool are_many = label.find('[') != std::string::npos;
    question_ =
        Question{are_many ? fmt::format("Cancel all of array {}, also tasks that run? y: yes, any other key: no", id)
                          : fmt::format("Cancel job {}? y: yes, any other key: no", label),
                 std::move(wish)};
    return {};
  }
  wish.change.mutable_job_action()->add_ids(id);
  wish.change.mutable_job_action()->set_action(key == 'h' ? wire::kUserHold : wire::kRelease);
  wish.done = fmt::format("job {} is {}", label, key == 'h' ? "held" : "released");
  return wish;
}

std::string help_of_keys() {
  return "1 2 3 4, Tab    jobs, nodes, partitions, quotas\n"
         "Up Down j k     choose a row; also Page Up, Page Down, Home, End\n"
         "Enter           of a job why it waits or runs where it does; of a node its drawing\n"
         "/               choose what is shown, by words and by\n"
         "                user: partition: qos: account: name: node: state: reservation:\n"
         "Esc             show all again\n"
         "m               mine alone, and all again\n"
         "s               another order of the jobs\n"
         "c h r           cancel the job, hold it, release it\n"
         "?               this page\n"
         "q, Ctrl-C       leave\n"
         "\n"
         "On the map of the nodes a letter stands for a job, . for a free GPU,\n"
         "# for one of a job that you may not see, X for one that is offline.\n";
}

}  // namespace gw::cmds::top
