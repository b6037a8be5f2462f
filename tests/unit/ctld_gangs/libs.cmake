set(libs gw_ctld_core)
