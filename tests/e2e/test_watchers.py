"""Many who ask for the same list at the same time: each gets it whole, and as it is after he asked.

Invariant: they ask more often than the controller makes lists of so many rows one by one (asked_together.h): some wait. That is so
where it was built to be fast; else its rows take longer than the budget that they have.
"""

import concurrent.futures

JOBS, COMPONENTS, WATCHERS = 60, 40, 100


def test_a_crowd_that_lists_the_queue_gets_it_whole_and_up_to_date(cluster):
    def submit(_=None):
        return cluster.run("gbatch", "-H", "--parsable", "--wrap=true").stdout.strip()

    def list_queue(_=None):
        return sorted(cluster.run("gqueue", "-h", "-o", "%i").stdout.split())

    def submit_and_look(_):
        return submit() in list_queue()

    components = " : ".join(["-n1"] * COMPONENTS).split()  # each is a row of the queue
    for _ in range(JOBS):
        cluster.run("gbatch", "-H", *components, "--wrap=true")
    alone = list_queue()
    assert len(alone) == JOBS * COMPONENTS
    crowd = f"for i in $(seq {WATCHERS}); do gqueue -h -o %i > {cluster.dir}/seen.$i & done; wait"
    cluster.run("sh", "-c", crowd)
    for i in range(1, WATCHERS + 1):
        assert sorted((cluster.dir / f"seen.{i}").read_text().split()) == alone
    with concurrent.futures.ThreadPoolExecutor(max_workers=20) as pool:
        assert all(pool.map(submit_and_look, range(WATCHERS)))
