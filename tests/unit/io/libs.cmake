set(apart stream_test.cc)
