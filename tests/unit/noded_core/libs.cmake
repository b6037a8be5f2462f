set(apart agent_steps_test.cc)
