// Lists of what is told to libpmix.
// Invariant: a list owns its values; what is put in is copied.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gw::noded::pmix {

class InfoList {
 public:
  InfoList() = default;
  ~InfoList() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;

  void text(const char* key, const std::string& value) { load(key, value.c_str(), PMIX_STRING); }
  void u32(const char* key, uint32_t value) { load(key, &value, PMIX_UINT32); }
  void u16(const char* key, uint16_t value) { load(key, &value, PMIX_UINT16); }
  void rank(const char* key, pmix_rank_t value) { load(key, &value, PMIX_PROC_RANK); }
  void list(const char* key, InfoList& value) {
    pmix_data_array_t array{PMIX_INFO, value.size(), value.data()};
    load(key, &array, PMIX_DATA_ARRAY);
  }
  pmix_info_t* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  std::vector<pmix_info_t> infos_;

  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = infos_.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
  }
};

}  // namespace gw::noded::pmix
