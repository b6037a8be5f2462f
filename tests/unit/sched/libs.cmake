set(apart consolidate_test.cc fair_share_test.cc policies_test.cc surveys_test.cc)
