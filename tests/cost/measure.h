// What the controller takes for one message: from its bytes to the last byte of the answer. Each measurement is made in
// a copy of the process, so that all begin with the same controller.
#pragma once

#include <cstdint>
#include <string>

#include "tests/cost/examples.h"

namespace gw::cost {

struct Figures {
  uint64_t size = 0;     ///< Of the field that grows; 0: the example as it is.
  uint64_t entries = 0;  ///< Of what grows: of a list its length, of a text the names between its commas.
  uint64_t bytes = 0;    ///< Of the message.
  uint64_t work = 0;     ///< Decoding, bounds, authorization, handler, deltas fed to the scheduler, the answer's bytes.
  uint64_t pass = 0;     ///< Of the pass that follows; 0: not counted.
  uint64_t told = 0;     ///< Bytes of answers, messages to nodes and rows.
  int64_t held = 0;      ///< Memory that the controller and the scheduler's view hold more than before.
  int64_t rows = 0;      ///< Bytes that the store holds more than before.
  bool is_taken = false;
  std::string refusal;  ///< Of the message, or of the last of its jobs; without numbers.
  std::string fault;    ///< The copy came to no end: why.
};

/// `bytes` are sent in the way of the example.
Figures measure(CostWorld& world, const Example& example, const std::string& bytes);

}  // namespace gw::cost
