set(libs gw_munge)
set(apart ticket_test.cc)
