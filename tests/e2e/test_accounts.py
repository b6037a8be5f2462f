"""sacctmgr as Slurm's administrators use it: what it says and asks, and its lists, upon the tree of quotas."""

import pytest
from cluster import Cluster
from conftest import QUICK


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=1, config=QUICK + "licenses: [matlab:5]\n")
    try:
        one.up()
        yield one
    finally:
        one.down()


QUESTION = "Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): "


def names_of(cluster, what="account"):
    return cluster.run("sacctmgr", "-nP", "list", what, "format=Name").stdout.split()


def test_a_change_is_shown_and_asked_for(cluster):
    done = cluster.run("sacctmgr", "add", "account", "physics", "parent=root", input="n\n", check=False)
    said, answer = done.stdout.split(QUESTION)
    assert said.startswith(" Adding Account(s)\n  physics\n Settings\n  ") and answer == " Changes Discarded\n"
    assert done.returncode == 0
    assert "physics" not in names_of(cluster)
    silent = cluster.run("sacctmgr", "add", "account", "physics")
    assert silent.stdout.endswith(" Changes Discarded\n"), "nobody answers"
    assert cluster.run("sacctmgr", "add", "account", "physics", input="y\n").stdout.endswith(QUESTION)
    assert "physics" in names_of(cluster)
    again = cluster.run("sacctmgr", "-i", "add", "account", "physics", check=False)
    assert (again.returncode, again.stdout) == (1, " Nothing new added.\n") and "exists already" in again.stderr


@pytest.mark.parametrize("words, says", [
    (["add", "account", "dept", "GrpTRES=cpu=8"], " Adding Account(s)\n  dept\n"),
    (["add", "qos", "night,day"], " Adding QOS(s)\n  night\n  day\n"),
    (["add", "user", "root", "account=dept"], " Adding User(s)\n  root\n Associations =\n  A = dept                 U = root\n"),
    (["add", "coordinator", "root", "accounts=dept"], " Adding Coordinator User(s)\n  root\n To Account(s)\n  dept\n"),
    (["modify", "account", "dept", "set", "Fairshare=3"], " Modified account associations...\n  dept\n"),
    (["modify", "qos", "where", "name=night", "set", "GrpJobs=3"], " Modified qos...\n  night\n"),
    (["modify", "user", "root", "set", "DefaultAccount=dept"], " Modified user associations...\n  root\n"),
    (["delete", "coordinator", "root", "accounts=dept"], " Removing Coordinators...\n  root\n To Account(s)\n  dept\n"),
    (["delete", "user", "root", "account=dept"], " Deleting user associations...\n  A = dept                 U = root\n"),
    (["delete", "qos", "day"], " Deleting QOS(s)...\n  day\n"),
    (["delete", "account", "dept"], " Deleting accounts...\n  dept\n"),
])
def test_what_it_says_of_a_change(cluster, words, says):
    assert cluster.run("sacctmgr", "-i", *words).stdout == says


def test_who_is_asked_sees_what_follows(cluster):
    cluster.run("sacctmgr", "-i", "add", "qos", "lab", "GrpJobs=3")
    cluster.run("sacctmgr", "-i", "add", "user", "root", "account=lab", "DefaultAccount=lab")
    done = cluster.run("sacctmgr", "-Q", "delete", "qos", "lab", input="n\n")
    assert " Deleting QOS(s)...\n  lab\n Settings\n" in done.stdout and "root" in done.stdout, done.stdout
    assert "lab" in names_of(cluster, "qos")
    cluster.run("sacctmgr", "-i", "delete", "qos", "lab")


def test_records_of_jobs_are_changed_once_somebody_said_yes(cluster):
    job = cluster.submit("true")
    cluster.wait_ended(job)
    words = ["modify", "job", "where", f"jobid={job}", "set", "comment=later"]
    comment = lambda: cluster.run("sacct", "-XnP", "-j", job, "-o", "Comment").stdout.strip()  # noqa: E731
    done = cluster.run("sacctmgr", *words, input="no\n")
    assert done.stdout == f" Modified jobs...\n  {job}\n{QUESTION} Changes Discarded\n" and comment() == ""
    cluster.run("sacctmgr", *words, input="yes\n")
    assert comment() == "later"


def test_json_is_no_dialogue(cluster):
    asked = cluster.run("sacctmgr", "--json", "add", "qos", "quiet", check=False)
    assert asked.returncode == 1 and "--immediate" in asked.stderr and "quiet" not in names_of(cluster, "qos")
    assert '"changes"' in cluster.run("sacctmgr", "--json", "-i", "add", "qos", "quiet").stdout
    assert cluster.run("sacctmgr", "-Qi", "delete", "qos", "quiet").stdout == ""


def test_half_of_a_change_is_none(cluster):
    cluster.run("sacctmgr", "-i", "add", "qos", "same", "GrpJobs=3")
    wrong = cluster.run("sacctmgr", "-i", "modify", "qos", "same", "set", "GrpJobs=4", "--", "qos", "nosuch", "set",
                        "GrpJobs=5", check=False)
    assert wrong.returncode == 1 and "nosuch" in wrong.stderr
    assert cluster.run("sacctmgr", "-nP", "list", "qos", "same", "format=GrpJobs").stdout == "3\n", "all of it or nothing"
    cluster.run("sacctmgr", "-i", "delete", "qos", "same")


def test_its_own_name_does_not_ask(cluster):
    assert "Would you like" not in cluster.run("gacctmgr", "add", "qos", "own").stdout
    cluster.run("gacctmgr", "delete", "qos", "own")


def test_clusters_resources_and_configuration(cluster):
    name = cluster.run("scontrol", "show", "config").stdout.split("ClusterName             = ")[1].split()[0]
    header = cluster.run("sacctmgr", "list", "cluster").stdout.splitlines()[0]
    assert header.split() == "Cluster ControlHost ControlPort RPC Share GrpJobs GrpTRES GrpSubmit MaxJobs MaxTRES MaxSubmit " \
                             "MaxWall QOS Def QOS".split()
    row = cluster.run("sacctmgr", "-nP", "show", "clusters", "format=Cluster,ControlHost,RPC,DefQOS").stdout
    assert row == f"{name}|127.0.0.1|10240|normal\n"
    assert cluster.run("sacctmgr", "-nP", "list", "cluster", "elsewhere", "format=Cluster").stdout == ""
    tres = [line.split("|") for line in cluster.run("sacctmgr", "-nP", "list", "tres").stdout.splitlines()]
    assert [row[::2] for row in tres if not row[1]] == [["cpu", "1"], ["mem", "2"], ["energy", "3"], ["node", "4"],
                                                        ["billing", "5"], ["vmem", "7"], ["pages", "8"]]
    assert [row for row in tres if row[1]] == [["fs", "disk", "6"], ["gres", "gpu", "1001"], ["license", "matlab", "1002"]]
    assert cluster.run("sacctmgr", "-nP", "list", "tres", "type=gres", "format=name").stdout == "gpu\n"
    assert cluster.run("sacctmgr", "-nP", "show", "cluster", "where", "cluster=elsewhere").stdout == ""
    assert cluster.run("sacctmgr", "--json", "show", "cluster", check=False).returncode == 1
    config = cluster.run("sacctmgr", "show", "configuration").stdout
    assert "AccountingStorageType  = accounting_storage/slurmdbd" in config and "SLURM_VERSION          = 23.11.4" in config
    wrong = cluster.run("sacctmgr", "list", "cluster", "format=Clutser", check=False)
    assert wrong.returncode == 1 and "did you mean" in wrong.stderr


DUMP = """# To edit this file start with a cluster line for the new cluster
Cluster - 'uni':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'normal':Description='everybody'
Account - 'physics':Description='all of physics':Organization='uni':Fairshare=10:GrpTRES=gres/gpu=8
Parent - 'physics'
Account - 'plasma':GrpJobs=4:MaxJobs=2
User - 'nobody':DefaultAccount='plasma'
User - 'who-has-left':Fairshare=2
"""


def test_a_dump_of_slurm_becomes_the_tree(make_cluster):
    own = make_cluster(nodes=1)
    (own.work / "dump.cfg").write_text(DUMP.replace("GrpJobs", "GrpJbs"))
    wrong = own.run("sacctmgr", "-i", "load", "file=dump.cfg", check=False)
    assert wrong.returncode == 1 and "dump.cfg:8: unknown key \"GrpJbs\"" in wrong.stderr, wrong
    assert "physics" not in own.run("sacctmgr", "-nP", "list", "account", "format=account").stdout
    (own.work / "dump.cfg").write_text(DUMP)
    done = own.run("sacctmgr", "-i", "load", "file=dump.cfg")
    assert "left out: nobody is called so on this host: who-has-left" in done.stderr, done
    rows = own.run("sacctmgr", "-nP", "list", "qos", "format=name,parentname,grpjobs,maxjobspu").stdout.splitlines()
    assert {"physics|cluster||", "plasma|physics|4|2"} <= {row.replace("root", "cluster") for row in rows}, rows
    assert own.run("sacctmgr", "-nP", "list", "user", "nobody", "format=defaultaccount").stdout == "plasma\n"


@pytest.fixture(scope="module")
def tree(cluster):
    """A department with two users, one of whom administers it."""
    cluster.run("sacctmgr", "-i", "add", "account", "chem", "Description=chemists", "GrpTRES=cpu=40", "GrpJobs=9",
                "MaxWall=2:00:00", "Fairshare=5")
    cluster.run("sacctmgr", "-i", "add", "user", "root,nobody", "account=chem")
    cluster.run("sacctmgr", "-i", "add", "coordinator", "nobody", "accounts=chem")
    return cluster


def listed(cluster, *words):
    return cluster.run("sacctmgr", "-nP", "list", *words).stdout.splitlines()


def test_lists_have_the_columns_of_slurm(tree):
    def header(*words):
        return tree.run("sacctmgr", "-P", "list", *words).stdout.splitlines()[0]

    assert header("account") == "Account|Descr|Org"
    assert header("user") == "User|Def Acct|Admin"
    assert header("assoc") == ("Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|GrpSubmit|GrpWall|GrpTRESMins|"
                               "MaxJobs|MaxTRES|MaxTRESPerNode|MaxSubmit|MaxWall|MaxTRESMins|QOS|Def QOS|GrpTRESRunMins")
    assert header("qos") == ("Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageThres|UsageFactor|"
                             "GrpTRES|GrpTRESMins|GrpTRESRunMins|GrpJobs|GrpSubmit|GrpWall|MaxTRES|MaxTRESPerNode|"
                             "MaxTRESMins|MaxWall|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MaxTRESPA|MaxTRESRunMinsPA|"
                             "MaxTRESRunMinsPU|MaxJobsPA|MaxSubmitPA|MinTRES")
    assert tree.run("gacctmgr", "-P", "list", "qos").stdout.startswith("Name|Parent|Guaranteed|"), "its own ones"


def test_lists_have_the_rows_of_slurm(tree):
    name = listed(tree, "cluster", "format=cluster")[0]
    assert "chem|chemists|chem" in listed(tree, "account") and "root|root|root" in listed(tree, "account")
    assert listed(tree, "account", "chem", "format=acc,org%30,coord") == ["chem|chem|nobody"]
    assert [row for row in listed(tree, "user") if row.startswith("nobody")] == ["nobody|normal|None"]
    assert "root|normal|Administrator" in listed(tree, "user")
    assert listed(tree, "qos", "chem") == [
        "chem|0|00:00:00|||cluster|||1.000000|cpu=40|||9||||||02:00:00|||||||||"]
    rows = listed(tree, "assoc", "account=chem", "format=cluster,account,user,share,grpjobs,grptres,maxwall,qos,parentname")
    assert rows == [f"{name}|chem||5|9|cpu=40|02:00:00|chem|root", f"{name}|chem|nobody|5|||02:00:00|chem|",
                    f"{name}|chem|root|5|||02:00:00|chem|"]
    assert listed(tree, "assoc", "user=root", "account=root,chem", "format=account,user,partition") == ["root|root|", "chem|root|"]
    assert "normal|nobody" in listed(tree, "assoc", "user=nobody", "format=account,user"), "everybody may use it"
    wide = tree.run("sacctmgr", "-n", "list", "user", "nobody", "format=user%-12,admin%6").stdout
    assert wide == "nobody         None\n"
    bad = tree.run("sacctmgr", "list", "qos", "format=nam,foo", check=False)
    assert bad.returncode == 1 and "foo" in bad.stderr


def test_columns_choose_no_rows(tree):
    for what, column in (("qos", "name"), ("account", "account"), ("user", "user")):
        plain = [row.split("|")[0] for row in listed(tree, what)]
        assert plain == listed(tree, what, f"format={column}") != []
    first = [row.split("|")[1:3] for row in listed(tree, "assoc", "user=nobody")]
    assert first == [row.split("|") for row in listed(tree, "assoc", "user=nobody", "format=account,user")]


def test_users_of_an_account_and_their_associations(tree):
    assert listed(tree, "user", "account=chem", "format=user") == ["nobody", "root"]
    rows = tree.run("sacctmgr", "-P", "list", "user", "nobody", "withassoc").stdout.splitlines()
    assert rows[0] == "User|Def Acct|Admin|Cluster|Account|Partition|Share|Priority|MaxJobs|MaxSubmit|MaxWall|QOS|Def QOS"
    assert [row.split("|")[0] for row in rows[1:]] == ["nobody"] * (len(rows) - 1)
    assert "chem" in [row.split("|")[4] for row in rows[1:]]
    assert "nobody|chem|None" in listed(tree, "user", "nobody", "withassoc", "format=user,account,adminlevel")


def test_admin_levels(tree):
    def level():
        return listed(tree, "user", "nobody", "format=admin")

    tree.run("sacctmgr", "-i", "modify", "user", "nobody", "set", "AdminLevel=Operator")
    assert level() == ["Operator"]
    assert tree.run("gacctmgr", "-nP", "show", "qos", "cluster", "format=Operators").stdout == "nobody\n"
    tree.run("sacctmgr", "-i", "modify", "user", "where", "name=nobody", "set", "adminlevel=none")
    assert level() == ["None"]
    assert listed(tree, "user", "daemon") == []
    tree.run("sacctmgr", "-i", "modify", "user", "daemon", "set", "adminlevel=operator")
    assert listed(tree, "user", "daemon") == ["daemon|normal|Operator"]
    tree.run("sacctmgr", "-i", "modify", "user", "daemon", "set", "adminlevel=none")
    for value, says in (("Administrator", "named in the configuration"), ("king", "Unknown admin level king")):
        done = tree.run("sacctmgr", "-i", "modify", "user", "nobody", "set", f"AdminLevel={value}", check=False)
        assert done.returncode == 1 and says in done.stderr
    assert level() == ["None"]


def test_transactions_are_the_changes_of_the_tree(tree):
    tree.run("sacctmgr", "-i", "modify", "account", "chem", "set", "Description=x added below y deleted")
    assert listed(tree, "trans", "format=action,where")[-1] == "Modify QOS|name='chem'"
    tree.run("sacctmgr", "-i", "modify", "account", "chem", "set", "Description=chemists")
    tree.run("sacctmgr", "-i", "add", "qos", "brief", "GrpJobs=2")
    tree.run("sacctmgr", "-i", "modify", "qos", "brief", "set", "GrpJobs=3")
    tree.run("sacctmgr", "-i", "delete", "qos", "brief")
    rows = [row.split("|") for row in listed(tree, "transactions", "format=action,actor,where,info")]
    assert rows[-3:] == [["Add QOS", "root", "name='brief'", "QOS brief added below cluster: max_jobs 0 -> 2"],
                         ["Modify QOS", "root", "name='brief'", "QOS brief: max_jobs 2 -> 3"],
                         ["Remove QOS", "root", "name='brief'", "QOS brief deleted"]]
    assert listed(tree, "trans", "action=Remove QOS", "format=where")[-1] == "name='brief'"
    assert listed(tree, "trans", "actor=nobody") == [] and listed(tree, "trans", "end=2026-01-01") == []


def test_events_are_times_in_which_nodes_were_out_of_use(tree):
    tree.run("scontrol", "update", "nodename=n0", "state=drain", "reason=fan broken")
    columns = "format=nodename,state,reason,user,timeend"
    assert listed(tree, "events", columns) == ["n0|DRAIN|fan broken|root(0)|Unknown"]
    tree.run("scontrol", "update", "nodename=n0", "state=resume")
    row = listed(tree, "event", "nodes=n0", columns)
    assert len(row) == 1 and row[0].startswith("n0|DRAIN|fan broken|root(0)|2")
    assert listed(tree, "event", "nodes=n7") == []
    assert tree.run("sacctmgr", "-P", "list", "events").stdout.startswith(
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n")
    bad = tree.run("sacctmgr", "list", "events", "strt=now", check=False)
    assert bad.returncode == 1 and 'did you mean "start"?' in bad.stderr
