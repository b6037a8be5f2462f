// See work.h. The functions of the C library that move and compare bytes are replaced for the whole program, and so are
// `new` and `delete`.
#include "tests/cost/work.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

namespace {

constexpr uint64_t kAllocation = 20, kBytesPerUnit = 16;

bool is_counting = false;
uint64_t units = 0, moved = 0;
size_t held = 0;

void count_moved(size_t bytes) {
  if (is_counting) moved += bytes;
}

}  // namespace

namespace gw::cost {

size_t held_bytes() { return held; }

void begin_count() {
  units = moved = 0;
  is_counting = true;
}

uint64_t end_count() {
  is_counting = false;
  return units + moved / kBytesPerUnit;
}

}  // namespace gw::cost

extern "C" {

// The compiler puts a call of it at the begin of every basic block.
void __sanitizer_cov_trace_pc() {
  if (!is_counting) return;
  if (++units > gw::cost::kMostUnits) _exit(gw::cost::kTooMuch);
}

// Single instructions do the work, so that the compiler cannot make a call of the same function of it.
void* memcpy(void* __restrict to, const void* __restrict from, size_t size) noexcept {
  count_moved(size);
  void* at = to;
  __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
  return to;
}

void* memmove(void* to, const void* from, size_t size) noexcept {
  const auto target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  if (target <= source || target >= source + size) return memcpy(to, from, size);
  count_moved(size);
  char* last = static_cast<char*>(to) + size - 1;
  const char* other = static_cast<const char*>(from) + size - 1;
  __asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(last), "+S"(other), "+c"(size) : : "memory");
  return to;
}

void* memset(void* to, int value, size_t size) noexcept {
  count_moved(size);
  void* at = to;
  __asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
  return to;
}

int memcmp(const void* a, const void* b, size_t size) noexcept {
  const auto *x = static_cast<const unsigned char*>(a), *y = static_cast<const unsigned char*>(b);
  size_t i = 0;
  while (i < size && x[i] == y[i]) ++i;
  count_moved(i);
  return i == size ? 0 : x[i] - y[i];
}

void* memchr(const void* in, int value, size_t size) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(in);
  size_t i = 0;
  while (i < size && bytes[i] != static_cast<unsigned char>(value)) ++i;
  count_moved(i);
  return i == size ? nullptr : const_cast<unsigned char*>(bytes + i);
}

}  // extern "C"

void* operator new(size_t size) {
  void* p = std::malloc(size);
  if (p == nullptr) std::abort();
  held += malloc_usable_size(p);
  if (is_counting) units += kAllocation;
  return p;
}
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* p) noexcept {
  if (p != nullptr) held -= malloc_usable_size(p);
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }
void operator delete[](void* p) noexcept { operator delete(p); }
void operator delete[](void* p, size_t) noexcept { operator delete(p); }
