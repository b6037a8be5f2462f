#!/usr/bin/env python3
"""Open web pages without browsers: each hears of changes, and asks for the queue anew, as the page does.

Usage: bench/open_pages.py HOST:PORT N. Runs until it is ended. Each page has a stream of its own; when it tells of a change
the page asks for the jobs within half a second. Invariant: no page asks again before it has been answered.
"""

import asyncio
import random
import sys

FIELDS = ('job_id,array_job_id,array_task_id,array_tasks,name,user_name,qos,partition,job_state,state_reason,state_description,'
          'gpus,node_count,nodes,run_time,start_time,start_range,submit_time')
HEAD = 'GET {} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n'


async def ask(host, port):
    """One look at the queue, on a connection of its own."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(HEAD.format(f'/api/v1/jobs?fields={FIELDS}&limit=500').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n').encode())
    await reader.read(-1)
    writer.close()


async def page(host, port):
    """One page, for ever."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(HEAD.format('/api/v1/stream').encode())
            version = None
            async for line in reader:
                if not line.startswith(b'data: '):
                    continue
                if version not in (None, line):
                    await asyncio.sleep(random.random() / 2)
                    await ask(host, port)
                version = line
            writer.close()
        except OSError:
            await asyncio.sleep(1)


async def main():
    """All of them."""
    host, port = sys.argv[1].rsplit(':', 1)
    await asyncio.gather(*(page(host, int(port)) for _ in range(int(sys.argv[2]))))


asyncio.run(main())
