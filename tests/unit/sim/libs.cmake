set(apart replay_test.cc)
