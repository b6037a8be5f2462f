// What `gangway top` shows and what its keys do. Pure: keys go in, wishes and screens come out; nobody is asked here.
// Invariants: a screen is as large as the terminal; the chosen row stays the same thing while others come and go; no
// byte that a user wrote reaches the terminal as a command to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmds/gangway/top/grid.h"
#include "cmds/gangway/top/row_view.h"

namespace gw::cmds::top {

/// Keys that are no letters; a letter, and what else may be typed into a filter, is its own code.
enum Key : int {
  kNoKey = 0,
  kTab = 9,
  kEnter = 10,
  kEscape = 27,
  kBackspace = 127,
  kUp = 0x110000,  // beyond Unicode
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
};

/// What a key asks for.
struct Wish {
  /// kAsk: another view or filter; kLook: another row is chosen.
  enum Kind : uint8_t { kNothing, kQuit, kAsk, kLook, kChange, kWhy, kTopology } kind = kNothing;
  wire::ApiRequest change = {};  ///< kChange
  std::string done = {};         ///< kChange: what is said when it is done: "job 7 is cancelled".
  uint32_t job = 0;              ///< kWhy
  std::string node = {};         ///< kTopology
};

class Screen {
 public:
  /// `user`: who looks; `known` is filled by others.
  Screen(const Known& known, Look look, std::string user);

  Wish press(int key);
  /// `now` is the controller's clock.
  Grid draw(size_t columns, size_t rows, base::Time now);

  View view() const { return view_; }
  const Filter& filter() const { return filter_; }
  /// Of the view of jobs; 0: none.
  uint32_t chosen_job() const;
  /// On the last line, until the next key.
  void say(std::string text, bool is_bad);
  /// A text over the rows, until it is closed; it may have codes of colours.
  void show_page(std::string title, const std::string& text);
  /// Errors: as parse_filter.
  base::Status set_filter(const std::string& text);
  void set_view(View view);

 private:
  struct Page {
    std::string title;
    std::vector<std::string> lines;
    size_t first = 0;
  };
  struct Place {
    std::string name;  // of the chosen row
    size_t row = 0, first = 0;
  };
  /// What is typed on the last line.
  struct Typed {
    std::string text;
  };
  struct Question {
    std::string text;
    Wish wish;  // if it is answered by yes
  };

  const Known& known_;
  const Look look_;
  const std::string user_;
  View view_ = View::kJobs;
  Filter filter_;
  JobOrder order_ = JobOrder::kAsGqueue;
  Place places_[4];
  std::unique_ptr<RowView> rows_;
  uint64_t made_of_ = 0;   // the version that the rows were made of
  size_t made_for_ = 0;    // and the columns
  size_t columns_ = 80;    // of the last screen
  size_t page_rows_ = 10;  // likewise
  std::optional<Page> page_;
  std::optional<Typed> typed_;
  std::optional<Question> question_;
  std::string said_;
  bool is_said_bad_ = false;
  bool is_choice_new_ = false;  // the job that was chosen has gone: nobody has chosen this one yet

  Place& place() { return places_[static_cast<size_t>(view_)]; }
  void forget_rows() { rows_ = nullptr; }
  bool is_told() const;
  void make_rows(size_t columns);
  void follow_choice();
  void move(int64_t by);
  Wish press_in_page(int key);
  Wish press_in_filter(int key);
  Wish press_in_question(int key);
  Wish press_in_view(int key);
  Wish press_on_job(int key);
  Wish look_closer();

  void draw_head(Grid& grid, base::Time now) const;
  void draw_tabs(Grid& grid, size_t row) const;
  void draw_rows(Grid& grid, size_t from, size_t to, base::Time now);
  void draw_page(Grid& grid, size_t from, size_t to);
  void draw_last_line(Grid& grid) const;
};

/// What its keys do, as a text.
std::string help_of_keys();

}  // namespace gw::cmds::top
