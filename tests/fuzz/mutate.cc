// Deterministic mutations.
#include "tests/fuzz/mutate.h"

namespace gw::fuzz {
namespace {

constexpr size_t kMaxBytes = 1 << 16;
constexpr size_t kMaxPiece = 64;

// What parsers stumble over.
constexpr std::string_view kWords[] = {"\n",
                                       "\r\n",
                                       " ",
                                       "\t",
                                       ",",
                                       ":",
                                       "-",
                                       "=",
                                       "[",
                                       "]",
                                       "0",
                                       "-1",
                                       "1-0",
                                       "4K",
                                       "00",
                                       "#",
                                       "4294967296",
                                       "18446744073709551615",
                                       "\xff",
                                       "\"",
                                       "'",
                                       "\\",
                                       "%",
                                       "/",
                                       "../",
                                       "*",
                                       "&",
                                       "|",
                                       "(",
                                       ")",
                                       "1e99",
                                       "nan",
                                       "<",
                                       "/>",
                                       "-9223372036854775808"};

void replace(std::string& text, Dice& dice, size_t at) {
  if (at < text.size()) text[at] = static_cast<char>(dice.below(256));
}
void flip(std::string& text, Dice& dice, size_t at) {
  if (at < text.size()) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ 1U << dice.below(8));
}
void insert_word(std::string& text, Dice& dice, size_t at) { text.insert(at, kWords[dice.below(std::size(kWords))]); }
void drop(std::string& text, Dice& dice, size_t at) { text.erase(at, 1 + dice.below(kMaxPiece)); }
void repeat(std::string& text, Dice& dice, size_t at) {
  text.insert(at, std::string(text, at, 1 + dice.below(kMaxPiece)));
}
void borrow(std::string& text, std::string_view other, Dice& dice, size_t at) {
  if (other.empty()) return;
  const size_t from = dice.below(other.size());
  text.replace(at, dice.below(kMaxPiece), other.substr(from, 1 + dice.below(kMaxPiece)));
}

void change(std::string& text, std::string_view other, Dice& dice) {
  const size_t at = dice.below(text.size() + 1);
  switch (dice.below(7)) {
    case 0:
      return replace(text, dice, at);
    case 1:
      return flip(text, dice, at);
    case 2:
      return insert_word(text, dice, at);
    case 3:
      return drop(text, dice, at);
    case 4:
      return repeat(text, dice, at);
    case 5:
      return borrow(text, other, dice, at);
    default:
      text.resize(at);  // cut off
  }
}

}  // namespace

uint64_t Dice::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15U;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

std::string mutate(std::string_view text, std::string_view other, Dice& dice) {
  std::string changed(text);
  for (size_t n = 1 + dice.below(4); n > 0; --n) change(changed, other, dice);
  if (changed.size() > kMaxBytes) changed.resize(kMaxBytes);
  return changed;
}

}  // namespace gw::fuzz
