#!/usr/bin/env bash
# Builds a control plane for tests from the Go module proxy: kube-apiserver, kube-scheduler, etcd and kwok.
# The go.mod and go.sum of modules/ pin every source. What is built stays in the folder that this prints.
# Takes 5 to 15 minutes once; later runs find everything built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${RESOURCE_MAP_KUBERNETES:-${XDG_CACHE_HOME:-$HOME/.cache}/resource-map-kubernetes}/bin
mkdir -p "$bin"
export CGO_ENABLED=0 GOFLAGS='-buildvcs=false -trimpath -mod=readonly' GOWORK=off GOTOOLCHAIN=${GOTOOLCHAIN:-local}

# Without these Kubernetes says v0.0.0-master of itself.
kubernetes=v1.37.2
version=k8s.io/component-base/version
stamp="-X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=37"

build() { # program module package version flags
  local mark=$bin/.$1.version
  if [ -x "$bin/$1" ] && [ "$(cat "$mark" 2>/dev/null)" = "$4" ]; then return; fi
  echo "Building $1 $4; this is done once." >&2
  (cd "$here/modules/$2" && go build -p "${KUBE_JOBS:-2}" -ldflags "-s -w $5" -o "$bin/$1" "$3") >&2
  echo "$4" >"$mark"
}
build etcd etcd go.etcd.io/etcd/server/v3 v3.7.3 ''
build kwok kwok sigs.k8s.io/kwok/cmd/kwok v0.8.0 ''
build kube-scheduler k8s k8s.io/kubernetes/cmd/kube-scheduler "$kubernetes" "$stamp"
build kube-apiserver k8s k8s.io/kubernetes/cmd/kube-apiserver "$kubernetes" "$stamp"

# What kwok plays: nodes get ready, bound pods run, those of Jobs end, deleted ones go.
if [ ! -s "$bin/kwok-stages.yaml" ]; then
  stages=$(cd "$here/modules/kwok" && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
  for stage in node/fast/node-initialize pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete; do
    cat "$stages/$stage.yaml"
    printf '\n---\n'
  done >"$bin/kwok-stages.yaml"
fi
echo "$bin"
