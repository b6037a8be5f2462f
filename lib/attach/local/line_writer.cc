// Lines and labels.
#include "attach/local/line_writer.h"

#include <fmt/format.h>

namespace gw::attach {

size_t LineWriter::feed(std::string_view bytes) {
  if (options_.label.empty() && !options_.by_lines) return sink_.write(bytes);
  if (!sink_.is_ready()) return 0;
  const size_t newline = bytes.rfind('\n');
  const size_t whole = newline == std::string_view::npos ? 0 : newline + 1;
  if (whole > 0) {
    if (partial_.empty()) {
      emit(bytes.substr(0, whole));
    } else {
      partial_ += bytes.substr(0, whole);
      emit(std::exchange(partial_, {}));
    }
  }
  partial_ += bytes.substr(whole);
  if (partial_.size() >= kLongestLine) emit(std::exchange(partial_, {}));
  return bytes.size();
}

void LineWriter::finish() {
  const bool is_open = !partial_.empty() || line_.writer == this;
  if (!partial_.empty()) emit(std::exchange(partial_, {}));
  if (is_open && !options_.label.empty()) emit("\n");
  if (line_.writer == this) line_.writer = nullptr;
}

void LineWriter::emit(std::string_view text) {
  if (options_.label.empty()) return sink_.put(text);
  std::string out;
  out.reserve(text.size() + 64);
  bool is_at_start = line_.writer != this;
  if (is_at_start && line_.writer != nullptr) out += '\n';  // another task's line is cut by this one
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find('\n', at);
    const size_t end = newline == std::string_view::npos ? text.size() : newline + 1;
    if (is_at_start) out += options_.label;
    out += text.substr(at, end - at);
    is_at_start = true;
    at = end;
  }
  line_.writer = out.back() == '\n' ? nullptr : this;
  sink_.put(out);
}

std::string label_of(uint32_t rank, uint32_t tasks) {
  const size_t width = std::to_string(tasks == 0 ? 0 : tasks - 1).size();
  return fmt::format("{:>{}}: ", rank, width);
}

}  // namespace gw::attach
