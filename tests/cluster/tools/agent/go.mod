module testcluster/tools/agent

go 1.26.0
