// Pieces, keys and the end of input.
#include "attach/step/step_input.h"

#include <algorithm>
#include <utility>

#include "wire/step_channels.h"

namespace gw::attach {

StepInput::StepInput(io::Loop& loop, const StepOptions& options, StepNodes& nodes)
    : loop_(loop),
      options_(options),
      nodes_(nodes),
      at_end_(options.part == Part::kJoin ? AtEnd::kHold : AtEnd::kEnd) {}

void StepInput::take(Descriptor from) {
  auto source = std::make_unique<Source>(loop_, std::move(from), [this](std::string_view piece) { on_piece(piece); });
  state_.change_if<None>(Flowing{std::move(source), {}});
}

StepInput::Flowing* StepInput::flow() {
  if (EndHeld* held = state_.in<EndHeld>()) return &held->flow;
  return state_.in<Flowing>();
}

Source* StepInput::source() {
  if (Over* over = state_.in<Over>()) return over->source.get();
  const Flowing* flowing = flow();
  return flowing == nullptr ? nullptr : flowing->source.get();
}

void StepInput::start() {
  if (Flowing* flowing = flow()) {
    if (options_.part != Part::kJoin) flowing->source->want();
  } else if (!options_.keeps_input_open) {
    end_all();
  }
}

/// Who joins a terminal with input that ends (cron, nohup) did not type ctrl-D.
void StepInput::on_running(bool has_terminal) {
  if (options_.part != Part::kJoin) return;
  at_end_ = has_terminal ? AtEnd::kNothing : AtEnd::kEnd;
  if (Flowing* flowing = flow()) flowing->source->want();
  if (EndHeld* held = state_.in<EndHeld>()) {
    state_.change(*held, Flowing(std::move(held->flow)));
    on_source_end();
  }
}

void StepInput::on_piece(std::string_view piece) {
  Flowing* flowing = flow();
  if (flowing == nullptr) return;
  if (piece.empty() && options_.part == Part::kWatch) return;
  if (piece.empty()) return on_source_end();
  flowing->piece = options_.may_detach ? without_keys(piece) : std::string(piece);
  if (key_.is_found()) return;
  if (flowing->piece.empty()) return flowing->source->want();
  begin_piece();
  pump();
}

void StepInput::on_source_end() {
  if (at_end_ == AtEnd::kEnd) return end_all();
  Flowing* flowing = state_.in<Flowing>();
  if (at_end_ == AtEnd::kHold && flowing != nullptr) state_.change(*flowing, EndHeld{std::move(*flowing)});
}

/// What of it is for the tasks.
std::string StepInput::without_keys(std::string_view piece) {
  constexpr base::Duration kSecondKey = base::milliseconds(700);
  constexpr char kInterrupt = '\x03';
  key_timer_.cancel();
  const bool watches = options_.part == Part::kWatch;
  std::string typed = key_.feed(piece);
  const bool leaves = key_.is_found() || (watches && piece.find(kInterrupt) != std::string_view::npos);
  if (leaves && detach_fn_)
    loop_.defer([alive = std::weak_ptr<void>(alive_), fn = detach_fn_] {
      if (!alive.expired()) fn();
    });
  if (key_.is_held()) key_timer_ = loop_.after(kSecondKey, [this] { on_key_alone(); });
  return watches ? std::string() : typed;
}

void StepInput::on_key_alone() {
  const std::string key = key_.give_up();
  Flowing* flowing = flow();
  if (options_.part == Part::kWatch || flowing == nullptr) return;
  const bool is_new = flowing->piece.empty();
  flowing->piece += key;
  if (is_new) begin_piece();
  pump();
}

void StepInput::begin_piece() {
  for (StepNode& node : nodes_) node.session()->next_piece();
}

void StepInput::pump() {
  Flowing* flowing = flow();
  if (flowing == nullptr || flowing->piece.empty()) return;
  bool is_taken = true;
  for (StepNode& node : nodes_) is_taken = node.session()->feed(flowing->piece) && is_taken;
  if (!is_taken) return;
  flowing->piece.clear();
  const bool is_wanted = std::any_of(nodes_.begin(), nodes_.end(), [](StepNode& node) {
    return node.session()->takes_input() && !node.has_ended() &&
           !node.session()->session().is_unwanted(wire::kInputChannel);
  });
  if (is_wanted)
    flowing->source->want();
  else
    end_all();
}

void StepInput::end_all() {
  Flowing* flowing = flow();
  std::unique_ptr<Source> source = flowing == nullptr ? nullptr : std::move(flowing->source);
  state_.change_if<None, Flowing, EndHeld>(Over{std::move(source)});
  nodes_.end_input();
}

void StepInput::stop() {
  if (Over* over = state_.in<Over>()) over->source.reset();
  state_.change_if<Flowing, EndHeld>(Over{});
}

}  // namespace gw::attach
