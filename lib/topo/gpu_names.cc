// Tables and token rules behind gpu_names.h.
#include "topo/gpu_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace gw::topo {
namespace {

struct Device {
  uint16_t vendor;
  uint16_t device;
  const char* type;
};

constexpr std::array kDevices{
    Device{kPciNvidia, 0x2330, "h100"},   Device{kPciNvidia, 0x2331, "h100"},   Device{kPciNvidia, 0x2321, "h100"},
    Device{kPciNvidia, 0x2335, "h200"},   Device{kPciNvidia, 0x233b, "h200"},   Device{kPciNvidia, 0x2342, "gh200"},
    Device{kPciNvidia, 0x2322, "h800"},   Device{kPciNvidia, 0x2324, "h800"},   Device{kPciNvidia, 0x2329, "h20"},
    Device{kPciNvidia, 0x2901, "b200"},   Device{kPciNvidia, 0x20b0, "a100"},   Device{kPciNvidia, 0x20b2, "a100"},
    Device{kPciNvidia, 0x20b5, "a100"},   Device{kPciNvidia, 0x20f1, "a100"},   Device{kPciNvidia, 0x20b7, "a30"},
    Device{kPciNvidia, 0x2235, "a40"},    Device{kPciNvidia, 0x2236, "a10"},    Device{kPciNvidia, 0x2237, "a10g"},
    Device{kPciNvidia, 0x26b9, "l40s"},   Device{kPciNvidia, 0x26b5, "l40"},    Device{kPciNvidia, 0x27b8, "l4"},
    Device{kPciNvidia, 0x1db1, "v100"},   Device{kPciNvidia, 0x1db4, "v100"},   Device{kPciNvidia, 0x1db5, "v100"},
    Device{kPciNvidia, 0x1db6, "v100"},   Device{kPciNvidia, 0x1db8, "v100"},   Device{kPciNvidia, 0x1df6, "v100s"},
    Device{kPciNvidia, 0x1eb8, "t4"},     Device{kPciNvidia, 0x15f8, "p100"},   Device{kPciNvidia, 0x15f9, "p100"},
    Device{kPciNvidia, 0x1b38, "p40"},    Device{kPciNvidia, 0x102d, "k80"},    Device{kPciAmd, 0x66a0, "mi60"},
    Device{kPciAmd, 0x66a1, "mi50"},      Device{kPciAmd, 0x738c, "mi100"},     Device{kPciAmd, 0x738e, "mi100"},
    Device{kPciAmd, 0x7408, "mi250x"},    Device{kPciAmd, 0x740c, "mi250x"},    Device{kPciAmd, 0x740f, "mi210"},
    Device{kPciAmd, 0x74a0, "mi300a"},    Device{kPciAmd, 0x74a1, "mi300x"},    Device{kPciAmd, 0x74a5, "mi325x"},
    Device{kPciAmd, 0x75a0, "mi350x"},    Device{kPciAmd, 0x75a3, "mi355x"},    Device{kPciIntel, 0x0bd5, "max1550"},
    Device{kPciIntel, 0x0bd6, "max1550"}, Device{kPciIntel, 0x0bda, "max1100"}, Device{kPciIntel, 0x0bdb, "max1100"},
    Device{kPciIntel, 0x56c0, "flex170"}, Device{kPciIntel, 0x56c1, "flex140"},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return c >= 'a' && c <= 'z'; }
bool is_number(std::string_view s) { return !s.empty() && std::all_of(s.begin(), s.end(), is_digit); }

// Lower-case runs of letters and digits.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : base::to_lower(text) + " ") {
    if (is_digit(c) || is_alpha(c)) {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  return out;
}

// A product code of a data centre GPU: a known series, a number, at most two letters ("a100", "l40s", "mi250x").
bool is_product_code(std::string_view token) {
  static constexpr std::array<std::string_view, 14> kSeries{"a", "b", "h",  "l",  "p",  "t",   "v",
                                                            "k", "m", "gh", "gb", "mi", "dgx", "cmp"};
  const auto number = std::find_if(token.begin(), token.end(), is_digit);
  const auto suffix = std::find_if_not(number, token.end(), is_digit);
  const auto series = token.substr(0, static_cast<size_t>(number - token.begin()));
  if (number == token.end() || number == suffix || token.end() - suffix > 2) return false;
  return std::all_of(suffix, token.end(), is_alpha) &&
         std::find(kSeries.begin(), kSeries.end(), series) != kSeries.end();
}

// "rtx 4090 ti" -> "rtx4090ti", "rtx 6000 ada" -> "rtx6000ada", "max 1550" -> "max1550".
std::string numbered_series(const std::vector<std::string>& tokens, size_t i) {
  static constexpr std::array<std::string_view, 5> kSeries{"rtx", "gtx", "max", "flex", "titan"};
  static constexpr std::array<std::string_view, 4> kSuffixes{"ti", "super", "ada", "d"};
  if (std::find(kSeries.begin(), kSeries.end(), tokens[i]) == kSeries.end() || i + 1 >= tokens.size()) return {};
  if (tokens[i] == "titan") return tokens[i] + tokens[i + 1];
  if (!is_number(tokens[i + 1])) return {};
  auto name = tokens[i] + tokens[i + 1];
  for (size_t k = i + 2; k < tokens.size(); ++k) {
    if (std::find(kSuffixes.begin(), kSuffixes.end(), tokens[k]) == kSuffixes.end()) break;
    name += tokens[k];
  }
  return name;
}

// The part in brackets: "GH100 [H100 SXM5 80GB]" -> "H100 SXM5 80GB". What stands before is the chip's name.
std::string_view in_brackets(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return text.substr(open + 1, close - open - 1);
}

}  // namespace

bool is_compute_gpu(uint16_t pci_class, uint16_t vendor, uint16_t device) {
  if (pci_class != 0x0300 && pci_class != 0x0302 && pci_class != 0x0380 && pci_class != 0x1200) return false;
  if (vendor == kPciNvidia) return true;
  // ATI ES1000 and Rage XL are the display adapters of old management controllers.
  if (vendor == kPciAmd) return device != 0x515e && device != 0x4752;
  return vendor == kPciIntel && !type_from_pci(vendor, device).empty();
}

std::string vendor_name(uint16_t vendor) {
  if (vendor == kPciNvidia) return "nvidia";
  if (vendor == kPciAmd) return "amd";
  if (vendor == kPciIntel) return "intel";
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(vendor >> shift) & 0xf];
  return out;
}

std::string type_from_model(std::string_view model) {
  const auto tokens = tokens_of(model);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (auto name = numbered_series(tokens, i); !name.empty()) return name;
    if (is_product_code(tokens[i])) return tokens[i];
  }
  return {};
}

std::string type_from_pci(uint16_t vendor, uint16_t device) {
  for (const auto& d : kDevices) {
    if (d.vendor == vendor && d.device == device) return d.type;
  }
  return {};
}

std::string gpu_type(std::string_view model, std::string_view pci_name, uint16_t vendor, uint16_t device) {
  const auto named = type_from_model(model);
  const bool family = named == "mi200" || named == "mi300";
  if (!named.empty() && !family) return named;
  if (auto known = type_from_pci(vendor, device); !known.empty()) return known;
  if (auto listed = type_from_model(in_brackets(pci_name)); !listed.empty()) return listed;
  return named.empty() ? "gpu" : named;
}

uint64_t memory_from_model(std::string_view model) {
  for (const auto& token : tokens_of(model)) {
    if (token.size() < 3 || token.size() > 6 || !token.ends_with("gb")) continue;
    const auto number = token.substr(0, token.size() - 2);
    if (is_number(number)) return std::stoull(number) * 1024;
  }
  return 0;
}

std::string clean_uuid(std::string_view uuid) {
  auto digits = uuid.starts_with("GPU-") ? uuid.substr(4) : uuid;
  const bool blank = digits.find_first_not_of("0- ") == std::string_view::npos;
  return blank ? std::string() : base::printable(uuid, 64);
}

std::string amd_uuid(std::string_view hex) {
  if (hex.starts_with("GPU-")) return clean_uuid(hex);
  if (hex.starts_with("0x")) hex.remove_prefix(2);
  if (clean_uuid(hex).empty()) return {};
  const std::string padding(hex.size() < 16 ? 16 - hex.size() : 0, '0');
  return "GPU-" + padding + base::printable(hex, 64);
}

}  // namespace gw::topo
