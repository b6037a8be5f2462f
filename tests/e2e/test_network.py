"""A node cut off and back; a controller that hangs; answers that get lost."""

import signal
import socket
import struct
import threading

from cluster import wait_for


class LossyProxy:
    """Sits between clients and controller; the controller's answer to the first request of the first connection is cut
    off: the handshake passes, then the connection closes in the client's face."""

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = self.dropped = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            server = socket.create_connection(self.target)
            first = self.connections == 1
            threading.Thread(target=self.up, args=(client, server), daemon=True).start()
            threading.Thread(target=self.down, args=(client, server, first), daemon=True).start()

    @staticmethod
    def up(client, server):
        try:
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def down(self, client, server, lossy):
        frames = 0
        try:
            while head := server.recv(4, socket.MSG_WAITALL):
                body = server.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL)
                frames += 1
                if lossy and frames == 2:
                    self.dropped += 1
                    break
                client.sendall(head + body)
        except OSError:
            pass
        for s in (client, server):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def close(self):
        self.listener.close()


def test_lost_answer_gives_one_job(cluster):
    proxy = LossyProxy(cluster.port())
    config = cluster.config_with("proxy.yaml", port=proxy.port)
    job = cluster.submit("exit 0", "-H", "-J", "once", env={"GANGWAY_CONF": str(config)})
    proxy.close()
    assert proxy.dropped == 1 and proxy.connections == 2
    assert cluster.run("gqueue", "-h", "-t", "all", "-n", "once", "-o", "%i").stdout.split() == [str(job)]


def test_lost_answer_to_a_cancel(cluster):
    job = cluster.submit("exit 0", "-H")
    proxy = LossyProxy(cluster.port())
    config = cluster.config_with("proxy.yaml", port=proxy.port)
    done = cluster.run("gcancel", job, env={"GANGWAY_CONF": str(config)})
    proxy.close()
    assert proxy.dropped == 1 and done.stderr == ""
    assert cluster.state(job) == "CANCELLED"


def test_controller_down_then_up_while_a_client_waits(cluster):
    cluster.kill("gctld")
    waiting = cluster.popen("gbatch", "--wrap", "exit 0", env={"GANGWAY_TIMEOUT": "60"})
    line = waiting.stderr.readline()
    assert "waiting for controller" in line and "127.0.0.1" in line
    cluster.start("gctld")
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0 and out.startswith("Submitted batch job"), err


def test_controller_down_for_good(cluster):
    cluster.kill("gctld")
    done = cluster.run("gqueue", check=False, env={"GANGWAY_TIMEOUT": "2"})
    assert done.returncode == 1 and done.stdout == ""
    assert "waiting for controller" in done.stderr and "error" in done.stderr


def out_of_reach(cluster, node):
    """As in Slurm a star marks a node that does not answer."""
    return cluster.node_states().get(node, "").endswith("*")


def test_node_daemon_stopped_and_back(cluster):
    """Silence, then life again (a cable that is cut: test_cut_off.py). The job must not be lost, and must not start
    elsewhere while it may still run."""
    go = cluster.work / "go"
    script = f"echo start >> {cluster.work}/starts; while [ ! -e {go} ]; do sleep 0.05; done; exit 4"
    job = cluster.submit(script, "-N1", "-w", "n0", "--requeue")
    cluster.wait_state(job, "RUNNING")
    wait_for((cluster.work / "starts").exists, "the script started")
    cluster.kill("gnoded.n0", signal.SIGSTOP)
    wait_for(lambda: out_of_reach(cluster, "n0"), "n0 counts as out of reach")
    assert cluster.state(job) in {"RUNNING", "COMPLETING"}
    other = cluster.submit("exit 0", "-N1")
    cluster.wait_state(other, "COMPLETED")
    go.touch()
    cluster.kill("gnoded.n0", signal.SIGCONT)
    cluster.wait_state(job, "FAILED")
    assert "4:0" in cluster.reason_text(job)
    assert (cluster.work / "starts").read_text().count("start") == 1
    cluster.wait_idle()


def test_pending_job_is_not_given_to_a_node_that_is_cut_off(cluster):
    cluster.kill("gnoded.n0", signal.SIGSTOP)
    wait_for(lambda: out_of_reach(cluster, "n0"), "n0 counts as out of reach")
    job = cluster.submit("exit 0", "-N2")
    small = cluster.submit("exit 0", "-N1")
    cluster.wait_state(small, "COMPLETED")
    assert cluster.state(job) == "PENDING"
    cluster.kill("gnoded.n0", signal.SIGCONT)
    cluster.wait_state(job, "COMPLETED")


def test_munged_hangs(cluster):
    """Commands say so within seconds and how to mend it; the controller and what it has continue meanwhile."""
    go = cluster.work / "go"
    running = cluster.submit(f"while [ ! -e {go} ]; do sleep 0.05; done", "-N2", "--exclusive")
    cluster.wait_state(running, "RUNNING")
    after = cluster.submit(f"echo done > {cluster.work}/after", "-N2", "--exclusive")
    cluster.kill("munged", signal.SIGSTOP)
    waiting = cluster.popen("gqueue", "-h", env={"GANGWAY_TIMEOUT": "60"})
    line = waiting.stderr.readline()  # long before the time is up
    assert waiting.poll() is None
    assert "munged" in line and "does not answer" in line and "systemctl restart munge" in line, line
    done = cluster.run("gbatch", "--wrap", "exit 0", check=False, env={"GANGWAY_TIMEOUT": "1"})
    assert done.returncode == 1 and done.stderr.count("error:") == 1 and "munged" in done.stderr, done.stderr
    go.touch()  # The controller hears of the end, and starts the next.
    wait_for((cluster.work / "after").exists, "the next job has run")
    cluster.kill("munged", signal.SIGCONT)
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, err
    cluster.wait_state(after, "COMPLETED")
    assert cluster.state(running) == "COMPLETED"
    cluster.wait_idle()
