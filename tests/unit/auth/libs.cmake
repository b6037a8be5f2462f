set(libs gw_munge)
