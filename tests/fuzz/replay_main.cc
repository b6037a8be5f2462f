// Runs fuzz targets without a fuzzer, in every build: the corpus, and a fixed number of mutations of it.
//   fuzz_replay TARGET MUTATIONS FOLDER   the folder's files and the target's made inputs, then mutations of them
//   fuzz_replay TARGET FILE...            these inputs
//   fuzz_replay TARGET --write FOLDER     writes the made inputs, for a fuzzer to start from
// Files called ok_* must be accepted and bad_* refused. The input that a run ended on is left in TARGET.input.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

namespace gw::fuzz {
namespace {

namespace fs = std::filesystem;

struct Seed {
  std::string name;
  std::string bytes;
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  FUZZ_CHECK(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  FUZZ_CHECK(file.good());
}

// Keeps the present input on disk: after a crash it is the one.
class Runner {
 public:
  explicit Runner(const Target& target) : target_(target), note_(std::string(target.name) + ".input") {}
  ~Runner() { fs::remove(note_); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  bool run(std::string_view input) {
    write(note_, input);
    return target_.run(input);
  }

 private:
  const Target& target_;
  fs::path note_;
};

std::vector<Seed> read_seeds(const Target& target, const fs::path& folder) {
  std::vector<Seed> seeds;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      seeds.push_back({entry.path().filename().string(), read(entry.path())});
  std::sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  if (target.made_inputs != nullptr)
    for (std::string& bytes : target.made_inputs()) seeds.push_back({"ok_made", std::move(bytes)});
  return seeds;
}

// The number of seeds that were not taken as their name says.
int run_seeds(Runner& runner, const std::vector<Seed>& seeds) {
  int wrong = 0;
  for (const Seed& seed : seeds) {
    const bool is_ok = seed.name.starts_with("ok_");
    const bool is_taken = runner.run(seed.bytes);
    if (is_taken == is_ok || !(is_ok || seed.name.starts_with("bad_"))) continue;
    std::fprintf(stderr, "%s: the input was %s\n", seed.name.c_str(),
                 is_taken ? "accepted" : ("refused: " + last_error()).c_str());
    ++wrong;
  }
  return wrong;
}

int replay(const Target& target, size_t mutations, const fs::path& folder) {
  const std::vector<Seed> seeds = read_seeds(target, folder);
  if (seeds.empty()) {
    std::fprintf(stderr, "there are no inputs in %s\n", folder.c_str());
    return 1;
  }
  Runner runner(target);
  const int wrong = run_seeds(runner, seeds);
  Dice dice(1);
  size_t taken = 0;
  for (size_t i = 0; i < mutations; ++i)
    taken += runner.run(mutate(seeds[i % seeds.size()].bytes, seeds[dice.below(seeds.size())].bytes, dice)) ? 1 : 0;
  std::printf("%zu inputs; %zu mutations, %zu of them accepted\n", seeds.size(), mutations, taken);
  return wrong == 0 ? 0 : 1;
}

int write_made(const Target& target, const fs::path& folder) {
  if (target.made_inputs == nullptr) return 0;
  size_t number = 0;
  for (const std::string& bytes : target.made_inputs()) write(folder / ("made_" + std::to_string(number++)), bytes);
  return 0;
}

int run_files(const Target& target, std::span<char* const> files) {
  for (const char* file : files) std::printf("%s: %s\n", file, target.run(read(file)) ? "accepted" : "refused");
  return 0;
}

int run(std::span<char* const> args) {
  const auto& all = targets();
  const auto target = std::find_if(all.begin(), all.end(), [&](const Target& t) { return t.name == args[1]; });
  if (target == all.end()) {
    std::fprintf(stderr, "there is no target %s\n", args[1]);
    return 2;
  }
  const std::string_view word = args[2];
  if (args.size() == 4 && word == "--write") return write_made(*target, args[3]);
  if (args.size() == 4 && word.find_first_not_of("0123456789") == std::string_view::npos)
    return replay(*target, std::stoul(args[2]), args[3]);
  return run_files(*target, args.subspan(2));
}

}  // namespace
}  // namespace gw::fuzz

int main(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);  // it tells of every input that is no UTF-8
  if (argc >= 3) return gw::fuzz::run(std::span(argv, static_cast<size_t>(argc)));
  for (const gw::fuzz::Target& target : gw::fuzz::targets())
    std::printf("%.*s\n", static_cast<int>(target.name.size()), target.name.data());
  return argc == 1 ? 0 : 2;
}
