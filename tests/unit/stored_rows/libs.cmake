# Rows as an earlier version has stored them, as text: read by the store, taken over by the core.
add_library(stored_rows_text INTERFACE)
target_compile_definitions(stored_rows_text INTERFACE GW_STORED_ROWS="${CMAKE_SOURCE_DIR}/tests/unit/stored_rows/")
set(libs gw_ctld_core gw_store stored_rows_text)
