"""Many who ask for the same list at the same time: each gets it whole, and as it is after he asked.

Invariant: there is so much to list that the controller does not answer them one by one (asked_together.h): some wait.
"""

import concurrent.futures

JOBS, WATCHERS = 400, 80


def test_a_crowd_that_lists_the_queue_gets_it_whole_and_up_to_date(cluster):
    def submit(_=None):
        return int(cluster.run("gbatch", "-H", "--parsable", "--wrap=true").stdout)

    def list_queue(_=None):
        return sorted(int(line) for line in cluster.run("gqueue", "-h", "-o", "%i").stdout.split())

    def submit_and_look(_):
        return submit() in list_queue()

    with concurrent.futures.ThreadPoolExecutor(max_workers=40) as pool:
        jobs = sorted(pool.map(submit, range(JOBS)))
        assert list(pool.map(list_queue, range(WATCHERS))) == [jobs] * WATCHERS
        assert all(pool.map(submit_and_look, range(WATCHERS)))
