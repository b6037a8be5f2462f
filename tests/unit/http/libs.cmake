set(libs gw_io)
