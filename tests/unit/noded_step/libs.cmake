set(apart preempt_test.cc)
