// What one task prints, on its way into a sink that several tasks share: by whole lines, with or without a label, or as
// it comes.
// Invariants: every byte goes out, in order; lines of different tasks are not mixed, unless they are longer than
// kLongestLine. With a label every line that is begun in the sink begins with it.
#pragma once

#include <string>
#include <string_view>

#include "attach/local/sink.h"

namespace gw::attach {

/// What of an unfinished line is kept.
constexpr size_t kLongestLine = 16 << 10;

/// What a sink's writers know of each other: who has left a line unfinished there.
struct SharedLine {
  const void* writer = nullptr;
};

class LineWriter {
 public:
  struct Options {
    std::string label;      ///< "3: "; empty: none.
    bool by_lines = false;  ///< Without it, and without a label, bytes are passed on as they come.
  };
  /// The sink and `line` outlive it.
  LineWriter(Sink& sink, SharedLine& line, Options options) : sink_(sink), line_(line), options_(std::move(options)) {}

  Sink& sink() const { return sink_; }
  /// Returns how many bytes were taken; fewer than given: more after the sink is ready.
  size_t feed(std::string_view bytes);
  /// No more comes: an unfinished line goes out.
  void finish();

 private:
  Sink& sink_;
  SharedLine& line_;
  Options options_;
  std::string partial_;

  void emit(std::string_view text);
};

/// "  7: " for task 7 of 1000.
std::string label_of(uint32_t rank, uint32_t tasks);

}  // namespace gw::attach
