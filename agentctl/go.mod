module moorage.dev/agentctl

go 1.25
