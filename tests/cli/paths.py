"""Templates of ``-o jsonpath`` and ``custom-columns``, and one object for all of them.

``test_forms`` knows what each gives; ``tests/contract/cli`` asks kubectl the same about the same object.
"""

from __future__ import annotations

from typing import Any

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "two",
        "namespace": "default",
        "labels": {"app.kubernetes.io/name": "a<b>&c", "tier": "front"},
    },
    "spec": {
        "terminationGracePeriodSeconds": 7,
        "hostNetwork": False,
        "containers": [
            {
                "name": "web",
                "image": "localhost/web:1",
                "ports": [{"containerPort": 80}, {"containerPort": 443}],
            },
            {"name": "log", "image": "localhost/log:2", "args": ["-v", "two words"], "tty": True},
            {"name": "db", "image": "localhost/db:3", "ports": [{"containerPort": 5432}]},
        ],
    },
}  # fmt: skip

PATHS = {
    "plain text": "plain text",
    "{.metadata.name}": "two",
    "{@.metadata.name}{'\\n'}": "two\n",
    "{$.metadata.name}": "two",
    "name: {.metadata.name}!": "name: two!",
    "{.spec.containers[*].name}": "web log db",
    "{.spec.containers[0].name}": "web",
    "{.spec.containers[-1].name}": "db",
    "{.spec.containers[0:2].name}": "web log",
    "{.spec.containers[:2].name}": "web log",
    "{.spec.containers[1:].name}": "log db",
    "{.spec.containers[0:3:2].name}": "web db",
    "{.spec.containers[-2:].name}": "log db",
    "{.spec.containers[1:1].name}": "",
    "{.spec.containers[0,2].name}": "web db",
    "{.spec.containers[*]['name','image']}": "web log db localhost/web:1 localhost/log:2 localhost/db:3",
    "{.metadata['name']}": "two",
    "{.metadata['name', 'namespace']}": "two default",
    "{.metadata.labels.tier}": "front",
    "{.metadata.labels['tier']}": "front",
    "{.metadata.labels.app\\.kubernetes\\.io/name}": "a<b>&c",
    "{.metadata.labels['app\\.kubernetes\\.io/name']}": "a<b>&c",
    "{.metadata.labels}": '{"app.kubernetes.io/name":"a\\u003cb\\u003e\\u0026c","tier":"front"}',
    "{.spec.containers[1].args}": '["-v","two words"]',
    "{.spec.containers[1].args[1]}": "two words",
    "{.spec.containers[*].ports[*].containerPort}": "80 443 5432",
    "{.spec.terminationGracePeriodSeconds}": "7",
    "{.spec.hostNetwork} {.spec.containers[*].tty}": "false true",
    "{.nothing.at.all}": "",
    "{.nothing[0]}|": "|",
    "{..containerPort}": "80 443 5432",
    "{.spec..containerPort}": "80 443 5432",
    "{..ports[0].containerPort}": "80 5432",
    "{.spec.containers[?(@.name=='log')].image}": "localhost/log:2",
    '{.spec.containers[?(@.name=="log")].image}': "localhost/log:2",
    '{.spec.containers[?(@.name == "log")].image}': "localhost/log:2",
    "{.spec.containers[?(@.name!='log')].name}": "web db",
    "{.spec.containers[?(@.tty)].name}": "log",
    "{.spec.containers[?(@.tty==true)].name}": "log",
    "{.spec.containers[?(@.ports[0].containerPort>100)].name}": "db",
    "{.spec.containers[?(@.ports)].name}": "web db",
    "{.spec.containers[0].ports[?(@.containerPort>=443)].containerPort}": "443",
    "{.spec.containers[0].ports[?(@.containerPort<443)].containerPort}": "80",
    "{.spec.containers[?(@.name>'log')].name}": "web",
    "{.spec.containers[?(@.image=='x)y')].name}": "",
    "{range .spec.containers[*]}{.name}={.image}{'\\n'}{end}":
        "web=localhost/web:1\nlog=localhost/log:2\ndb=localhost/db:3\n",
    '{range .spec.containers[*]}[{.name}, {.image}] {end}done':
        "[web, localhost/web:1] [log, localhost/log:2] [db, localhost/db:3] done",
    "{range .spec.containers[*]}{.name}:{range .ports[*]} {.containerPort}{end};{end}":
        "web: 80 443;log:;db: 5432;",
    "{range .spec.none[*]}{.name}{end}after": "after",
    '{"a\\tb\\"c"}': 'a\tb"c',
    "{'it\\'s'}": "it's",
    "{.spec.containers[0].ports[0].containerPort}{\"\\u00e9\"}": "80é",
}  # fmt: skip
"""Template to the text it gives."""

REFUSED = (
    "{.a",
    "{.a\n}",
    "{'a}",
    "{.a[0}",
    "{.a[x]}",
    "{.a[?(@.b]}",
    "{.a[?(@.b==1}",
    "{.a....b}",
    "{%}",
    "{wrong}",
    "{end}",
    "{'\\q'}",
    "{1.2.3}",
)
"""Templates that kubectl, too, does not take."""

FAILING = (
    "{.spec.containers[3].name}",
    "{.spec.containers[-4].name}",
    "{.spec.containers[2:5].name}",
    "{.spec[0]}",
    "{.metadata[?(@.x)]}",
    "{.spec.containers[?(@.name==1)].name}",
    "{.spec.containers[?(@.tty<true)].name}",
    "{.spec.containers[?(@.name<@.ports)].name}",
)
"""Templates that do not fit the object, for kubectl neither."""

COLUMNS = {
    "NAME:.metadata.name": "NAME\ntwo\n",
    "A:metadata.name,B:{.metadata.namespace},C:{metadata.uid}": "A     B         C\ntwo   default   <none>\n",
    "NAMES:.spec.containers[*].name,PORTS:.spec.containers[*].ports[*].containerPort":
        "NAMES        PORTS\nweb,log,db   80,443,5432\n",
    "LABELS:.metadata.labels,ARGS:.spec.containers[1].args,NET:.spec.hostNetwork":
        "LABELS                                          ARGS             NET\n"
        "map[app.kubernetes.io/name:a<b>&c tier:front]   [-v two words]   false\n",
}  # fmt: skip
